//! Owns how an agent starts another: the same loop with its own context, a smaller pool of tools
//! and a gate under its parent's rules. Must not know which kinds of subagents there are.

use std::sync::Arc;

use crate::conversation::{Conversation, Prefix, SharedConversation, SystemBlock};
use crate::event::{Init, TerminalReason};
use crate::message::Block;
use crate::outlet::Outlet;
use crate::query::{QueryParams, run};
use crate::tool::ToolContext;

/// How deep agents may nest: the main agent is 0.
const MAX_DEPTH: u32 = 2;

/// Where a tool runs: the query that called it.
pub(crate) struct Scope {
    /// `None` in a tool's own tests.
    pub(crate) params: Option<QueryParams>,
    pub(crate) outlet: Outlet,
    pub(crate) depth: u32,
}

impl Scope {
    pub(crate) fn detached() -> Self {
        Self { params: None, outlet: Outlet::sink(), depth: 0 }
    }
}

/// What a child agent is.
pub struct SubagentSpec {
    /// Its task: the only thing that it sees of its parent's conversation.
    pub prompt: String,
    /// Who it is. The parent's environment and memory follow.
    pub system: String,
    /// Which of the parent's tools it has.
    pub tools: fn(&str) -> bool,
    /// Whether it may only read, and never asks.
    pub read_only: bool,
}

/// What a child came to. There is always one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentReport {
    /// Why it ended.
    pub reason: TerminalReason,
    /// Its last words.
    pub text: String,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// Model calls it made.
    pub turns: u32,
}

impl ToolContext {
    /// Runs a child agent to its end. Its events go up, wrapped, under this call's id.
    /// Errors when agents would nest too deep.
    pub async fn subagent(&self, spec: SubagentSpec) -> Result<SubagentReport, String> {
        let depth = self.scope.depth + 1;
        let Some(parent) = self.scope.params.as_ref().filter(|_| depth <= MAX_DEPTH) else {
            return Err(format!("agents may not nest deeper than {MAX_DEPTH}"));
        };
        let tools = parent.tools.filtered(spec.tools);
        let gate = if spec.read_only { parent.gate.read_only() } else { parent.gate.clone() };
        let inherited = parent.conversation.lock().prefix();
        let own = SystemBlock { text: spec.system, cache: true };
        let dynamic = inherited.system.iter().filter(|block| !block.cache).cloned();
        let prefix = Prefix::new([own].into_iter().chain(dynamic).collect(), tools.specs());
        let init = parent.init.clone().map(|init| Init {
            mode: gate.mode(),
            tools: tools.names(),
            ..init
        });
        let params = QueryParams {
            conversation: SharedConversation::new(Conversation::new(prefix)),
            tools,
            gate,
            init,
            cancel: self.cancel.clone(),
            prompt: vec![Block::text(spec.prompt)],
            origin: "agent".into(),
            ..parent.clone()
        };
        let scope = Arc::new(Scope {
            outlet: self.scope.outlet.child(&self.id.0),
            params: Some(params.clone()),
            depth,
        });
        let outcome = run(&params, &scope).await;
        scope.outlet.send(outcome.terminal(None)).await;
        Ok(SubagentReport {
            reason: outcome.reason,
            text: outcome.text,
            error: outcome.error,
            turns: outcome.turns,
        })
    }
}
