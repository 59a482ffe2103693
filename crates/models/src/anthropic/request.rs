//! Owns the bytes of a Messages request: pieces that are serialised once and kept, put together
//! with cache marks spliced in. Must not know HTTP.
//!
//! Marks are not part of the kept bytes, so the messages of one request are, marks aside, a byte
//! prefix of those of the next: what the vendor's prefix cache lives on. The end of a message alone
//! changes where the same side goes on, after an answer of which nothing was kept: the vendor makes one
//! message of two by itself, but servers that copy its API do not all.

use kernel::conversation::Prefix;
use kernel::message::Encoded;
use kernel::{Block, Message, ModelRequest, Role};
use serde::Serialize;

use super::DIALECT;
use crate::media;
use crate::table::Shape;

/// Spliced in before the closing brace of a block or tool.
pub const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The API takes four marks: one goes to the tools, one to the system prompt.
const MESSAGE_MARKS: usize = 2;
/// How every message ends.
const TAIL: &[u8] = b"]}";

/// The whole body of a streaming request.
pub fn body(request: &ModelRequest, shape: &Shape) -> Vec<u8> {
    let dialect = DIALECT[usize::from(!shape.images)];
    let prefix = request.prefix.memo.get(dialect, || encode_prefix(&request.prefix));
    let messages: Vec<_> = request
        .messages
        .iter()
        .chain(&request.extra)
        .filter(|message| !message.content.is_empty())
        .map(|message| (message.role, message.memo.get(dialect, || encode_message(message, shape.images))))
        .collect();
    // From the last user message on everything is new in the next request; the one before it is
    // where the last request wrote to the cache.
    let first_marked = messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, (role, encoded))| *role == Role::User && !encoded.marks.is_empty())
        .take(MESSAGE_MARKS)
        .last()
        .map_or(messages.len(), |(index, _)| index);

    let size: usize = messages.iter().map(|(_, encoded)| encoded.bytes.len() + 1).sum();
    let mut out = Vec::with_capacity(size + prefix.bytes.len() + 512);
    out.extend_from_slice(br#"{"model":"#);
    write(&mut out, &request.model);
    out.extend_from_slice(br#","max_tokens":"#);
    write(&mut out, &request.max_tokens);
    for (name, value) in shape.fields_for(request) {
        out.push(b',');
        write(&mut out, name);
        out.push(b':');
        write(&mut out, value);
    }
    splice(&mut out, &prefix, 0, true);
    out.extend_from_slice(br#","messages":["#);
    for (index, (role, encoded)) in messages.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| messages[before].0);
        let joins = before == Some(*role);
        if joins {
            out.truncate(out.len() - TAIL.len());
        }
        if before.is_some() {
            out.push(b',');
        }
        let from = if joins { head(&encoded.bytes) } else { 0 };
        splice(&mut out, encoded, from, *role == Role::User && index >= first_marked);
    }
    out.extend_from_slice(br#"],"stream":true}"#);
    out
}

/// Where the blocks of a message begin.
fn head(message: &[u8]) -> usize {
    message.iter().position(|byte| *byte == b'[').map_or(0, |bracket| bracket + 1)
}

/// What comes from `from` on, with its marks where it is marked.
fn splice(out: &mut Vec<u8>, encoded: &Encoded, mut from: usize, marked: bool) {
    for &mark in encoded.marks.iter().filter(|_| marked) {
        out.extend_from_slice(&encoded.bytes[from..mark]);
        out.extend_from_slice(CACHE_MARK.as_bytes());
        from = mark;
    }
    out.extend_from_slice(&encoded.bytes[from..]);
}

/// `,"system":[…],"tools":[…]`, each only where there is one. Marks: the last system block that
/// asks for one, and the last tool.
fn encode_prefix(prefix: &Prefix) -> Encoded {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "text")]
    struct Text<'a> {
        text: &'a str,
    }
    let mut encoded = Encoded { bytes: Vec::new(), marks: Vec::new() };
    let last = prefix.system.iter().rposition(|block| block.cache);
    let system = prefix.system.iter().map(|block| Text { text: &block.text });
    section(&mut encoded, "system", system, last);
    section(&mut encoded, "tools", prefix.tools.iter(), prefix.tools.len().checked_sub(1));
    encoded
}

fn section(
    encoded: &mut Encoded,
    name: &str,
    items: impl ExactSizeIterator<Item = impl Serialize>,
    marked: Option<usize>,
) {
    if items.len() == 0 {
        return;
    }
    encoded.bytes.extend_from_slice(format!(",\"{name}\":[").as_bytes());
    list(encoded, items, marked);
    encoded.bytes.push(b']');
}

fn encode_message(message: &Message, images: bool) -> Encoded {
    let mut encoded = Encoded { bytes: br#"{"role":"#.to_vec(), marks: Vec::new() };
    write(&mut encoded.bytes, &message.role);
    encoded.bytes.extend_from_slice(br#","content":["#);
    let text_alone = (!images).then(|| media::as_text(&message.content)).flatten();
    let content = text_alone.as_ref().unwrap_or(&message.content);
    list(&mut encoded, content.iter(), content.iter().rposition(is_markable));
    encoded.bytes.extend_from_slice(TAIL);
    encoded
}

/// Objects apart by commas; the mark goes before the closing brace of the one that is marked.
fn list(encoded: &mut Encoded, items: impl Iterator<Item = impl Serialize>, marked: Option<usize>) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            encoded.bytes.push(b',');
        }
        write(&mut encoded.bytes, &item);
        if Some(index) == marked {
            encoded.marks.push(encoded.bytes.len() - 1);
        }
    }
}

/// Thinking cannot carry a mark, and of unknown blocks nobody knows; one that already has a mark
/// must not get a second.
fn is_markable(block: &Block) -> bool {
    match block {
        Block::Text { extra, .. } | Block::ToolUse { extra, .. } => {
            !block.is_blank() && !extra.contains_key("cache_control")
        }
        Block::ToolResult { .. } => true,
        Block::Thinking { .. } => false,
        Block::Other(value) => {
            let kind = value["type"].as_str().unwrap_or("");
            ["image", "document", "search_result"].contains(&kind) && value.get("cache_control").is_none()
        }
    }
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Memory takes everything, and all keys of our values are strings: this cannot fail.
    let _ = serde_json::to_writer(out, value);
}
