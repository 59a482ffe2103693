//! Owns what the model says and thinks: pieces as they come, and the blocks that they make.
//! Must not know tool calls or chunks.

use std::collections::VecDeque;

use kernel::{Block, ModelEvent};
use serde_json::{Map, Value};

use super::details::Details;
use super::think::{Kind, Splitter, reopened};

/// Names of the field in which a server puts reasoning.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];
/// How calls begin and end where a server leaves them in the text.
const CALLS: [(&str, &str); 4] = [
    ("<tool_call>", "</tool_call>"),
    ("<function=", "</function>"),
    ("<|tool_call_begin|>", "<|tool_call_end|>"),
    ("<tool_calls>", "</tool_calls>"),
];

/// Text and reasoning of one answer.
#[derive(Debug, Default)]
pub(super) struct Said {
    splitter: Splitter,
    /// Blocks that have not left yet.
    blocks: Vec<(Kind, String)>,
    details: Details,
    /// Reasoning was spoken of, even if nothing was in it.
    told: bool,
    /// Reasoning was said.
    thought: bool,
    /// Whether anything was.
    any: bool,
    /// The text of the last block that left.
    last: String,
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Takes what a delta or message says in words.
    pub(super) fn add(&mut self, delta: &Value, out: &mut VecDeque<ModelEvent>) {
        let in_parts = self.details.add(&delta["reasoning_details"]);
        let mut fields = REASONING.iter().filter_map(|name| delta[*name].as_str()).peekable();
        self.told |= fields.peek().is_some();
        let thought = fields.find(|text| !text.is_empty()).unwrap_or(&in_parts);
        self.say(Kind::Thinking, thought, out);
        match &delta["content"] {
            Value::String(text) => self.text(text, out),
            Value::Array(parts) => parts.iter().for_each(|part| self.part(part, out)),
            Value::Object(_) => self.part(&delta["content"], out),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn part(&mut self, part: &Value, out: &mut VecDeque<ModelEvent>) {
        match (part, &part["thinking"]) {
            (Value::String(text), _) => self.text(text, out),
            (_, Value::String(thought)) => self.say(Kind::Thinking, thought, out),
            (_, Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.for_each(|thought| self.say(Kind::Thinking, thought, out));
            }
            _ => self.text(part["text"].as_str().unwrap_or(""), out),
        }
    }

    fn text(&mut self, piece: &str, out: &mut VecDeque<ModelEvent>) {
        let mut pieces = Vec::new();
        self.splitter.push(piece, &mut pieces);
        pieces.into_iter().for_each(|(kind, text)| self.say(kind, &text, out));
    }

    fn say(&mut self, kind: Kind, text: &str, out: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.any = true;
        self.thought |= kind == Kind::Thinking;
        match self.blocks.last_mut() {
            Some((last, said)) if *last == kind => said.push_str(text),
            Some(_) | None => self.blocks.push((kind, text.to_owned())),
        }
        out.push_back(match kind {
            Kind::Text => ModelEvent::TextDelta(text.to_owned()),
            Kind::Thinking => ModelEvent::ThinkingDelta(text.to_owned()),
        });
    }

    /// A call begins: what was said before it leaves. Reasoning in parts may still get its last part.
    pub(super) fn before_call(&mut self, out: &mut VecDeque<ModelEvent>) -> bool {
        let leaves = self.details.is_empty();
        if leaves {
            self.leave(true, out);
        }
        leaves
    }

    /// Everything that was said leaves. A turn with calls has a block of reasoning if there was any talk
    /// of it: vendors that want it back want it back empty too.
    pub(super) fn leave(&mut self, calls: bool, out: &mut VecDeque<ModelEvent>) {
        let mut pieces = Vec::new();
        self.splitter.flush(&mut pieces);
        pieces.into_iter().for_each(|(kind, text)| self.say(kind, &text, out));
        let mut blocks = std::mem::take(&mut self.blocks);
        if let (false, Some((Kind::Text, text))) = (self.thought, blocks.first())
            && let Some((thought, answer)) = reopened(text)
        {
            let split = [(Kind::Thinking, thought.to_owned()), (Kind::Text, answer.to_owned())];
            blocks.splice(..1, split);
            self.thought = true;
        }
        blocks.retain(|(_, text)| !text.trim().is_empty());
        let details = self.details.take();
        let thinks = blocks.iter().any(|(kind, _)| *kind == Kind::Thinking);
        if !thinks && (details.is_some() || (calls && self.told && !self.thought)) {
            blocks.insert(0, (Kind::Thinking, String::new()));
            self.thought = true;
        }
        let mut extra: Map<String, Value> =
            details.into_iter().map(|details| ("reasoning_details".to_owned(), details)).collect();
        for (kind, text) in blocks {
            out.push_back(ModelEvent::Block(match kind {
                Kind::Text => {
                    self.last.clone_from(&text);
                    Block::text(text)
                }
                Kind::Thinking => {
                    Block::Thinking { thinking: text, signature: None, extra: std::mem::take(&mut extra) }
                }
            }));
        }
    }

    /// Whether the answer ends within a call that was written as text.
    pub(super) fn ends_in_half_a_call(&self) -> bool {
        CALLS.iter().any(|(open, close)| {
            let Some((before, call)) = self.last.rsplit_once(open) else { return false };
            let begins = *open == "<function=" || call.trim_start().starts_with(['{', '<', '[']);
            begins && !call.contains(close) && before.chars().next_back().is_none_or(char::is_whitespace)
        })
    }
}
