//! Owns one prompt of the real loop with an instant model and an instant tool, with the features that
//! every session has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use harness::context::{Context, Policy};
use harness::repeats::Repeats;
use kernel::query::Meter;
use kernel::{
    AgentEvent, Block, Extension, Extensions, Gate, Init, Mode, Model, ModelEvent, ModelEvents, ModelRequest,
    QueryParams, RetryBudget, Rules, SharedConversation, StopReason, TerminalReason, Tool, ToolContext, ToolOutput,
    ToolPool, ToolUseId, Usage, query,
};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::history::nowhere;

/// Turns of a prompt: a few calls, then the last word.
pub const TURNS: u32 = 8;

/// A loop about to be asked.
pub struct Stage(QueryParams);

impl Stage {
    pub fn new(conversation: SharedConversation) -> Self {
        let features: [Arc<dyn Extension>; 2] = [
            Arc::new(Context::new(Policy { threshold: Some(u64::MAX / 8), ..Policy::default() })),
            Arc::new(Repeats::default()),
        ];
        let model = Arc::new(Instant(AtomicU32::new(0)));
        let tools = ToolPool::new([Arc::new(Look) as Arc<dyn Tool>]);
        Self(params(conversation, model, tools, Extensions::new(features.to_vec())))
    }

    /// One prompt, from question to end. Gives the history back: to drop it is no part of a turn.
    pub fn prompt(self, runtime: &Runtime) -> SharedConversation {
        let conversation = self.0.conversation.clone();
        let ended = runtime.block_on(async {
            let events = query(self.0);
            events.filter_map(async |event| terminal(&event)).collect::<Vec<_>>().await
        });
        assert_eq!(ended, [TerminalReason::Completed]);
        conversation
    }
}

pub fn terminal(event: &AgentEvent) -> Option<TerminalReason> {
    match event {
        AgentEvent::Terminal { reason, .. } => Some(*reason),
        _ => None,
    }
}

pub fn params(
    conversation: SharedConversation,
    model: Arc<dyn Model>,
    tools: ToolPool,
    extensions: Extensions,
) -> QueryParams {
    QueryParams {
        model,
        model_id: "claude-test".into(),
        max_tokens: 32_000,
        conversation,
        tools,
        gate: Gate::new(Mode::BypassPermissions, Rules::default(), None),
        extensions,
        place: nowhere(),
        max_turns: None,
        meter: Meter::default(),
        retries: RetryBudget::new(0),
        cancel: CancellationToken::new(),
        init: Init {
            session_id: String::new(),
            model: String::new(),
            provider: String::new(),
            mode: Mode::BypassPermissions,
            tools: Vec::new(),
            cwd: "/w".into(),
            sandbox: "off".into(),
        },
        announce: false,
        prompt: vec![Block::text("Go on.")],
        origin: "person".into(),
        report_messages: false,
    }
}

/// The nth call of a tool.
pub fn call(number: u32) -> Block {
    let id = ToolUseId(format!("call_{number}"));
    Block::ToolUse { id, name: "Look".into(), input: json!({"number": number}), extra: Map::new() }
}

/// Calls a tool in each turn but the last, without taking any time.
struct Instant(AtomicU32);

impl Model for Instant {
    fn stream(&self, _: ModelRequest) -> ModelEvents {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let block = if number < TURNS { call(number) } else { Block::text("Done.") };
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        let events = [ModelEvent::Usage(usage), ModelEvent::Block(block), ModelEvent::Stop(StopReason::EndTurn)];
        Box::pin(stream::iter(events.map(Ok)))
    }
}

struct Look;

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        "Look"
    }

    fn description(&self) -> &str {
        "Looks."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn call(&self, _: Value, _: &ToolContext) -> ToolOutput {
        ToolOutput::ok("seen")
    }
}
