//! Owns the seam to tools: what a tool promises, what it is given, what it gives back.
//! Must not know which tools exist.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::*;

/// What the model is told of a tool: frozen for an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// `^[a-zA-Z0-9_-]{1,64}$`.
    pub name: String,
    /// The tool's prompt text.
    pub description: String,
    /// JSON Schema; its top level is an object.
    pub input_schema: Value,
}

/// Something the model can have done. A tool never fails outside its result.
///
/// Every default fails closed: not safe beside others, nothing covered, not read-only.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model calls.
    fn name(&self) -> &str;

    /// The prompt text that teaches the model when and how to use it.
    fn description(&self) -> &str;

    /// JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Checks an input against the schema. The error names the field and goes to the model.
    fn check(&self, input: &Value) -> Result<(), String>;

    /// Whether this call may run beside others in one batch.
    fn is_concurrency_safe(&self, _input: &Value) -> bool {
        false
    }

    /// Whether this call may begin while the model still speaks, and be dropped if the answer fails:
    /// it leaves no trace and costs next to nothing.
    fn may_start_early(&self, _input: &Value) -> bool {
        false
    }

    /// What bears on the question whether this call may happen. Rules for the whole tool (`Name`
    /// without a pattern) are added by the kernel.
    fn judge(&self, _input: &Value, rules: &Rules, _place: &Place) -> Judgement {
        Judgement::unjudged_under(self.name(), rules)
    }

    /// Does the work. Ends soon after `context.cancel` fires; what it spawned has ended with it.
    async fn call(&self, input: Value, context: &ToolContext) -> ToolOutput;
}

/// The content of a tool result: text, or blocks as the API knows them (text, image …).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResultContent {
    /// Plain text.
    Text(String),
    /// Content blocks.
    Blocks(Vec<Value>),
}

impl Default for ResultContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl ResultContent {
    /// The same without blank texts, which the APIs refuse; a word in the place of nothing at all.
    pub(crate) fn sendable(mut self) -> Self {
        if let Self::Blocks(blocks) = &mut self {
            blocks.retain(|block| {
                block["type"] != "text" || block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
            });
        }
        if self.weight() == 0 { Self::Text("(no output)".into()) } else { self }
    }

    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blocks(blocks) => blocks.iter().map(value_weight).sum(),
        }
    }

    /// The text in it, block texts joined by line breaks.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: ResultContent,
    /// Whether the model should take it as a failure.
    pub is_error: bool,
    /// For people and user interfaces: exit code, counts, a structured patch. Null when there is none.
    pub detail: Value,
}

impl ToolOutput {
    /// A success.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { content: ResultContent::Text(text.into()), is_error: false, detail: Value::Null }
    }

    /// A failure. The text starts with `Error:`, since some providers drop the flag.
    pub fn error(text: impl std::fmt::Display) -> Self {
        Self { content: ResultContent::Text(format!("Error: {text}")), is_error: true, detail: Value::Null }
    }
}

/// What a running call may use. Nothing else reaches a tool.
pub struct ToolContext {
    /// Fires when the call must end.
    pub cancel: CancellationToken,
    /// Where paths are relative to, and what the workspace is.
    pub place: Arc<Place>,
    /// The agent that calls and where progress goes; none in a tool's own tests.
    pub(crate) caller: Option<(Arc<Scope>, Voice)>,
}

impl ToolContext {
    /// The call's id. `None` in a tool's own tests, and of a call that began early until it is said.
    pub fn id(&self) -> Option<&ToolUseId> {
        self.caller.as_ref()?.1.get()
    }

    /// Shows output while the call runs. Never waits; under pressure the oldest of it is dropped, and of a
    /// call that began early what came before its `tool_start`.
    pub fn progress(&self, text: &str) {
        if let (Some((scope, _)), Some(id)) = (&self.caller, self.id()) {
            scope.outlet.stream(AgentEvent::ToolProgress { id: id.clone(), text: text.to_owned() });
        }
    }

    /// A context for a tool's own tests: no events, no subagents that could run.
    pub fn detached(place: Place, cancel: CancellationToken) -> Self {
        Self { caller: None, place: Arc::new(place), cancel }
    }
}

/// The tools of one agent, in the order in which the model is told of them.
#[derive(Clone, Default)]
pub struct ToolPool(Arc<[Arc<dyn Tool>]>);

impl ToolPool {
    /// A pool of these tools. Of two with one name the first stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut kept: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in tools {
            if !kept.iter().any(|other| other.name() == tool.name()) {
                kept.push(tool);
            }
        }
        Self(kept.into())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.name() == name)
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter()
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<String> {
        self.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// The tools that `keep` holds on to.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.iter().filter(|tool| keep(tool.name())).cloned().collect())
    }

    /// What the model is told.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.iter()
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                input_schema: tool.input_schema(),
            })
            .collect()
    }
}
