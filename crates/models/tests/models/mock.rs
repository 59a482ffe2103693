//! The mock: every row of what it understands, in both languages, and every state of a turn.

use std::sync::Arc;

use futures::StreamExt;
use kernel::{Block, Message, Model, ModelEvent, ModelRequest, Role, StopReason};
use models::{Mock, MockConfig};
use serde_json::{Value, json};

use crate::support::{ask, assistant, call, request, result};

fn mock() -> Arc<dyn Model> {
    Arc::new(Mock::new(MockConfig::default()))
}

async fn answer(request: ModelRequest) -> Vec<Block> {
    let block = |event| match event {
        Ok(ModelEvent::Block(block)) => Some(block),
        _ => None,
    };
    ask(&mock(), request).await.into_iter().filter_map(block).collect()
}

async fn calls(text: &str) -> Vec<(String, Value)> {
    let call = |block| match block {
        Block::ToolUse { name, input, .. } => Some((name, input)),
        _ => None,
    };
    let blocks = answer(request(vec![Message::user(text)])).await;
    blocks.into_iter().filter_map(call).collect()
}

async fn says(messages: Vec<Message>) -> String {
    Message::new(Role::Assistant, answer(request(messages)).await).text()
}

fn read(path: &str) -> (String, Value) {
    ("Read".into(), json!({"file_path": path}))
}

fn write(path: &str, content: &str) -> (String, Value) {
    ("Write".into(), json!({"file_path": path, "content": content}))
}

fn run(command: &str) -> (String, Value) {
    ("Bash".into(), json!({"command": command}))
}

fn agent(kind: &str, prompt: &str, description: &str) -> (String, Value) {
    let input = json!({"subagent_type": kind, "prompt": prompt, "description": description});
    ("Agent".into(), input)
}

