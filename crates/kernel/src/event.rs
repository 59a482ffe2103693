//! Owns the table of events: the only way out of the loop, the same for every consumer.
//! Must not know who consumes them. A new kind of event needs a line in ARCHITECTURE.md's table.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::*;

/// What a consumer learns once, first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Init {
    /// The session.
    pub session_id: String,
    /// The model's id.
    pub model: String,
    /// The provider's name.
    pub provider: String,
    /// The permission mode.
    pub mode: crate::permission::Mode,
    /// Names of the tools.
    pub tools: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The sandbox level in use.
    pub sandbox: String,
}

/// Why a prompt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model had nothing more to do.
    Completed,
    /// The limit of turns was reached.
    MaxTurns,
    /// A person or a program interrupted it.
    Aborted,
    /// It failed; a `notice` of level `error` said why.
    Error,
    /// The spending limit was reached.
    Budget,
    /// The model or the vendor declined.
    Refused,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something did not go as asked.
    Warning,
    /// Something failed.
    Error,
}

/// One thing that happened. Serialised as one JSON object with a `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// Once, first.
    Init(Init),
    /// A message from a person, a queue or a feature enters the conversation.
    User {
        /// The message.
        message: Arc<Message>,
        /// Who said it: `person`, `agent`, or the name of a feature.
        origin: String,
    },
    /// The loop goes round.
    TurnStart {
        /// Number of the model call within the prompt, from 1.
        turn: u32,
    },
    /// Streamed text; void if a `retry` with `void: true` follows before `assistant`.
    TextDelta {
        /// The next piece.
        text: String,
    },
    /// Streamed reasoning; void like text.
    ThinkingDelta {
        /// The next piece.
        text: String,
    },
    /// The finished assistant message.
    Assistant {
        /// The message as it entered the conversation.
        message: Arc<Message>,
    },
    /// A permitted tool begins.
    ToolStart {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
        /// Whether it runs beside others.
        parallel: bool,
    },
    /// Output while a tool runs.
    ToolProgress {
        /// The call.
        id: ToolUseId,
        /// The next piece; the oldest may be missing under pressure.
        text: String,
    },
    /// A tool has ended, in order of completion.
    ToolResult {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: String,
        /// What the model reads.
        content: ResultContent,
        /// Whether it failed.
        is_error: bool,
        /// Wall time in milliseconds.
        #[serde(rename = "durationMs")]
        duration_ms: u64,
        /// For people and user interfaces.
        detail: Value,
    },
    /// A question, answered by `request_id`.
    PermissionRequest {
        /// The question.
        request_id: String,
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
        /// Why it is asked.
        reason: String,
        /// The exact rules that *always* would add.
        suggestions: Vec<String>,
    },
    /// A call may not happen; instead of `tool_start` and `tool_result`.
    PermissionDenied {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: String,
        /// The rule, mode or person that decided.
        reason: String,
    },
    /// Waiting for the model.
    Retry {
        /// Why.
        reason: String,
        /// The attempt to come, from 1.
        attempt: u32,
        /// The wait in milliseconds.
        #[serde(rename = "delayMs")]
        delay_ms: u64,
        /// Whether the deltas since `turn_start` are to be forgotten.
        void: bool,
    },
    /// A new epoch.
    Compact {
        /// `auto`, `manual`, or the feature that proposed it.
        kind: String,
        /// Tokens of the messages before.
        #[serde(rename = "tokensBefore")]
        tokens_before: u64,
        /// Tokens of the messages after.
        #[serde(rename = "tokensAfter")]
        tokens_after: u64,
    },
    /// After each model call.
    Usage {
        /// This call.
        call: Usage,
        /// The session so far, subagents included.
        session: Usage,
    },
    /// An event of a child, nested as it came.
    Subagent {
        /// The child.
        agent_id: String,
        /// Its event.
        event: Box<AgentEvent>,
    },
    /// A feature speaks.
    Notice {
        /// Which feature.
        source: String,
        /// How much it matters.
        level: Level,
        /// For people.
        text: String,
        /// For programs.
        data: Value,
    },
    /// The last one of a prompt.
    Terminal {
        /// Why it ended.
        reason: TerminalReason,
        /// The final history, where the consumer asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<Arc<Vec<Arc<Message>>>>,
    },
}

impl AgentEvent {
    /// Whether it is part of a streamed text, of an agent or its child.
    pub(crate) fn is_piece(&self) -> bool {
        match self {
            Self::Subagent { event, .. } => event.is_piece(),
            event => matches!(event, Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::ToolProgress { .. }),
        }
    }

    /// A notice without data.
    pub fn notice(source: &str, level: Level, text: impl Into<String>) -> Self {
        Self::Notice { source: source.into(), level, text: text.into(), data: Value::Null }
    }
}
