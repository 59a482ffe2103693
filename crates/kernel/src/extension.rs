//! Owns the seam to features: where a feature may look, append, refuse or propose.
//! Must not know which features exist. An extension never edits history; it may propose another one
//! where a turn cannot go on ([`crate::trouble`]), which is checked like any.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::*;

/// Where in a session a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// 0 for the main agent, one more for each nesting.
    pub depth: u32,
    /// Number of the model call within the prompt, from 1.
    pub turn: u32,
}

/// One tool call of a model.
#[derive(Debug, Clone)]
pub struct Call {
    /// Where.
    pub at: At,
    /// The call.
    pub id: ToolUseId,
    /// The tool, as the model named it.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// What a feature wants held while a call of the model goes on.
pub type Permit = Box<dyn Send>;

/// A feature. Every method has a default that does nothing; the loop awaits each before it goes on,
/// for the main agent and for its children. A panic in one ends the prompt.
#[async_trait]
pub trait Extension: Send + Sync {
    /// The feature's name, as it stands in `user` events and notices.
    fn name(&self) -> &str;

    /// Tools that the feature brings; whoever builds the session asks for them.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Texts that every summary must carry on verbatim, such as a plan.
    fn pins(&self) -> Vec<String> {
        Vec::new()
    }

    /// Before a model call, and before compaction is considered: blocks to append to the conversation.
    async fn before_model(&self, _at: At) -> Vec<Block> {
        Vec::new()
    }

    /// Before every call of the model, summaries included, whose input is about so many tokens: a
    /// permit, held until the call has ended, or why the prompt must end (with reason `budget`).
    async fn before_call(&self, _tokens: u64) -> Result<Permit, String> {
        Ok(Box::new(()))
    }

    /// When a turn cannot go on by itself: what may help.
    async fn remedy(&self, _case: &Case<'_>) -> Option<Remedy> {
        None
    }

    /// Before a permitted tool runs: a reason not to. All calls of a batch are decided before the first begins.
    async fn before_tool(&self, _call: &Call) -> Option<String> {
        None
    }

    /// After a tool ran and before its result is said: blocks to append after the results of the round.
    async fn after_tool(&self, _call: &Call, _output: &ToolOutput) -> Vec<Block> {
        Vec::new()
    }

    /// When the model is done: a reason to go on, which becomes a user message.
    async fn before_stop(&self, _at: At) -> Option<String> {
        None
    }

    /// Every event that is delivered exactly once, before anything is decided on it. Pieces of
    /// streamed text and of progress are for consumers only.
    async fn on_event(&self, _event: &AgentEvent) {}
}

/// The features of a session, in the order in which they are called.
#[derive(Clone, Default)]
pub struct Extensions(Arc<[Arc<dyn Extension>]>);

impl Extensions {
    /// An ordered list.
    pub fn new(list: Vec<Arc<dyn Extension>>) -> Self {
        Self(list.into())
    }

    /// The features, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Extension>> {
        self.0.iter()
    }
}
