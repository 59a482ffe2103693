//! What is sent in Chat Completions: whole requests, histories of other vendors, and the property that
//! the caches of servers live on.

use std::sync::Arc;

use kernel::{Block, Message, ModelRequest, Prefix, ResultContent, Role, SystemBlock, ToolSpec, ToolUseId};
use models::Wishes;
use models::openai::body;
use models::table::{Effort, ModelFacts, Quirks, Shape, Table};
use models::wire::Dialect;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testkit::chat::{self, Strict};

use crate::support::{assistant, call, hello, plain, request, result};

fn shape(quirks: Quirks) -> Shape {
    Shape { quirks, ..plain() }
}

/// The shape of a model of the table, as a provider of this dialect gets it.
fn shape_of(model: &str, quirks: Quirks) -> Shape {
    let facts = Table::built_in().facts(model).unwrap();
    Shape::new(model, &facts, Dialect::OpenAi, quirks, Wishes::default(), &Map::new()).0
}

fn json_of(request: &ModelRequest, shape: &Shape) -> Value {
    serde_json::from_slice(&body(request, shape)).unwrap()
}

/// The messages after the system prompt.
fn messages(content: Vec<Message>, shape: &Shape) -> Value {
    let mut body = json_of(&request(content), shape);
    let list = body["messages"].as_array_mut().unwrap();
    assert_eq!(list.remove(0)["role"], "system");
    list.drain(..).collect()
}

fn signed(text: &str) -> Block {
    Block::Thinking { thinking: text.into(), signature: Some("c2ln".into()), extra: Map::new() }
}

fn image() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}})
}

fn seen(id: &str, content: Vec<Value>) -> Block {
    Block::result(ToolUseId(id.into()), ResultContent::Blocks(content), false)
}

fn read(id: &str) -> Block {
    call(id, "Read", json!({"file_path": "a.png"}))
}

const IMAGE: &str = "data:image/png;base64,AA==";

