//! Owns the lines of a recording: the kernel's types as JSON. Must not know who writes or reads them.
//!
//! A recording is a file of lines, each a JSON object with one key that says what the line is:
//!
//! | key | value |
//! |---|---|
//! | `recording` | `version`: a session begins. Everything below is numbered anew. |
//! | `prefix` | `system`, `tools`. Numbered from 0. |
//! | `message` | `role`, `content`. Numbered from 0; each message of a session is written once. |
//! | `request` | `number` (from 1), `model`, `max_tokens`, `prefix` (its number), `messages`, `extra`. `messages` is a list of runs `[number of the first, count]`: `[[0, 7], [9, 2]]` are the messages 0 to 6, 9 and 10. |
//! | `event` | `request`, `after_ms` since the request, `event` |
//! | `error` | `request`, `after_ms`, `error`: the last line of a request that failed |
//! | `end` | `request`, `after_ms`, `how`: `cut`, the stream ended before the answer did; `left`, nobody listened any longer |
//!
//! Requests overlap where agents run side by side. Secrets are replaced by `[redacted]`. Events of a
//! text that still streams are held back until it is whole, so that no secret is missed between two.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Block, ErrorKind, Message, ModelError, ModelEvent, Prefix, StopReason, ToolSpec, Usage};
use serde::{Deserialize, Serialize};

/// The version that is written, and the only one that is read.
pub(super) const VERSION: u32 = 1;

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Recording {
        version: u32,
    },
    Prefix {
        system: Vec<System>,
        tools: Vec<ToolSpec>,
    },
    Message(Arc<Message>),
    Request {
        number: u64,
        model: String,
        max_tokens: u32,
        prefix: u64,
        messages: Vec<(u64, u64)>,
        extra: Option<Arc<Message>>,
    },
    Event {
        request: u64,
        after_ms: u64,
        #[serde(with = "EventLine")]
        event: ModelEvent,
    },
    Error {
        request: u64,
        after_ms: u64,
        #[serde(with = "ErrorLine")]
        error: ModelError,
    },
    End {
        request: u64,
        after_ms: u64,
        how: End,
    },
}

impl Line {
    pub fn prefix(prefix: &Prefix) -> Self {
        let system = prefix.system.iter().map(|block| System { text: block.text.clone(), cache: block.cache });
        Self::Prefix { system: system.collect(), tools: prefix.tools.clone() }
    }
}

/// One block of the system prompt.
#[derive(Serialize, Deserialize)]
pub(super) struct System {
    text: String,
    cache: bool,
}

/// How an answer ended that was neither whole nor failed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Cut,
    Left,
}

// The types below mirror the kernel's, which have no JSON form of their own; the compiler compares them.

#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelEvent", rename_all = "snake_case")]
enum EventLine {
    Retry { reason: String, attempt: u32, delay: Duration },
    TextDelta(String),
    ThinkingDelta(String),
    InputDelta,
    Block(Block),
    Usage(Usage),
    Alive,
    Notice(String),
    Stop(#[serde(with = "StopLine")] StopReason),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "StopReason", rename_all = "snake_case")]
enum StopLine {
    EndTurn,
    MaxTokens,
    Refusal(Option<String>),
    PauseTurn,
    ContextWindow,
    HalfCall,
    Other(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelError")]
struct ErrorLine {
    #[serde(with = "KindLine")]
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ErrorKind", rename_all = "snake_case")]
enum KindLine {
    RateLimited(Option<Duration>),
    Overloaded(Option<Duration>),
    Transport,
    Stalled,
    ContextOverflow,
    TooLarge,
    Auth,
    Billing,
    Media,
    Thinking,
    NotFound,
    Invalid,
    Refused,
}
