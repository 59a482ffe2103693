//! Owns how an agent starts another: the same loop with its own context, a smaller pool of tools
//! and a gate under its parent's rules. Must not know which kinds of subagents there are.

use std::sync::Arc;

use crate::*;

/// How deep agents may nest: the main agent is 0.
const MAX_DEPTH: u32 = 2;

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

impl ToolContext {
    /// Runs a child agent to its end. Its events go up, wrapped, under this call's id.
    /// Errors when agents would nest too deep, or where no agent called the tool.
    pub async fn subagent(&self, spec: SubagentSpec) -> Result<Outcome, String> {
        let (caller, _) = self.caller.as_ref().ok_or("no agent called this tool")?;
        let id = self.id().ok_or("an agent is no tool that starts early")?;
        if caller.depth >= MAX_DEPTH {
            return Err(format!("agents may not nest deeper than {MAX_DEPTH}"));
        }
        let parent = &caller.params;
        let tools = parent.tools.filtered(spec.tools);
        let gate = if spec.read_only { parent.gate.read_only() } else { parent.gate.clone() };
        let inherited = parent.conversation.lock().prefix();
        let own = SystemBlock { text: spec.system, cache: true };
        let dynamic = inherited.system.iter().filter(|block| !block.cache).cloned();
        let prefix = Prefix::new([own].into_iter().chain(dynamic).collect(), tools.specs());
        let params = QueryParams {
            conversation: SharedConversation::new(Conversation::new(prefix)),
            init: Init { mode: gate.mode(), tools: tools.names(), ..parent.init.clone() },
            announce: true,
            tools,
            gate,
            cancel: self.cancel.clone(),
            prompt: vec![Block::text(spec.prompt)],
            origin: "agent".into(),
            ..parent.clone()
        };
        let outlet = caller.outlet.child(&id.0);
        let scope = Arc::new(Scope { params, outlet, depth: caller.depth + 1 });
        let outcome = run(&scope).await;
        scope.outlet.send(outcome.terminal(None)).await;
        Ok(outcome)
    }
}
