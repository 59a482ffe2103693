//! Owns how content blocks grow from deltas, and which of them may leave when.
//! Must not know framing, usage or errors.

use kernel::{Block, ToolUseId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::names;

/// A delta of a block, every field of every type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    signature: Option<String>,
    pub(super) partial_json: Option<String>,
    citation: Option<Value>,
    content: Option<Value>,
    encrypted_content: Option<Value>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Value>,
}

/// A block that no model sends. In a history it would make every later request fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// How the message ended, as far as its blocks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The model was done.
    Whole,
    /// Something stopped it, perhaps within a block.
    Truncated,
}

/// Blocks that have begun and not left yet, by index; of one index, in order of their start.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Slot>);

#[derive(Debug)]
struct Slot {
    index: usize,
    block: Block,
    /// Pieces of a tool's input.
    json: String,
    closed: bool,
}

impl Blocks {
    /// A block begins. One of the same index that is still open has ended.
    pub(super) fn start(&mut self, index: usize, mut value: Value) -> Result<(), Malformed> {
        self.stop(index);
        let Some(kind) = value["type"].as_str() else { return Err(Malformed) };
        // Gateways leave out what is empty at the start; an id is given by the conversation.
        let field = match kind {
            "text" => Some("text"),
            "thinking" => Some("thinking"),
            "tool_use" => Some("id"),
            _ => None,
        };
        let (calls, known) = (kind == "tool_use", field.is_some() || kind == "tool_result");
        if let Some(field) = field.filter(|field| !value[*field].is_string()) {
            value[field] = json!("");
        }
        if calls && value.get("input").is_none() {
            value["input"] = json!({});
        }
        let block = Block::deserialize(&value).unwrap_or(Block::Other(value));
        if known && matches!(block, Block::Other(_)) {
            return Err(Malformed);
        }
        let at = self.0.partition_point(|slot| slot.index <= index);
        self.0.insert(at, Slot { index, block, json: String::new(), closed: false });
        Ok(())
    }

    /// A block grows. What does not fit its type is ignored, unless it is of a call that never began:
    /// the call would be missing from the answer.
    pub(super) fn grow(&mut self, index: usize, delta: &Delta) -> Result<(), Malformed> {
        if self.open(index).is_none() {
            // Some gateways leave the start of the simple blocks out.
            let text = delta.text.as_ref().map(|_| json!({"type": "text", "text": ""}));
            let thought = delta.thinking.as_ref();
            let thinking = thought.map(|_| json!({"type": "thinking", "thinking": ""}));
            if let Some(value) = text.or(thinking) {
                self.start(index, value)?;
            }
        }
        let Some(slot) = self.open(index) else {
            let lost = delta.partial_json.as_ref().is_some_and(|piece| !piece.trim().is_empty());
            return if lost { Err(Malformed) } else { Ok(()) };
        };
        if let Some(piece) = &delta.partial_json {
            slot.json.push_str(piece);
        }
        match &mut slot.block {
            Block::Text { text, extra } => {
                text.push_str(delta.text.as_deref().unwrap_or(""));
                if let Some(citation) = &delta.citation {
                    let citations = extra.entry("citations").or_insert(Value::Null);
                    match citations {
                        Value::Array(citations) => citations.push(citation.clone()),
                        other => *other = json!([citation]),
                    }
                }
            }
            Block::Thinking { thinking, signature, .. } => {
                thinking.push_str(delta.thinking.as_deref().unwrap_or(""));
                if let Some(piece) = &delta.signature {
                    signature.get_or_insert_default().push_str(piece);
                }
            }
            // A summary that the vendor made comes whole, or not at all.
            Block::Other(value) if value["type"] == "compaction" => {
                for (key, given) in [("content", &delta.content), ("encrypted_content", &delta.encrypted_content)] {
                    if let Some(given) = given {
                        value[key] = given.clone();
                    }
                }
            }
            Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Other(_) => {}
        }
        Ok(())
    }

    /// A block has ended.
    pub(super) fn stop(&mut self, index: usize) {
        if let Some(slot) = self.open(index) {
            slot.closed = true;
        }
    }

    fn open(&mut self, index: usize) -> Option<&mut Slot> {
        self.0.iter_mut().rfind(|slot| slot.index == index && !slot.closed)
    }

    /// The next block in order, if it is certain to be whole whatever comes. A call without pieces
    /// of input may be one without arguments or one that was cut: only the end tells.
    pub(super) fn next_whole(&mut self) -> Option<Block> {
        let slot = self.0.first()?;
        let certain = slot.closed
            && match &slot.block {
                Block::ToolUse { .. } => parse_input(&slot.json).is_some(),
                Block::Text { .. } | Block::Thinking { .. } | Block::ToolResult { .. } | Block::Other(_) => true,
            };
        if certain { self.0.remove(0).finish() } else { None }
    }

    /// The blocks that are left at the end. Half a call is dropped, never mended and never run; a
    /// call that is whole but not JSON is kept, so that the tool's schema answers it.
    pub(super) fn rest(&mut self, ending: Ending) -> Vec<Block> {
        let slots = std::mem::take(&mut self.0);
        let last = slots.len().saturating_sub(1);
        let keep = |(at, slot): (usize, Slot)| {
            let whole =
                match &slot.block {
                    Block::Text { .. } => true,
                    Block::ToolUse { .. } if ending == Ending::Truncated && slot.closed => {
                        if slot.json.trim().is_empty() { at < last } else { parse_input(&slot.json).is_some() }
                    }
                    Block::ToolUse { .. } | Block::Thinking { .. } | Block::ToolResult { .. } | Block::Other(_) => {
                        slot.closed || ending == Ending::Whole
                    }
                };
            if whole { slot.finish() } else { None }
        };
        slots.into_iter().enumerate().filter_map(keep).collect()
    }
}

impl Slot {
    /// The block itself. `None` where it cannot be sent back.
    fn finish(self) -> Option<Block> {
        match self.block {
            Block::ToolUse { id: ToolUseId(id), name, input, extra } => {
                let given = Some(input).filter(Value::is_object);
                let input = match self.json.trim() {
                    "" => given.unwrap_or_else(|| Value::Object(Map::new())),
                    _ => parse_input(&self.json).unwrap_or_else(|| json!({"INVALID_JSON": self.json})),
                };
                let name = names::sendable(&name).into_owned();
                Some(Block::ToolUse { id: ToolUseId(id), name, input, extra })
            }
            // Calls of tools that run at the vendor grow in the same way.
            Block::Other(mut value) if !self.json.is_empty() => {
                value["input"] = parse_input(&self.json)?;
                Some(Block::Other(value))
            }
            block => Some(block),
        }
    }
}

/// The input of a call: an object or nothing at all, as the API demands it in history.
fn parse_input(json: &str) -> Option<Value> {
    crate::json::from_str(json).ok().filter(Value::is_object)
}
