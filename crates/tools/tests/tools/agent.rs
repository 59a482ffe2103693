//! `Agent` in the kernel's own loop, with a model that answers by a script.

use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use kernel::query::Meter;
use kernel::{
    AgentEvent, Block, Conversation, Extensions, Gate, Init, Mode, Model, ModelEvent, ModelEvents, ModelRequest,
    Prefix, QueryParams, Rules, SharedConversation, StopReason, ToolPool, ToolUseId, query,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::World;

/// Gives its answers in order, and keeps what it was told: the system text and the tools.
struct Script {
    answers: Mutex<Vec<Block>>,
    seen: Mutex<Vec<(String, Vec<String>)>>,
}

impl Model for Script {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let system = request.prefix.system.first().map(|block| block.text.clone());
        let tools = request.prefix.tools.iter().map(|tool| tool.name.clone()).collect();
        self.seen.lock().unwrap().push((system.unwrap_or_default(), tools));
        let answer = self.answers.lock().unwrap().remove(0);
        let stop = ModelEvent::Stop(StopReason::EndTurn);
        Box::pin(stream::iter([Ok(ModelEvent::Block(answer)), Ok(stop)]))
    }
}

fn use_tool(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse { id: ToolUseId(id.into()), name: name.into(), input, extra: Map::new() }
}

/// Runs one prompt in bypass mode; returns what the model was told, and each result as the id, the
/// text, whether it is an error, and the detail. Results of child agents come with theirs.
async fn play(
    world: &World,
    max_turns: Option<u32>,
    answers: Vec<Block>,
) -> (Vec<(String, Vec<String>)>, Vec<(String, String, bool, Value)>) {
    let model = Arc::new(Script { answers: Mutex::new(answers), seen: Mutex::default() });
    let tools = ToolPool::new(tools::builtin(Vec::new(), &[], &Default::default()));
    let params = QueryParams {
        model: model.clone(),
        model_id: "script".into(),
        max_tokens: 1_000,
        conversation: SharedConversation::new(Conversation::new(Prefix::new(Vec::new(), tools.specs()))),
        tools,
        gate: Gate::new(Mode::BypassPermissions, Rules::default(), None),
        extensions: Extensions::default(),
        place: Arc::new(world.place()),
        max_turns,
        retries: kernel::RetryBudget::new(0),
        meter: Meter::default(),
        cancel: CancellationToken::new(),
        init: Init {
            session_id: "session".into(),
            model: "script".into(),
            provider: "script".into(),
            mode: Mode::BypassPermissions,
            tools: Vec::new(),
            cwd: world.root.clone(),
            sandbox: "off".into(),
        },
        announce: false,
        prompt: vec![Block::text("go")],
        origin: "person".into(),
        report_messages: false,
    };
    let mut events = query(params);
    let mut results = Vec::new();
    while let Some(event) = events.next().await {
        let mut event = &event;
        while let AgentEvent::Subagent { event: inner, .. } = event {
            event = inner;
        }
        if let AgentEvent::ToolResult { id, content, is_error, detail, .. } = event {
            results.push((id.0.clone(), content.text(), *is_error, detail.clone()));
        }
    }
    let seen = std::mem::take(&mut *model.seen.lock().unwrap());
    (seen, results)
}

fn agent(kind: &str) -> Block {
    let input = json!({"subagent_type": kind, "prompt": "look", "description": "looks"});
    use_tool("outer", "Agent", input)
}

#[tokio::test]
async fn an_explore_agent_has_nothing_that_writes_and_reports() {
    let world = World::new();
    world.file("a.txt", "hello\n");
    let (seen, results) = play(
        &world,
        None,
        vec![
            agent("explore"),
            use_tool("read", "Read", json!({"file_path": "a.txt"})),
            use_tool("write", "Write", json!({"file_path": "b.txt", "content": "x"})),
            use_tool("bash", "Bash", json!({"command": "touch b.txt"})),
            Block::text("It says hello.\n"),
            Block::text("done"),
        ],
    )
    .await;
    let told: Vec<(&str, &[String])> =
        seen.iter().map(|(system, tools)| (system.lines().next().unwrap_or_default(), tools.as_slice())).collect();
    let (system, tools) = told[1];
    assert!(system.starts_with("You are an agent") && system.contains("You only read"));
    assert_eq!(tools, ["Read", "Bash"]);
    let (id, text, is_error, detail) = results.last().unwrap();
    assert_eq!((id.as_str(), text.as_str(), *is_error), ("outer", "It says hello.", false));
    assert_eq!(*detail, json!({"agent_type": "explore", "turns": 4, "reason": "completed"}));
    assert_eq!(results[0].1, "1\thello");
    assert!(results.iter().any(|(id, _, is_error, _)| id == "write" && *is_error));
    assert!(!world.root.join("b.txt").exists());
}

#[tokio::test]
async fn a_general_agent_works_but_starts_no_other() {
    let world = World::new();
    let (seen, results) = play(
        &world,
        None,
        vec![
            agent("general"),
            use_tool("write", "Write", json!({"file_path": "b.txt", "content": "x"})),
            Block::text("Written."),
            Block::text("done"),
        ],
    )
    .await;
    assert_eq!(seen[1].1, ["Read", "Write", "Bash"]);
    assert_eq!(results.last().unwrap().1, "Written.");
    assert!(world.root.join("b.txt").exists());
}

#[tokio::test]
async fn an_agent_that_does_not_finish_says_so() {
    let world = World::new();
    let (_, results) =
        play(&world, Some(1), vec![agent("explore"), use_tool("read", "Read", json!({"file_path": "a.txt"}))]).await;
    let (_, text, is_error, detail) = results.last().unwrap();
    assert!(text.starts_with("Error: the agent did not finish; it reached its limit of turns"));
    assert!(is_error);
    assert_eq!(*detail, json!({"agent_type": "explore", "turns": 1, "reason": "max_turns"}));
}

#[tokio::test]
async fn an_agent_that_cannot_start_says_why() {
    let world = World::new();
    let input = json!({"subagent_type": "explore", "prompt": "look", "description": "looks"});
    let output = world.call("Agent", input).await;
    assert_eq!(output.content.text(), "Error: no agent called this tool");
    assert!(output.is_error);
}