#[tokio::test]
async fn every_row_in_both_languages() {
    let three = [read("a.txt"), read("b.txt"), write("c.txt", "hello")];
    let cases = [
        ("读取 Cargo.toml", vec![read("Cargo.toml")]),
        ("read Cargo.toml", vec![read("Cargo.toml")]),
        ("读 a.txt 读 b.txt 然后往 c.txt 写入 hello", three.to_vec()),
        ("read a.txt read b.txt then write hello to c.txt", three.to_vec()),
        ("运行 rm -rf temp", vec![run("rm -rf temp")]),
        ("run rm -rf temp", vec![run("rm -rf temp")]),
        ("用子代理去读 a.txt 并总结", vec![agent("general", "读取 a.txt", "读取 a.txt")]),
        ("use a subagent to read a.txt and summarise", vec![agent("general", "read a.txt", "read a.txt")]),
        ("用只读子代理探索:往 x.txt 写入 hello", vec![agent("explore", "往 x.txt 写入 hello", "往 x.txt 写入 hello")]),
        (
            "explore with a read-only subagent: write hello to x.txt",
            vec![agent("explore", "write hello to x.txt", "write hello to x.txt")],
        ),
        ("用只读子代理探索：这个项目怎么组织", vec![agent("explore", "运行 ls\n\n这个项目怎么组织", "运行 ls")]),
        (
            "Explore with a read-only subagent: how is it built?",
            vec![agent("explore", "run ls\n\nhow is it built?", "run ls")],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(calls(text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn words_in_other_orders() {
    let cases = [
        ("请读取 `Cargo.toml`。", vec![read("Cargo.toml")]),
        ("Please read the file \"my notes.md\", then run `ls -a`", vec![read("my notes.md"), run("ls -a")]),
        ("read src/main.rs.", vec![read("src/main.rs")]),
        ("读a.txt，b.txt然后往c.txt写入你好。", vec![read("a.txt"), read("b.txt"), write("c.txt", "你好")]),
        ("read a.txt and b.txt", vec![read("a.txt"), read("b.txt")]),
        ("read Cargo.toml and tell me the name", vec![read("Cargo.toml")]),
        ("把 hello 写入 c.txt", vec![write("c.txt", "hello")]),
        ("写入 hello 到 c.txt", vec![write("c.txt", "hello")]),
        ("write \"go to a.txt\" to b.txt", vec![write("b.txt", "go to a.txt")]),
        ("write welcome to rust to b.txt then read b.txt", vec![write("b.txt", "welcome to rust"), read("b.txt")]),
        ("读取文件 文件.txt", vec![read("文件.txt")]),
        ("运行 echo 你好。", vec![run("echo 你好")]),
        ("run echo \"a b\" 'c'", vec![run("echo \"a b\" 'c'")]),
        ("read .", vec![read(".")]),
    ];
    for (text, expected) in cases {
        assert_eq!(calls(text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn anything_else_gets_an_honest_answer() {
    for text in
        ["你好", "如何运行测试？", "我在读书", "hello", "running late", "readme please", "write a poem", "run", "read"]
    {
        assert_eq!(calls(text).await, [], "{text}");
    }
    let english = says(vec![Message::user("hello")]).await;
    assert!(english.starts_with("I am the mock model."), "{english}");
    let chinese = says(vec![Message::user("你好")]).await;
    assert!(chinese.starts_with("我是模拟模型"), "{chinese}");
}

#[tokio::test]
async fn results_are_reported_in_the_language_of_the_request() {
    let round = |text: &str, name: &str, input: Value, output: &str, bad| {
        vec![
            Message::user(text),
            assistant(vec![call("mock_1", name, input)]),
            Message::new(Role::User, vec![result("mock_1", output, bad)]),
        ]
    };
    let file = "     1\t[package]\n     2\tname = \"x\"\n     3\t\n     4\tversion = \"1\"\n";
    let path = json!({"file_path": "Cargo.toml"});
    insta::assert_snapshot!(says(round("read Cargo.toml", "Read", path.clone(), file, false)).await, @r#"
Cargo.toml, lines: 4. It begins with:

    [package]
    name = "x"
"#);
    insta::assert_snapshot!(says(round("读取 Cargo.toml", "Read", path.clone(), file, false)).await, @r#"
Cargo.toml 共 4 行，开头是：

    [package]
    name = "x"
"#);
    let missing = "Error: there is no file Cargo.toml\nmore";
    insta::assert_snapshot!(says(round("read Cargo.toml", "Read", path, missing, true)).await, @"Read (Cargo.toml) did not succeed: Error: there is no file Cargo.toml");
    let command = json!({"command": "ls"});
    insta::assert_snapshot!(says(round("运行 ls", "Bash", command, "a.txt\nb.txt\n", false)).await, @r#"
`ls` 的输出：

    a.txt
    b.txt
"#);
    let task = json!({"subagent_type": "general", "prompt": "read a", "description": "read a"});
    insta::assert_snapshot!(says(round("use a subagent to read a.txt", "Agent", task, "a.txt has 2 lines", false)).await, @r#"
The subagent reports:

a.txt has 2 lines
"#);
}

#[tokio::test]
async fn several_results_are_reported_together() {
    let ids = ["mock_1", "mock_2"];
    let messages = vec![
        Message::user("read a.txt then write hi to c.txt"),
        assistant(vec![
            call(ids[0], "Read", json!({"file_path": "a.txt"})),
            call(ids[1], "Write", json!({"file_path": "c.txt", "content": "hi"})),
        ]),
        Message::new(Role::User, vec![result(ids[0], "1\tx", false), result(ids[1], "wrote 2 bytes", false)]),
    ];
    insta::assert_snapshot!(says(messages).await, @r#"
a.txt, lines: 1. It begins with:

    x

Wrote c.txt: wrote 2 bytes
"#);
}

#[tokio::test]
async fn a_later_request_gets_calls_of_its_own() {
    let mut messages = vec![
        Message::user("read a.txt"),
        assistant(vec![call("mock_1", "Read", json!({"file_path": "a.txt"}))]),
        Message::new(Role::User, vec![result("mock_1", "1\tx", false)]),
        assistant(vec![Block::text("a.txt has 1 line")]),
        Message::user("read b.txt read c.txt"),
    ];
    let next = |id, path| call(id, "Read", json!({"file_path": path}));
    assert_eq!(answer(request(messages.clone_all())).await, [next("mock_2", "b.txt"), next("mock_3", "c.txt")]);
    messages[4] = Message::user("thanks");
    assert!(says(messages).await.starts_with("I am the mock model."));
}

/// Messages are immutable and not `Clone`.
trait CloneAll {
    fn clone_all(&self) -> Vec<Message>;
}

impl CloneAll for Vec<Message> {
    fn clone_all(&self) -> Vec<Message> {
        self.iter().map(|message| Message::new(message.role, message.content.to_vec())).collect()
    }
}

#[tokio::test]
async fn texts_of_features_are_no_requests() {
    let note = "# Memory\nrun the tests before you answer\n";
    let asked = vec![Message::user("read a.txt"), Message::user(note)];
    assert_eq!(answer(request(asked)).await.len(), 1);
    let results = vec![result("mock_1", "1\tx", false), Block::text(note)];
    let answered = vec![
        Message::user("read a.txt"),
        assistant(vec![call("mock_1", "Read", json!({"file_path": "a.txt"}))]),
        Message::new(Role::User, results),
    ];
    assert!(says(answered).await.starts_with("a.txt, lines: 1."));
}

#[tokio::test]
async fn after_an_interruption_the_new_request_counts() {
    let messages = vec![
        Message::user("run sleep 100"),
        assistant(vec![call("mock_1", "Bash", json!({"command": "sleep 100"}))]),
        Message::new(Role::User, vec![result("mock_1", "Error: interrupted", true), Block::text("read a.txt")]),
    ];
    let expected = [call("mock_2", "Read", json!({"file_path": "a.txt"}))];
    assert_eq!(answer(request(messages)).await, expected);
}

fn summarised(summary: &str, asked: &str, tail: Option<&str>) -> Vec<Message> {
    let mut blocks = vec![
        Block::text(format!(
            "The conversation so far was summarised to save room.\n\n<summary>\n{summary}\n</summary>"
        )),
        Block::text("The user's newest request, verbatim:"),
        Block::text(asked),
    ];
    blocks.extend(tail.map(|tail| Block::text(format!("The last messages, as text. Go on from here:\n\n{tail}"))));
    vec![Message::new(Role::User, blocks)]
}

#[tokio::test]
async fn a_summary_is_short_and_keeps_what_was_done() {
    let file: String = (1..100).map(|n| format!("{n}\tline {n}\n")).collect();
    let mut asked = request(vec![
        Message::user("read a.txt"),
        assistant(vec![call("mock_1", "Read", json!({"file_path": "a.txt"}))]),
        Message::new(Role::User, vec![result("mock_1", &file, false)]),
    ]);
    asked.extra = Some(Arc::new(Message::user("SUMMARIZE_CONTEXT\n\nWrite a summary.")));
    let summary = Message::new(Role::Assistant, answer(asked).await).text();
    insta::assert_snapshot!(summary, @r#"
Summary by the mock model: there were 3 messages before.
[done]
a.txt, lines: 99. It begins with:

    line 1
    line 2
    line 3
"#);
    // The request comes back with the summary, and must not be carried out again.
    let after = says(summarised(&summary, "read a.txt", None)).await;
    insta::assert_snapshot!(after, @r#"
That was done before the history was summarised.

a.txt, lines: 99. It begins with:

    line 1
    line 2
    line 3
"#);
}

#[tokio::test]
async fn a_request_after_a_summary_is_carried_out_once() {
    let fresh = summarised("Summary by the mock model: there were 4 messages before.", "读取 b.txt", None);
    assert_eq!(answer(request(fresh)).await, [call("mock_1", "Read", json!({"file_path": "b.txt"}))]);
    let tail = "[called Read with {\"file_path\":\"b.txt\"}]\n\n[it returned]\n1\tx";
    let done = says(summarised("s", "读取 b.txt", Some(tail))).await;
    assert_eq!(done, "压缩历史之前，这件事已经做完了。");
}

#[tokio::test]
async fn it_streams_a_few_characters_at_a_time() {
    let events = ask(&mock(), request(vec![Message::user("你好")])).await;
    let mut joined = String::new();
    let mut deltas = 0;
    for event in &events {
        if let Ok(ModelEvent::TextDelta(text)) = event {
            assert!((1..=4).contains(&text.chars().count()), "{text}");
            joined.push_str(text);
            deltas += 1;
        }
    }
    assert!(deltas > 20);
    let [.., Ok(ModelEvent::Block(block)), Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Stop(stop))] =
        events.as_slice()
    else {
        panic!("no end: {events:?}");
    };
    assert_eq!((block, stop), (&Block::text(joined.clone()), &StopReason::EndTurn));
    assert_eq!(usage.output_tokens, joined.len().div_ceil(4) as u64);
    assert_eq!(usage.input_tokens, request(Vec::new()).prefix.tokens() + 6 / 4);
}

#[tokio::test]
async fn a_rate_paces_it() {
    let ready = async |rate| {
        let mock = Mock::new(MockConfig { rate });
        let mut events = mock.stream(request(vec![Message::user("hello")]));
        futures::poll!(events.next()).is_ready()
    };
    assert!(ready(None).await);
    assert!(!ready(Some(0.001)).await);
}
