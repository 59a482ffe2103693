//! The agent loop, and nothing that it does not need.
//!
//! An agent is one loop: assemble messages, call the model, parse the stream, run tools, feed the
//! results back, go round. This crate owns that loop and the rules that make it safe to build on:
//! what a conversation is, when a tool may run, how events leave. It knows no I/O, no terminal, no
//! environment, no vendor: everything arrives through [`QueryParams`].
//!
//! Read in this order: [`message`], [`conversation`], [`model`], [`tool`], [`permission`],
//! [`event`], [`query`](mod@query), then the rest.

pub mod compact;
pub mod conversation;
pub mod event;
pub mod extension;
pub mod gate;
pub mod message;
pub mod model;
mod orchestrate;
pub mod outlet;
pub mod permission;
pub mod query;
pub mod retry;
pub mod subagent;
pub mod tool;
mod turn;

pub use conversation::{Conversation, Draft, EpochKind, Prefix, SharedConversation, SystemBlock};
pub use event::{AgentEvent, Init, Level, TerminalReason};
pub use extension::{Extension, Extensions};
pub use gate::{Answer, Gate, Questions};
pub use message::{Block, Message, Role, ToolUseId};
pub use model::{
    ErrorKind, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, StopReason, Usage,
};
pub use outlet::EventStream;
pub use permission::{Effect, Judgement, Mode, Origin, Place, Rule, Rules};
pub use query::{Limits, QueryParams, query};
pub use retry::RetryBudget;
pub use subagent::{SubagentReport, SubagentSpec};
pub use tool::{ResultContent, Tool, ToolContext, ToolOutput, ToolPool, ToolSpec};
