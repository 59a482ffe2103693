//! Owns the seam to features: where a feature may look, append, refuse or propose.
//! Must not know which features exist. An extension never rewrites history.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::conversation::Draft;
use crate::event::AgentEvent;
use crate::message::{Block, ToolUseId};
use crate::model::ModelError;
use crate::tool::{Tool, ToolOutput};

/// Where in a session a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// 0 for the main agent, 1 for a child.
    pub depth: u32,
    /// Number of the model call within the prompt, from 1.
    pub turn: u32,
}

/// One tool call, as a hook sees it.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// Where.
    pub at: At,
    /// The call.
    pub id: &'a ToolUseId,
    /// The tool.
    pub name: &'a str,
    /// Its input.
    pub input: &'a Value,
}

/// A feature. Every method has a default that does nothing; the loop awaits each before it goes on.
#[async_trait]
pub trait Extension: Send + Sync {
    /// The feature's name, as it stands in `user` events and notices.
    fn name(&self) -> &str;

    /// Tools that the feature brings.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Texts that every epoch must carry on verbatim, such as a plan.
    fn pins(&self) -> Vec<String> {
        Vec::new()
    }

    /// Before a model call: blocks to append to the conversation.
    async fn before_model(&self, at: At) -> Vec<Block> {
        let _ = at;
        Vec::new()
    }

    /// After a model call failed for good: a history with which it may be tried once more.
    async fn on_model_error(&self, at: At, error: &ModelError) -> Option<Draft> {
        let _ = (at, error);
        None
    }

    /// Before a permitted tool runs: a reason not to.
    async fn before_tool(&self, call: CallView<'_>) -> Option<String> {
        let _ = call;
        None
    }

    /// After a tool ran: blocks to append after the results of the round.
    async fn after_tool(&self, call: CallView<'_>, output: &ToolOutput) -> Vec<Block> {
        let _ = (call, output);
        Vec::new()
    }

    /// When the model is done: a reason to go on, which becomes a user message.
    async fn before_stop(&self, at: At) -> Option<String> {
        let _ = at;
        None
    }

    /// Every event that is delivered exactly once, before anything is decided on it. Pieces of
    /// streamed text and of progress are for consumers only.
    async fn on_event(&self, event: &AgentEvent) {
        let _ = event;
    }
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

    /// Every tool that a feature brings.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.iter().flat_map(|extension| extension.tools()).collect()
    }

    /// Every text that must survive an epoch.
    pub fn pins(&self) -> Vec<String> {
        self.iter().flat_map(|extension| extension.pins()).collect()
    }
}