#[test]
fn a_request_is_what_the_contract_says() {
    let messages = vec![
        Message::user("read a.txt"),
        assistant(vec![Block::text("Reading."), call("t1", "Read", json!({"file_path": "a.txt"}))]),
        Message::new(Role::User, vec![result("t1", "1\thello", false), Block::text("go on")]),
    ];
    let text = String::from_utf8(body(&request(messages), &plain())).unwrap();
    insta::assert_snapshot!(text, @r#"{"model":"claude-test","stream":true,"stream_options":{"include_usage":true},"max_tokens":32000,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file.","parameters":{"type":"object","properties":{"file_path":{"type":"string"}}}}},{"type":"function","function":{"name":"Write","description":"Write a file.","parameters":{"type":"object","properties":{"file_path":{"type":"string"}}}}}],"messages":[{"role":"system","content":"You are rsagent.\n\ncwd: /w"},{"role":"user","content":"read a.txt"},{"role":"assistant","content":"Reading.","tool_calls":[{"type":"function","id":"t1","function":{"name":"Read","arguments":"{\"file_path\":\"a.txt\"}"}}]},{"role":"tool","tool_call_id":"t1","content":"1\thello"},{"role":"user","content":"go on"}]}"#);
}

#[test]
fn what_is_not_there_is_not_sent() {
    let mut request = hello();
    request.prefix = Arc::default();
    let unbounded = Shape { bounded: false, ..plain() };
    let expected = json!({"model": "claude-test", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(json_of(&request, &unbounded), expected);
}

#[test]
fn the_bound_has_two_names_and_the_users_fields_go_first() {
    let newer = shape(Quirks { max_completion_tokens: true, ..Quirks::default() });
    let sent = json_of(&hello(), &newer);
    assert_eq!((&sent["max_completion_tokens"], sent.get("max_tokens")), (&json!(32_000), None));
    let own = json!({"temperature": 0.2, "max_tokens": 5, "stream_options": null});
    let own = own.as_object().unwrap().clone();
    let wishes = Wishes { effort: Some(Effort::Low), thinking: None };
    let mut facts = ModelFacts::default();
    facts.efforts.insert(Effort::Low, "low".to_owned());
    facts.max_output = Some(9);
    let (shape, unmet) = Shape::new("m", &facts, Dialect::OpenAi, Quirks::default(), wishes, &own);
    assert_eq!(unmet, [""; 0]);
    let sent = json_of(&hello(), &shape);
    let fields = ["reasoning_effort", "temperature", "max_tokens"].map(|name| sent[name].clone());
    assert_eq!(fields, [json!("low"), json!(0.2), json!(5)]);
    assert_eq!(sent.get("stream_options"), None);
}

#[test]
fn openai_roles_10cdc6() {
    let sent = json_of(&hello(), &plain());
    let system = json!({"role": "system", "content": "You are rsagent.\n\ncwd: /w"});
    assert_eq!(sent["messages"], json!([system, {"role": "user", "content": "hello"}]));
}

#[test]
fn openai_content_array_f1b75a() {
    let history = vec![
        Message::new(Role::User, vec![Block::text("a"), Block::text("b")]),
        assistant(vec![Block::text("ok")]),
        Message::user("c"),
    ];
    let expected = json!([{"role": "user", "content": "a\n\nb"}, {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "c"}]);
    assert_eq!(messages(history, &plain()), expected);
}

#[test]
fn content_empty_text_cef2ac() {
    let history =
        vec![Message::user("a"), assistant(vec![read("t1")]), Message::new(Role::User, vec![result("t1", "", false)])];
    let sent = messages(history, &plain());
    assert_eq!(sent[1]["content"], Value::Null);
    assert_eq!(sent[2], json!({"role": "tool", "tool_call_id": "t1", "content": "(empty)"}));
}

#[test]
fn openai_image_in_tool_1cd405() {
    let answers = vec![
        seen("a", vec![json!({"type": "text", "text": "2 × 2"}), image()]),
        result("b", "text", false),
        Block::text("what is it?"),
    ];
    let history = vec![Message::user("look"), assistant(vec![read("a"), read("b")]), Message::new(Role::User, answers)];
    let sent = messages(history, &plain());
    let expected = json!([
        {"role": "tool", "tool_call_id": "a", "content": "2 × 2\n[see the user message below]"},
        {"role": "tool", "tool_call_id": "b", "content": "text"},
        {"role": "user", "content": [
            {"type": "text", "text": "Of the result of a:"},
            {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "what is it?"}]}]);
    assert_eq!(sent.as_array().unwrap()[2..], *expected.as_array().unwrap());
}

#[test]
fn openai_schema_c4d9f4() {
    let schema = json!({"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}});
    let tool = ToolSpec { name: "mcp__x__y".into(), description: "d".into(), input_schema: schema.clone() };
    let mut request = hello();
    request.prefix = Arc::new(Prefix::new(vec![SystemBlock { text: "s".into(), cache: false }], vec![tool]));
    let sent = |shape: &Shape| json_of(&request, shape)["tools"][0]["function"]["parameters"].clone();
    let typed = json!({"type": "object", "properties": {"mode": {"enum": ["a", "b"], "type": "string"}}});
    assert_eq!(sent(&shape(Quirks { typed_schemas: true, ..Quirks::default() })), typed);
    assert_eq!(sent(&plain()), schema);
}

#[test]
fn deepseek_ignored_fields_dcabbf() {
    let blind = shape_of("deepseek-v4-pro", Quirks::default());
    let history = vec![
        Message::user("look"),
        assistant(vec![signed(""), read("a")]),
        Message::new(Role::User, vec![seen("a", vec![image()])]),
    ];
    let expected = json!({"role": "tool", "tool_call_id": "a",
        "content": "[image left out: this model reads only text]"});
    assert_eq!(messages(history, &blind)[2], expected);
}

#[test]
fn deepseek_reasoning_replay_91eadf() {
    let shape = shape_of("deepseek-flash", Quirks::default());
    let unsigned = |text: &str| Block::Thinking { thinking: text.into(), signature: None, extra: Map::new() };
    let history = |thinking: &str| {
        vec![
            Message::user("look"),
            assistant(vec![unsigned(thinking), read("a")]),
            Message::new(Role::User, vec![result("a", "x", false)]),
            assistant(vec![unsigned("idle"), Block::text("done")]),
            Message::user("more"),
        ]
    };
    for thinking in ["", "hm"] {
        let sent = messages(history(thinking), &shape);
        assert_eq!(sent[1]["reasoning_content"], json!(thinking));
        assert_eq!(sent[3], json!({"role": "assistant", "content": "done"}));
        let body = json_of(&request(history(thinking)), &shape);
        assert_eq!(body.get("thinking"), None);
        assert_eq!(chat::request(&body, Strict { echo: true, ..Strict::default() }), Ok(()));
    }
    let others = [plain(), shape_of("deepseek-flash", Quirks { no_reasoning: true, ..Quirks::default() })];
    for shape in others {
        assert_eq!(messages(history("hm"), &shape)[1].get("reasoning_content"), None);
    }
}

#[test]
fn deepseek_reasoning_replay_6efa74() {
    let shape = shape_of("deepseek-flash", Quirks::default());
    let history = vec![
        Message::user("look"),
        assistant(vec![read("a")]),
        Message::new(Role::User, vec![result("a", "x", false)]),
    ];
    assert_eq!(json_of(&request(history), &shape)["thinking"], json!({"type": "disabled"}));
}

#[test]
fn reasoning_in_parts_goes_back_where_it_came_from() {
    let parts = json!([{"type": "reasoning.encrypted", "data": "d", "index": 0}]);
    let extra = Map::from_iter([("reasoning_details".to_owned(), parts.clone())]);
    let thinking = Block::Thinking { thinking: "hm".into(), signature: None, extra };
    let history = || vec![Message::user("x"), assistant(vec![thinking.clone(), Block::text("y")]), Message::user("z")];
    let sent = messages(history(), &shape(Quirks { reasoning_details: true, ..Quirks::default() }));
    assert_eq!(sent[1], json!({"role": "assistant", "content": "y", "reasoning_details": parts}));
    assert_eq!(messages(history(), &plain())[1], json!({"role": "assistant", "content": "y"}));
}

/// Everything that the other dialect can have put into a history.
fn foreign() -> Vec<Message> {
    let pdf =
        json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JQ=="}});
    let redacted = Block::Other(json!({"type": "redacted_thinking", "data": "AAEC"}));
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let long = "toolu_".repeat(12);
    vec![
        Message::new(Role::User, vec![Block::text("look"), Block::Other(image()), Block::Other(pdf.clone())]),
        assistant(vec![
            signed("hm"),
            redacted.clone(),
            Block::text("Looking."),
            read("toolu_01A"),
            read("call_x_fc_y"),
        ]),
        Message::new(
            Role::User,
            vec![
                seen("toolu_01A", vec![image(), pdf]),
                seen("call_x_fc_y", Vec::new()),
                Block::Other(json!({"type": "sparkle"})),
            ],
        ),
        assistant(vec![signed(""), Block::Other(search), call(&long, "functions.Read", json!({}))]),
        Message::new(Role::User, vec![result(&long, "no such file", true)]),
        assistant(vec![signed("only thought"), redacted]),
        Message::user("go on"),
        assistant(vec![Block::Other(json!({"type": "sparkle", "x": 1})), Block::text("Done.")]),
        Message::user("thanks"),
    ]
}

#[test]
fn a_history_of_the_other_dialect_can_be_sent() {
    let mistral = Quirks { short_ids: true, no_reasoning: true, ..Quirks::default() };
    for (shape, strict) in [
        (plain(), Strict::default()),
        (shape(mistral.clone()), Strict { short_ids: true, no_reasoning: true, echo: false }),
        (shape_of("deepseek-v4-pro", Quirks::default()), Strict { echo: true, ..Strict::default() }),
        (shape(Quirks { files: true, reasoning_details: true, ..Quirks::default() }), Strict::default()),
    ] {
        let body = json_of(&request(foreign()), &shape);
        assert_eq!(chat::request(&body, strict), Ok(()), "{shape:?} {body:#}");
    }
    // One history serves all of them, each in its own bytes.
    let shared = request(foreign());
    let short = json_of(&shared, &shape(mistral));
    let plain = json_of(&shared, &plain());
    let expected = json!([
        {"role": "system", "content": "You are rsagent.\n\ncwd: /w"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "[document left out: it cannot be sent here]"}]},
        {"role": "assistant", "content": "Looking.", "tool_calls": [
            {"type": "function", "id": "toolu_01A", "function": {"name": "Read", "arguments": "{\"file_path\":\"a.png\"}"}},
            {"type": "function", "id": "call_x_fc_y", "function": {"name": "Read", "arguments": "{\"file_path\":\"a.png\"}"}}]},
        {"role": "tool", "tool_call_id": "toolu_01A",
            "content": "[document left out: it cannot be sent here]\n[see the user message below]"},
        {"role": "tool", "tool_call_id": "call_x_fc_y", "content": "(empty)"},
        {"role": "user", "content": [{"type": "text", "text": "Of the result of toolu_01A:"},
            {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "[sparkle left out: it cannot be sent here]"}]},
    ]);
    assert_eq!(plain["messages"].as_array().unwrap()[..6], *expected.as_array().unwrap());
    let rest = &plain["messages"].as_array().unwrap()[6..];
    let id = rest[0]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(rest[0]["tool_calls"][0]["function"]["name"], "functions_Read");
    let said = |role: &str, content: &str| json!({"role": role, "content": content});
    assert_eq!(rest[1], json!({"role": "tool", "tool_call_id": id, "content": "Error: no such file"}));
    assert_eq!(
        rest[2..],
        [said("assistant", "(empty)"), said("user", "go on"), said("assistant", "Done."), said("user", "thanks")]
    );
    assert_eq!(
        json_of(&request(foreign()), &shape(Quirks { short_ids: true, ..Quirks::default() }))["messages"],
        short["messages"]
    );
}

#[test]
fn documents_go_as_files_where_they_can() {
    let pdf = json!({"type": "document", "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JQ=="}});
    let history = vec![Message::new(Role::User, vec![Block::Other(pdf)])];
    let sent = messages(history, &shape(Quirks { files: true, ..Quirks::default() }));
    let file = json!({"filename": "a.pdf", "file_data": "data:application/pdf;base64,JQ=="});
    assert_eq!(sent, json!([{"role": "user", "content": [{"type": "file", "file": file}]}]));
}

/// The bytes of the messages.
fn bytes_of(request: &ModelRequest, shape: &Shape) -> String {
    let body = String::from_utf8(body(request, shape)).unwrap();
    let (_, messages) = body.split_once(r#""messages":["#).unwrap();
    messages.strip_suffix("]}").unwrap().to_owned()
}

fn any_shape() -> impl Strategy<Value = (Shape, Strict)> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(images, files, short_ids, echo)| {
        let quirks = Quirks { files, short_ids, no_reasoning: !echo, ..Quirks::default() };
        (Shape { images, echo, quirks, ..plain() }, Strict { short_ids, no_reasoning: !echo, echo })
    })
}

fn any_said() -> impl Strategy<Value = Vec<Block>> {
    let block = prop_oneof![
        "\\PC{1,12}".prop_map(Block::text),
        "\\PC{0,8}".prop_map(|text| signed(&text)),
        Just(Block::Other(json!({"type": "redacted_thinking", "data": "AAEC"}))),
        "\\PC{0,8}".prop_map(|value| call("", "Read", json!({"a": value}))),
    ];
    prop::collection::vec(block, 1..5)
}

fn any_heard() -> impl Strategy<Value = Vec<Block>> {
    let block = prop_oneof![
        "[a-z]\\PC{0,12}".prop_map(Block::text),
        Just(Block::Other(image())),
        "\\PC{0,8}".prop_map(|text| Block::Other(json!({"type": "sparkle", "text": text}))),
    ];
    prop::collection::vec(block, 1..4)
}

/// A history as a conversation makes it: every call of a turn answered in the next message.
fn history(turns: Vec<(Vec<Block>, Vec<Block>)>) -> Vec<Arc<Message>> {
    let mut all = vec![Arc::new(Message::user("begin"))];
    for (turn, (mut said, heard)) in turns.into_iter().enumerate() {
        let mut answers = Vec::new();
        for (number, block) in said.iter_mut().enumerate() {
            if let Block::ToolUse { id, .. } = block {
                id.0 = format!("toolu_{turn}_{number}");
                answers.push(match number % 2 {
                    0 => result(&id.0, if number == 0 { "" } else { "fine" }, turn % 2 == 0),
                    _ => seen(&id.0, vec![image(), json!({"type": "text", "text": "x"})]),
                });
            }
        }
        answers.extend(heard);
        all.push(Arc::new(Message::new(Role::Assistant, said)));
        all.push(Arc::new(Message::new(Role::User, answers)));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn messages_of_a_request_are_a_byte_prefix_of_the_next(
        turns in prop::collection::vec((any_said(), any_heard()), 1..6),
        (shape, strict) in any_shape(),
    ) {
        let messages = history(turns);
        let mut before = String::new();
        for count in (1..=messages.len()).step_by(2) {
            let request = ModelRequest { messages: Arc::new(messages[..count].to_vec()), ..hello() };
            prop_assert_eq!(chat::request(&json_of(&request, &shape), strict), Ok(()));
            let now = bytes_of(&request, &shape);
            prop_assert!(now.starts_with(&before), "{} is no prefix of {}", before, now);
            before = now;
        }
    }
}
