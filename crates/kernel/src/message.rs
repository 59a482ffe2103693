//! Owns what one message is: a role, content blocks, and the bytes that a dialect made of them.
//! Must not know how a conversation grows or what a vendor's wire format looks like.
//!
//! Shapes follow the Anthropic Messages API, the richest of the formats that the models speak.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::*;

/// The name of one tool call; unique within one agent's conversation, through all epochs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolUseId(pub String);

impl std::fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who speaks. Tool results travel in messages of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, a feature, or the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One content block. Fields and block types that we do not know survive a round trip unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text, never blank once in a conversation.
        text: String,
        /// Fields we do not read, kept as they came.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// The model's reasoning; valid only unchanged, behind the exact prefix it was made behind.
    Thinking {
        /// The reasoning text, often empty.
        thinking: String,
        /// The vendor's signature over it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Fields we do not read, kept as they came.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A request to run a tool.
    ToolUse {
        /// Pairs the call with its result.
        id: ToolUseId,
        /// The tool's name as the model wrote it.
        name: String,
        /// The tool's input.
        input: Value,
        /// Fields we do not read, kept as they came.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// The answer to one tool call.
    ToolResult {
        /// The call that this answers.
        tool_use_id: ToolUseId,
        /// What the model reads.
        #[serde(default)]
        content: ResultContent,
        /// Whether the call failed, was denied or was interrupted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Fields we do not read, kept as they came.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A block of a type that we do not know, as the JSON value that it is.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A text block without further fields.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Map::new() }
    }

    /// The answer to a call.
    pub fn result(tool_use_id: ToolUseId, content: ResultContent, is_error: bool) -> Self {
        Self::ToolResult { tool_use_id, content, is_error, extra: Map::new() }
    }

    /// The call whose result this is.
    pub(crate) fn answers(&self) -> Option<&ToolUseId> {
        match self {
            Self::ToolResult { tool_use_id, .. } => Some(tool_use_id),
            _ => None,
        }
    }

    /// Whether this block may enter a history as something that `role` says. Results are recorded
    /// instead, only the model calls and thinks, and what has a known type but not its fields is nothing.
    pub(crate) fn may_be_said_by(&self, role: Role) -> bool {
        match self {
            Self::Text { .. } => !self.is_blank(),
            Self::ToolResult { .. } => false,
            Self::Thinking { .. } | Self::ToolUse { .. } => role == Role::Assistant,
            Self::Other(value) => !matches!(value["type"].as_str(), None | Some("text" | "tool_use" | "tool_result")),
        }
    }

    /// Whether the APIs refuse this block because it says nothing.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.trim().is_empty())
    }

    /// Bytes of content: the basis of token estimates (bytes / 4), not an exact wire size.
    fn weight(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Thinking { thinking, signature, .. } => thinking.len() + signature.as_ref().map_or(0, String::len),
            Self::ToolUse { id, name, input, .. } => id.0.len() + name.len() + value_weight(input),
            Self::ToolResult { tool_use_id, content, .. } => tool_use_id.0.len() + content.weight(),
            Self::Other(value) => value_weight(value),
        }
    }
}

/// What an image weighs: about 2,000 tokens, whatever its bytes are.
const MEDIUM: usize = 8_000;

/// Bytes of the strings, keys and scalars in a JSON value, punctuation estimated.
pub(crate) fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| value_weight(item) + 1).sum::<usize>(),
        Value::Object(_) if value["source"]["data"].is_string() => MEDIUM,
        Value::Object(map) => 2 + map.iter().map(|(key, item)| key.len() + 4 + value_weight(item)).sum::<usize>(),
    }
}

/// The bytes that a dialect made of a message or a prefix, with the places where a cache mark goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The serialised form without any cache mark.
    pub bytes: Vec<u8>,
    /// Offsets into `bytes` at which a dialect may splice a cache mark, ascending.
    pub marks: Vec<usize>,
}

/// A place where each dialect keeps what it serialised, so that it does so once.
#[derive(Debug, Default)]
pub struct Memo(Mutex<Vec<(&'static str, Arc<Encoded>)>>);

impl Memo {
    /// The bytes of `dialect`, made by `encode` on the first call.
    pub fn get(&self, dialect: &'static str, encode: impl FnOnce() -> Encoded) -> Arc<Encoded> {
        let mut slots = lock(&self.0);
        if let Some((_, encoded)) = slots.iter().find(|(name, _)| *name == dialect) {
            return encoded.clone();
        }
        let encoded = Arc::new(encode());
        slots.push((dialect, encoded.clone()));
        encoded
    }
}

/// A message. It is shared as soon as it exists, so neither its blocks nor its bytes ever change.
#[derive(Debug, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The blocks, in order.
    pub content: Vec<Block>,
    /// What dialects serialised.
    #[serde(skip)]
    pub memo: Memo,
}

impl Message {
    /// A message of `role` with the given blocks.
    pub fn new(role: Role, content: Vec<Block>) -> Self {
        Self { role, content, memo: Memo::default() }
    }

    /// A user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// Content bytes; divided by four, an estimate in tokens.
    pub fn weight(&self) -> usize {
        self.content.iter().map(Block::weight).sum()
    }

    /// All text blocks joined by line breaks.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The tool calls in it: id, name and input.
    pub fn tool_uses(&self) -> impl Iterator<Item = (&ToolUseId, &String, &Value)> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input, .. } => Some((id, name, input)),
            _ => None,
        })
    }

    /// Whether this is a user message that answers no tool call.
    pub fn is_plain_user(&self) -> bool {
        self.role == Role::User && self.content.iter().all(|block| block.answers().is_none())
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.role == other.role && self.content == other.content
    }
}
