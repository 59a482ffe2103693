//! Owns the bytes of a Chat Completions request: pieces that are serialised once and kept, put together.
//! Must not know HTTP.
//!
//! The messages of one request are a byte prefix of those of the next: what the caches of servers live on.

use kernel::conversation::Prefix;
use kernel::message::Encoded;
use kernel::{ModelRequest, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ways::Ways;
use super::{history, schema};
use crate::table::Shape;

/// The names under which a prefix is kept, with schemas as they are and with types filled in.
const PREFIXES: [&str; 2] = ["openai", "openai, typed"];

/// The whole body of a streaming request. What a user's settings say goes before what we would; a field
/// that they set to null is left out.
pub fn body(request: &ModelRequest, shape: &Shape) -> Vec<u8> {
    let quirks = &shape.quirks;
    let prefix = request
        .prefix
        .memo
        .get(PREFIXES[usize::from(quirks.typed_schemas)], || encode_prefix(&request.prefix, quirks.typed_schemas));
    let ways = Ways::of(shape);
    let messages: Vec<_> = request
        .messages
        .iter()
        .chain(&request.extra)
        .map(|message| message.memo.get(ways.name(), || history::encode(message, ways)))
        .collect();

    let size: usize = messages.iter().map(|encoded| encoded.bytes.len() + 1).sum();
    let mut out = Vec::with_capacity(size + prefix.bytes.len() + 512);
    out.extend_from_slice(br#"{"model":"#);
    write(&mut out, &request.model);
    out.extend_from_slice(br#","stream":true"#);
    for (name, value) in &fields(request, shape) {
        out.push(b',');
        write(&mut out, name);
        out.push(b':');
        write(&mut out, value);
    }
    let (tools, system) = prefix.bytes.split_at(prefix.marks.first().copied().unwrap_or(0));
    out.extend_from_slice(tools);
    out.extend_from_slice(br#","messages":["#);
    out.extend_from_slice(system);
    for (index, encoded) in messages.iter().enumerate() {
        if index > 0 || !system.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(&encoded.bytes);
    }
    out.extend_from_slice(b"]}");
    out
}

fn fields(request: &ModelRequest, shape: &Shape) -> Map<String, Value> {
    let mut fields = Map::from_iter([("stream_options".to_owned(), json!({"include_usage": true}))]);
    if shape.bounded {
        let name = if shape.quirks.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        fields.insert(name.to_owned(), json!(request.max_tokens));
    }
    fields.extend(shape.fields_for(request).iter().map(|(name, value)| (name.clone(), value.clone())));
    fields.retain(|_, value| !value.is_null());
    fields
}

/// `,"tools":[…]`, and from the mark on the system message, each only where there is one.
fn encode_prefix(prefix: &Prefix, typed: bool) -> Encoded {
    #[derive(Serialize)]
    #[serde(tag = "role", rename = "system")]
    struct System {
        content: String,
    }
    let mut bytes = Vec::new();
    if !prefix.tools.is_empty() {
        let tools: Vec<Value> = prefix.tools.iter().map(|tool| function(tool, typed)).collect();
        bytes.extend_from_slice(br#","tools":"#);
        write(&mut bytes, &tools);
    }
    let mark = bytes.len();
    let texts: Vec<&str> = prefix.system.iter().map(|block| block.text.as_str()).collect();
    if !texts.is_empty() {
        write(&mut bytes, &System { content: texts.join("\n\n") });
    }
    Encoded { bytes, marks: vec![mark] }
}

fn function(tool: &ToolSpec, typed: bool) -> Value {
    let parameters = if typed { schema::typed(&tool.input_schema) } else { tool.input_schema.clone() };
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": parameters}})
}

pub(super) fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Memory takes everything, and all keys of our values are strings: this cannot fail.
    let _ = serde_json::to_writer(out, value);
}
