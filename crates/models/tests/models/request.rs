//! What is sent: whole requests as they came over the wire, and the property that prompt caching
//! lives on.

use std::sync::Arc;

use kernel::{Block, Message, ModelRequest, Role};
use models::NetConfig;
use models::anthropic::{CACHE_MARK, body};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::server::{Reply, Server};
use crate::support::{KEY, ask, assistant, call, hello, model_at, model_with, plain, request, result, says};

fn json_of(request: &ModelRequest) -> Value {
    serde_json::from_slice(&body(request, &plain())).unwrap()
}

#[tokio::test]
async fn a_request_is_what_the_api_documents() {
    let server = Server::start(vec![Reply::events(&says("hi"))]).await;
    let model = model_at(&server.url);
    let messages = vec![
        Message::user("read a.txt"),
        assistant(vec![call("t1", "Read", json!({"file_path": "a.txt"}))]),
        Message::new(Role::User, vec![result("t1", "1\thello", false)]),
    ];
    ask(&model, request(messages)).await;
    let sent = server.requests().remove(0);
    assert_eq!(sent.line, "POST /v1/messages HTTP/1.1");
    let host = server.url.trim_start_matches("http://");
    let expected = [
        ("content-type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", KEY),
        ("accept", "*/*"),
        ("user-agent", concat!("rsagent/", env!("CARGO_PKG_VERSION"))),
        ("host", host),
        ("content-length", &sent.body.len().to_string()),
    ];
    let mut headers: Vec<(&str, &str)> =
        sent.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut expected = expected.to_vec();
    headers.sort_unstable();
    expected.sort_unstable();
    assert_eq!(headers, expected);
    insta::assert_snapshot!(sent.body, @r#"{"model":"claude-test","max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"system":[{"type":"text","text":"You are rsagent.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"cwd: /w"}],"tools":[{"name":"Read","description":"Read a file.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}}}},{"name":"Write","description":"Write a file.","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"read a.txt","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1\thello","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#);
}

#[tokio::test]
async fn a_token_goes_as_bearer_and_the_key_stays_at_home() {
    let server = Server::start(vec![Reply::events(&says("hi"))]).await;
    let variables = [("ANTHROPIC_AUTH_TOKEN", "tok"), ("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &server.url)];
    ask(&model_with(&variables, NetConfig::default()), hello()).await;
    let headers = server.requests().remove(0).headers;
    assert!(headers.contains(&("authorization".into(), "Bearer tok".into())));
    assert!(!headers.iter().any(|(name, _)| name == "x-api-key"));
}

#[tokio::test]
async fn http_requests_go_through_the_proxy_that_is_given() {
    let proxy = Server::start(vec![Reply::events(&says("hi"))]).await;
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://models.invalid/api/v1/")];
    let network = NetConfig { http_proxy: Some(proxy.url.clone()), ..NetConfig::default() };
    ask(&model_with(&variables, network), hello()).await;
    let line = proxy.requests().remove(0).line;
    assert_eq!(line, "POST http://models.invalid/api/v1/messages HTTP/1.1");
}

#[tokio::test]
async fn a_host_under_no_proxy_is_reached_directly() {
    let server = Server::start(vec![Reply::events(&says("hi"))]).await;
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &server.url)];
    let network = NetConfig {
        http_proxy: Some("http://127.0.0.1:9".into()),
        no_proxy: Some("example.com, 127.0.0.1".into()),
        ..NetConfig::default()
    };
    ask(&model_with(&variables, network), hello()).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start(vec![Reply::events(&says("hi"))]).await;
    let model = model_at(&server.url);
    for _ in 0..3 {
        ask(&model, hello()).await;
    }
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn without_system_and_tools_there_are_no_such_fields() {
    let mut request = hello();
    request.prefix = Arc::default();
    let expected = json!({"model": "claude-test", "max_tokens": 32000, "messages": [{"role": "user",
        "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}],
        "stream": true});
    assert_eq!(json_of(&request), expected);
}

/// Where a body of these messages carries marks, as `message.block`.
fn marks(request: &ModelRequest) -> Vec<String> {
    let body = json_of(request);
    let mut found = Vec::new();
    for (at, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        for (number, block) in message["content"].as_array().unwrap().iter().enumerate() {
            if block.get("cache_control").is_some() {
                found.push(format!("{at}.{number}"));
            }
        }
    }
    found
}

#[test]
fn marks_are_on_the_last_blocks_that_can_carry_one() {
    let thinking = Block::Thinking { thinking: String::new(), signature: Some("s".into()), extra: Map::new() };
    let image = Block::Other(json!({"type": "image", "source": {"type": "base64", "data": "AA=="}}));
    let strange = Block::Other(json!({"type": "sparkle"}));
    let mut request = request(vec![
        Message::user("one"),
        assistant(vec![Block::text("two")]),
        Message::new(Role::User, vec![result("t", "r", false), image, strange.clone()]),
        assistant(vec![thinking, call("t2", "Read", json!({}))]),
        Message::new(Role::User, vec![strange]),
    ]);
    assert_eq!(marks(&request), ["0.0", "2.1"]);
    request.extra = Some(Arc::new(Message::user("summarise")));
    // What goes on where a user message ends is sent as a part of it.
    assert_eq!(marks(&request), ["2.1", "4.1"]);
    assert_eq!(String::from_utf8(body(&request, &plain())).unwrap().matches(CACHE_MARK).count(), 4);
}

#[test]
fn what_the_model_said_goes_back_byte_for_byte() {
    let raw = r#"{"type":"redacted_thinking","data":"AAEC","z":1,"a":[1.5,"é"]}"#;
    let thinking = r#"{"type":"thinking","thinking":"","signature":"c2ln","later":{"b":1,"a":2}}"#;
    let content = [raw, thinking].map(|block| serde_json::from_str::<Block>(block).unwrap());
    let request = request(vec![Message::user("x"), assistant(content.into())]);
    let body = String::from_utf8(body(&request, &plain())).unwrap();
    assert!(body.contains(&format!(r#"{{"role":"assistant","content":[{raw},{thinking}]}}"#)));
}

/// The bytes of the messages without cache marks.
fn messages_of(request: &ModelRequest) -> String {
    let body = String::from_utf8(body(request, &plain())).unwrap().replace(CACHE_MARK, "");
    let (_, messages) = body.split_once(r#""messages":["#).unwrap();
    messages.strip_suffix(r#"],"stream":true}"#).unwrap().to_owned()
}

/// The same with one message a turn.
fn in_turns(messages: &[Arc<Message>]) -> Vec<Message> {
    let turns = messages.chunk_by(|one, next| one.role == next.role);
    turns.map(|turn| Message::new(turn[0].role, turn.iter().flat_map(|part| part.content.clone()).collect())).collect()
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "\\PC{1,12}".prop_map(Block::text),
        ("\\PC{0,8}", "[a-z]{0,8}").prop_map(|(thinking, signature)| Block::Thinking {
            thinking,
            signature: Some(signature),
            extra: Map::new()
        }),
        ("[a-z]{1,4}", "\\PC{0,8}").prop_map(|(id, value)| call(&id, "Read", json!({"a": value}))),
        ("[a-z]{1,4}", "\\PC{0,8}", any::<bool>()).prop_map(|(id, text, bad)| result(&id, &text, bad)),
        "\\PC{0,8}".prop_map(|text| Block::Other(json!({"type": "image", "x": text}))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn messages_of_a_request_are_a_byte_prefix_of_the_next(
        contents in prop::collection::vec((any::<bool>(), prop::collection::vec(any_block(), 1..4)), 1..10),
    ) {
        let messages: Vec<Arc<Message>> = contents
            .into_iter()
            .map(|(user, blocks)| {
                let role = if user { Role::User } else { Role::Assistant };
                Arc::new(Message::new(role, blocks))
            })
            .collect();
        let mut before = String::new();
        for count in 1..=messages.len() {
            let request =
                ModelRequest { messages: Arc::new(messages[..count].to_vec()), ..hello() };
            let body = String::from_utf8(body(&request, &plain())).unwrap();
            prop_assert!(body.matches(CACHE_MARK).count() <= 4);
            let now = messages_of(&request);
            let sent: Vec<Message> = serde_json::from_str(&format!("[{now}]")).unwrap();
            prop_assert_eq!(sent, in_turns(&messages[..count]));
            // Of a message that goes on, the end is written later.
            let goes_on = count > 1 && messages[count - 1].role == messages[count - 2].role;
            let before_its_end = if goes_on { before.strip_suffix("]}").unwrap() } else { &before };
            prop_assert!(now.starts_with(before_its_end), "{} is no prefix of {}", before, now);
            before = now;
        }
    }
}
