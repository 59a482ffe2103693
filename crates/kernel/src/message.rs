//! Owns what one message is: a role, content blocks, and the bytes that a dialect made of them.
//! Must not know how a conversation grows or what a vendor's wire format looks like.
//!
//! Shapes follow the Anthropic Messages API, the richest of the formats that the models speak.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::ResultContent;

/// The name of one tool call; unique within a session once [`crate::Conversation`] has taken it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolUseId(pub String);

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        content: ResultContent,
        /// Whether the call failed, was denied or was interrupted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A block of a type that we do not know, byte for byte.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A text block without further fields.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Map::new() }
    }

    /// Whether the APIs refuse this block because it says nothing.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.trim().is_empty())
    }

    /// Bytes of content: the basis of token estimates (bytes / 4), not an exact wire size.
    fn weight(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Thinking { thinking, signature, .. } => {
                thinking.len() + signature.as_ref().map_or(0, String::len)
            }
            Self::ToolUse { id, name, input, .. } => id.0.len() + name.len() + value_weight(input),
            Self::ToolResult { tool_use_id, content, .. } => tool_use_id.0.len() + content.weight(),
            Self::Other(value) => value_weight(value),
        }
    }
}

/// Bytes of the strings, keys and scalars in a JSON value, punctuation estimated.
pub(crate) fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| value_weight(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, item)| key.len() + 4 + value_weight(item)).sum::<usize>()
        }
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
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, encoded)) = slots.iter().find(|(name, _)| *name == dialect) {
            return encoded.clone();
        }
        let encoded = Arc::new(encode());
        slots.push((dialect, encoded.clone()));
        encoded
    }
}

/// An immutable message: once it exists, neither its blocks nor its bytes ever change.
#[derive(Debug, Serialize)]
pub struct Message {
    role: Role,
    content: Vec<Block>,
    #[serde(skip)]
    weight: usize,
    #[serde(skip)]
    memo: Memo,
}

impl Message {
    /// A message of `role` with the given blocks.
    pub fn new(role: Role, content: Vec<Block>) -> Self {
        let weight = content.iter().map(Block::weight).sum();
        Self { role, content, weight, memo: Memo::default() }
    }

    /// A user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The blocks, in order.
    pub fn content(&self) -> &[Block] {
        &self.content
    }

    /// Content bytes; divided by four, an estimate in tokens.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The serialised form in `dialect`, made by `encode` once.
    pub fn encoded(
        &self,
        dialect: &'static str,
        encode: impl FnOnce(&Self) -> Encoded,
    ) -> Arc<Encoded> {
        self.memo.get(dialect, || encode(self))
    }

    /// All text blocks joined by line breaks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.as_str()),
                Block::Thinking { .. }
                | Block::ToolUse { .. }
                | Block::ToolResult { .. }
                | Block::Other(_) => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Whether this is a user message that answers no tool call.
    pub fn is_plain_user(&self) -> bool {
        self.role == Role::User
            && !self.content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.role == other.role && self.content == other.content
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            role: Role,
            content: Vec<Block>,
        }
        let Wire { role, content } = Wire::deserialize(deserializer)?;
        Ok(Self::new(role, content))
    }
}
