//! Owns what the tests share: requests, a model at an address, answers as the API words them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::StreamExt;
use harness::context::{Context, Policy};
use kernel::query::Meter;
use kernel::{
    Block, Extensions, Gate, Init, Message, Mode, Model, ModelError, ModelEvent, ModelRequest, Place, Prefix,
    QueryParams, ResultContent, RetryBudget, Role, Rules, SharedConversation, SystemBlock, ToolPool, ToolSpec,
    ToolUseId,
};
use models::registry::Preferred;
use models::table::Shape;
use models::{Choice, NetConfig, Network, Wishes};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub const KEY: &str = "sk-ant-secret-1234";

pub fn prefix() -> Prefix {
    let system = vec![
        SystemBlock { text: "You are rsagent.".into(), cache: true },
        SystemBlock { text: "cwd: /w".into(), cache: false },
    ];
    let tools = ["Read", "Write"].map(|name| ToolSpec {
        name: name.into(),
        description: format!("{name} a file."),
        input_schema: json!({"type": "object", "properties": {"file_path": {"type": "string"}}}),
    });
    Prefix::new(system, tools.into())
}

pub fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "claude-test".into(),
        max_tokens: 32_000,
        prefix: Arc::new(prefix()),
        messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
        extra: None,
        retries: RetryBudget::new(3),
        cancel: CancellationToken::new(),
    }
}

pub fn hello() -> ModelRequest {
    request(vec![Message::user("hello")])
}

pub fn call(id: &str, name: &str, input: Value) -> Block {
    let extra = serde_json::Map::new();
    Block::ToolUse { id: ToolUseId(id.into()), name: name.into(), input, extra }
}

pub fn result(id: &str, text: &str, is_error: bool) -> Block {
    let content = ResultContent::Text(text.into());
    Block::result(ToolUseId(id.into()), content, is_error)
}

pub fn assistant(blocks: Vec<Block>) -> Message {
    Message::new(Role::Assistant, blocks)
}

/// Provider `anthropic` at `url`, through the registry as a session would get it.
pub fn model_at(url: &str) -> Arc<dyn Model> {
    model_with(&[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", url)], NetConfig::default())
}

pub fn model_with(variables: &[(&str, &str)], network: NetConfig) -> Arc<dyn Model> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    let network = Network { http: network, ..Network::default() };
    models::connect(&choice(&variable), &network).unwrap().model
}

/// What nobody has chosen anything in, but for variables.
pub fn choice(variable: &dyn Fn(&str) -> Option<String>) -> Choice<'_> {
    Choice {
        provider: None,
        model: None,
        preferred: Preferred::default(),
        providers: Vec::new(),
        models: BTreeMap::new(),
        said: &|_| BTreeMap::new(),
        wishes: Wishes::default(),
        variable,
        key: &|_| None,
    }
}

/// The shape of a model of which nothing is known.
pub fn plain() -> Shape {
    Shape { images: true, bounded: true, ..Shape::default() }
}

pub async fn ask(model: &Arc<dyn Model>, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    model.stream(request).collect().await
}

/// The error that a call ends with.
pub async fn fail(model: &Arc<dyn Model>, request: ModelRequest) -> ModelError {
    ask(model, request).await.pop().unwrap().unwrap_err()
}

/// A prompt to an agent without tools, whose history is summarised above a threshold.
pub fn params(model: Arc<dyn Model>, conversation: &SharedConversation, threshold: u64, text: &str) -> QueryParams {
    let policy = Policy { threshold: Some(threshold), ..Policy::default() };
    QueryParams {
        model,
        model_id: "claude-test".into(),
        max_tokens: 32_000,
        conversation: conversation.clone(),
        tools: ToolPool::new([]),
        gate: Gate::new(Mode::BypassPermissions, Rules::default(), None),
        extensions: Extensions::new(vec![Arc::new(Context::new(policy))]),
        place: Arc::new(Place { cwd: "/w".into(), roots: vec!["/w".into()], home: None, trusted: true }),
        max_turns: Some(8),
        retries: RetryBudget::new(3),
        meter: Meter::default(),
        cancel: CancellationToken::new(),
        init: Init {
            session_id: String::new(),
            model: "claude-test".into(),
            provider: "anthropic".into(),
            mode: Mode::Default,
            tools: Vec::new(),
            cwd: "/w".into(),
            sandbox: "off".into(),
        },
        announce: false,
        prompt: vec![Block::text(text)],
        origin: "person".into(),
        report_messages: false,
    }
}

/// Events as the API frames them.
pub fn sse(events: &[Value]) -> String {
    let frame = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"));
    events.iter().map(frame).collect()
}

pub fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 12, "output_tokens": 1}}})
}

pub fn block(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub fn text(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

pub fn input(index: usize, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

pub fn tool(index: usize, id: &str) -> Value {
    block(index, json!({"type": "tool_use", "id": id, "name": "Read", "input": {}}))
}

pub fn stop(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

pub fn ending(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

/// A stream of `middle` between start and end.
pub fn message(middle: &[Value], reason: &str) -> String {
    sse(&[&[start()], middle, &ending(reason)].concat())
}

/// The simplest whole answer.
pub fn says(words: &str) -> String {
    let empty = block(0, json!({"type": "text", "text": ""}));
    message(&[empty, text(0, words), stop(0)], "end_turn")
}
