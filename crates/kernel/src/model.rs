//! Owns the seam to models: a request, the events of its answer, and errors typed by what the
//! caller can do about them. Must not know HTTP, dialects or vendors.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::*;

/// One call of a model. Cheap to clone: history is shared, never copied.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model's id as the provider knows it.
    pub model: String,
    /// Upper bound of the answer, in tokens, thinking included.
    pub max_tokens: u32,
    /// System prompt and tools, frozen for the epoch.
    pub prefix: Arc<Prefix>,
    /// The history. Every message was in the last request too, or comes after all that were.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// One more user message that is sent but never stored.
    pub extra: Option<Arc<Message>>,
    /// How many more attempts may be made for this call.
    pub retries: RetryBudget,
    /// Fires when nobody waits for the answer any more.
    pub cancel: CancellationToken,
}

/// What a model says while it answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// Waiting before another attempt; nothing of the answer has been seen yet.
    Retry {
        /// Why, in words.
        reason: String,
        /// The number of the attempt to come, from 1.
        attempt: u32,
        /// How long it waits.
        delay: Duration,
    },
    /// More of a text block.
    TextDelta(String),
    /// More of a thinking block.
    ThinkingDelta(String),
    /// More of a tool call: progress, of which nothing is shown before the call is whole.
    InputDelta,
    /// A finished block, in order of the content. A text may be cut by the stop reason; half a tool
    /// call never arrives.
    Block(Block),
    /// Token counts so far; each replaces the last.
    Usage(Usage),
    /// The server shows that it is there, and nothing more: a comment, a ping. No progress.
    Alive,
    /// Something a person should know about how the answer came about, such as another model that gave it.
    Notice(String),
    /// The answer is complete.
    Stop(StopReason),
}

/// Why the model stopped. Never the test for tool calls: look at the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It was done, or wants its tools run.
    EndTurn,
    /// `max_tokens` was reached; the last text may be cut.
    MaxTokens,
    /// The model or the vendor declined.
    Refusal(Option<String>),
    /// A server-side loop paused: send the content back as it is.
    PauseTurn,
    /// The context window is full.
    ContextWindow,
    /// A tool call was begun as text and not ended; it was no call.
    HalfCall,
    /// Something newer than this code.
    Other(String),
}

/// Tokens of one call or of many, cached ones apart, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Of the tokens written to the cache, those that stay for an hour; they cost more.
    #[serde(skip_serializing_if = "is_zero")]
    pub ephemeral_1h_input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// US dollars; `None` where a price is not known. Whoever knows who answered fills it in.
    pub cost: Option<f64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Everything that was in the context window when the call ended.
    pub fn total(&self) -> u64 {
        self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens + self.output_tokens
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // One call of unknown cost makes the whole unknown; what used nothing cost nothing.
        self.cost = match (self.total(), other.total()) {
            (0, _) => other.cost,
            (_, 0) => self.cost,
            _ => self.cost.zip(other.cost).map(|(cost, more)| cost + more),
        };
        self.input_tokens += other.input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.ephemeral_1h_input_tokens += other.ephemeral_1h_input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

/// A failed call. `message` says what happened and where; `hint` what a person can do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}{}", hint.as_deref().map(|hint| format!(". {hint}")).unwrap_or_default())]
pub struct ModelError {
    /// What the caller can do about it.
    pub kind: ErrorKind,
    /// What happened, without secrets.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// Failures by what helps against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests: wait, at least this long where the server said so.
    RateLimited(Option<Duration>),
    /// The server is overloaded or broken: wait and try again.
    Overloaded(Option<Duration>),
    /// The connection failed or the stream was cut: try again.
    Transport,
    /// Nothing came for too long: try again.
    Stalled,
    /// The prompt does not fit the context window: make it smaller.
    ContextOverflow,
    /// The body is too large for the server: make it smaller.
    TooLarge,
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The account cannot pay, or a spending limit was reached.
    Billing,
    /// An image or document that the vendor cannot take: send it no more.
    Media,
    /// Thinking in the history that this model cannot take: send it no more.
    Thinking,
    /// No such model, or no such address.
    NotFound,
    /// The request is wrong; sending it again will not help.
    Invalid,
    /// The vendor declined to answer.
    Refused,
}

impl ErrorKind {
    /// Whether the same request may succeed later.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited(_) | Self::Overloaded(_) | Self::Transport | Self::Stalled)
    }

    /// How long the server wants us to wait.
    pub fn retry_after(self) -> Option<Duration> {
        let (Self::RateLimited(delay) | Self::Overloaded(delay)) = self else { return None };
        delay
    }
}

impl ModelError {
    /// An error without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The answer as it arrives. It ends after [`ModelEvent::Stop`] or after the first error; an end
/// without either is a cut stream.
pub type ModelEvents = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Something that answers requests: a vendor, a decorator round another model, a script.
pub trait Model: Send + Sync {
    /// Calls the model. Errors arrive in the stream. Dropping the stream ends the call.
    fn stream(&self, request: ModelRequest) -> ModelEvents;
}
