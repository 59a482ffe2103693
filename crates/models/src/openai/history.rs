//! Owns the bytes of one message of the history: what is one message with results, words and media
//! becomes several here. Must not know other messages, so that a message is the same in every request.

use kernel::message::Encoded;
use kernel::{Block, Message, ResultContent, Role};
use serde::Serialize;
use serde_json::Value;

use super::ids;
use super::parts::{Part, words};
use super::request::write;
use super::ways::Ways;
use crate::{media, names};

/// Stands where a message would say nothing: servers refuse that.
const EMPTY: &str = "(empty)";
/// Stands in a result for what only a user message may carry.
const BELOW: &str = "[see the user message below]";
/// What a result that is an error begins with, since there is no field for it.
const ERROR: &str = "Error";

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Wire<'a> {
    User {
        content: Content,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Call<'a> {
    id: String,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: std::borrow::Cow<'a, str>,
    arguments: String,
}

/// The messages that this one becomes, apart by commas. Never none.
pub(super) fn encode(message: &Message, ways: Ways) -> Encoded {
    let text_alone = (!ways.images).then(|| media::as_text(&message.content)).flatten();
    let content = text_alone.as_ref().unwrap_or(&message.content);
    let mut bytes = Vec::new();
    match message.role {
        Role::User => user(&mut bytes, content, ways),
        Role::Assistant => write(&mut bytes, &assistant(content, ways)),
    }
    Encoded { bytes, marks: Vec::new() }
}

/// The results first, one message each, and then one message with everything else.
fn user(bytes: &mut Vec<u8>, content: &[Block], ways: Ways) {
    let mut rest = Vec::new();
    let mut push = |wire: &Wire<'_>| {
        if !bytes.is_empty() {
            bytes.push(b',');
        }
        write(bytes, wire);
    };
    let mut answers = false;
    for block in content {
        match block {
            Block::ToolResult { tool_use_id, content, is_error, .. } => {
                answers = true;
                let id = ids::id(&tool_use_id.0, ways.short_ids);
                let content = result(content, *is_error, &id, ways, &mut rest);
                push(&Wire::Tool { tool_call_id: &id, content });
            }
            Block::Text { text, .. } if !block.is_blank() => rest.push(Part::text(text)),
            Block::Other(value) => rest.push(Part::of(value, ways.files)),
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolUse { .. } => {}
        }
    }
    if rest.is_empty() && answers {
        return;
    }
    push(&Wire::User { content: joined(rest) });
}

/// The text of a result. What is no text goes to `rest`, under a line that says whose it is.
fn result(content: &ResultContent, is_error: bool, id: &str, ways: Ways, rest: &mut Vec<Part>) -> String {
    let parts: Vec<Part> = match content {
        ResultContent::Text(text) => vec![Part::text(text)],
        ResultContent::Blocks(blocks) => blocks.iter().map(|block| Part::of(block, ways.files)).collect(),
    };
    let mut texts = Vec::new();
    let mut media = Vec::new();
    for part in parts {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => texts.push(text),
            part => media.push(part),
        }
    }
    if !media.is_empty() {
        texts.push(BELOW.to_owned());
        rest.push(Part::text(format!("Of the result of {id}:")));
        rest.append(&mut media);
    }
    if texts.is_empty() {
        texts.push(EMPTY.to_owned());
    }
    let text = texts.join("\n");
    let says_so = text.get(..ERROR.len()).is_some_and(|head| head.eq_ignore_ascii_case(ERROR));
    if is_error && !says_so { format!("{ERROR}: {text}") } else { text }
}

/// One text where nothing but text is in it: not every server reads parts.
fn joined(parts: Vec<Part>) -> Content {
    let mut texts = Vec::new();
    for part in &parts {
        match part {
            Part::Text { text } => texts.push(text.as_str()),
            Part::ImageUrl { .. } | Part::File { .. } => return Content::Parts(parts),
        }
    }
    let text = texts.join("\n\n");
    Content::Text(if text.trim().is_empty() { EMPTY.to_owned() } else { text })
}

fn assistant(content: &[Block], ways: Ways) -> Wire<'_> {
    let mut texts = Vec::new();
    let mut thoughts = String::new();
    let mut details = Vec::new();
    let mut calls = Vec::new();
    for block in content {
        match block {
            Block::Text { text, .. } if !block.is_blank() => texts.push(text.clone()),
            Block::Thinking { thinking, extra, .. } => {
                thoughts.push_str(thinking);
                if let Some(Value::Array(kept)) = extra.get("reasoning_details").filter(|_| ways.details) {
                    details.extend(kept);
                }
            }
            Block::ToolUse { id, name, input, .. } => calls.push(Call {
                id: ids::id(&id.0, ways.short_ids).into_owned(),
                function: Function { name: names::sendable(name), arguments: input.to_string() },
            }),
            // Of what only its vendor can read, nothing is left but the words.
            Block::Other(value) => {
                let told = [&value["text"], &value["content"]].map(words).concat();
                texts.extend(Some(told).filter(|told| !told.trim().is_empty()));
            }
            Block::Text { .. } | Block::ToolResult { .. } => {}
        }
    }
    let text = Some(texts.join("\n\n")).filter(|text| !text.is_empty());
    Wire::Assistant {
        content: text.or_else(|| calls.is_empty().then(|| EMPTY.to_owned())),
        // On a turn with tools it must be there, even with nothing in it.
        reasoning_content: (ways.echo && !calls.is_empty()).then_some(thoughts),
        reasoning_details: details,
        tool_calls: calls,
    }
}
