//! Chat Completions over HTTP: providers of the table and of the user, as a session gets them.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use kernel::{Block, ErrorKind, Message, Model, ModelEvent, RetryBudget, Role, StopReason, Usage};
use models::registry::Endpoint;
use models::wire::{Auth, Dialect, Secret};
use models::{Choice, Network, UserProvider, choose};
use serde_json::{Value, json};

use crate::openai_support::{DONE, chunk, content, data, finish, stream, thought};
use crate::server::{Reply, Server};
use crate::support::{ask, assistant, call, choice, fail, hello, request, result};

const KEY: &str = "sk-local-secret-1234";

fn connected(name: &str, model: &str, url: &str) -> Arc<dyn Model> {
    let variable = |name: &str| (name == "LOCAL_KEY").then(|| KEY.to_owned());
    let user = UserProvider {
        name: name.into(),
        dialect: Some("openai".into()),
        base_url: Some(url.into()),
        api_key_env: Some("LOCAL_KEY".into()),
        ..UserProvider::default()
    };
    let wanted =
        Choice { provider: Some(name.into()), model: Some(model.into()), providers: vec![user], ..choice(&variable) };
    models::connect(&wanted, &Network::default()).unwrap().model
}

fn local(url: &str) -> Arc<dyn Model> {
    connected("local", "qwen", url)
}

#[tokio::test]
async fn a_turn_with_a_provider_of_the_user() {
    let calls =
        json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "Read", "arguments": "{\"p\":1}"}}]});
    let counts = data(&json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}));
    let first = [chunk(json!({"reasoning": "hm"})), chunk(calls), finish("stop"), counts, DONE.to_owned()].concat();
    let server = Server::start(vec![Reply::events(&first), Reply::events(&stream(&content("hi"), "stop"))]).await;
    let model = local(&format!("{}/v1/", server.url));
    let events: Vec<_> = ask(&model, hello()).await.into_iter().map(Result::unwrap).collect();
    let expected = vec![
        ModelEvent::ThinkingDelta("hm".into()),
        ModelEvent::InputDelta,
        ModelEvent::Block(thought("hm")),
        ModelEvent::Usage(Usage { input_tokens: 9, output_tokens: 2, ..Usage::default() }),
        ModelEvent::Block(call("c1", "Read", json!({"p": 1}))),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!(events, expected);
    let said = assistant(vec![thought("hm"), call("c1", "Read", json!({"p": 1}))]);
    let history = vec![Message::user("hello"), said, Message::new(Role::User, vec![result("c1", "x", false)])];
    let events = ask(&model, request(history)).await;
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Stop(StopReason::EndTurn))));
    let sent = server.requests();
    assert_eq!(sent[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert!(sent[0].headers.contains(&("authorization".into(), format!("Bearer {KEY}"))));
    assert!(!sent[0].headers.iter().any(|(name, _)| name == "x-api-key" || name == "anthropic-version"));
    assert_eq!(sent[1].connection, 0);
    for request in &sent {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(testkit::chat::request(&body, testkit::chat::Strict::default()), Ok(()));
        assert_eq!(body.get("max_tokens"), None);
    }
    let messages = |body: &str| body.split_once("\"messages\":[").unwrap().1.to_owned();
    let before = messages(&sent[0].body);
    assert!(messages(&sent[1].body).starts_with(before.strip_suffix("]}").unwrap()));
}

#[tokio::test]
async fn openai_done_missing_5b7191() {
    let body = stream(&content("hi"), "stop");
    let server = Server::start(vec![Reply::events(&body).open()]).await;
    let events = ask(&local(&server.url), hello()).await;
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Stop(StopReason::EndTurn))));
    server.closed.notified().await;
}

#[tokio::test]
async fn without_the_last_line_an_open_connection_is_not_waited_for_long() {
    let body = content("hi") + &finish("stop");
    let server = Server::start(vec![Reply::events(&body).open()]).await;
    let mut events = local(&server.url).stream(hello());
    assert_eq!(events.next().await, Some(Ok(ModelEvent::TextDelta("hi".into()))));
    // All bytes are here: nothing but the clock is waited for.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    assert_eq!(events.next().await, Some(Ok(ModelEvent::Block(Block::text("hi")))));
    assert_eq!(events.next().await, Some(Ok(ModelEvent::Stop(StopReason::EndTurn))));
    assert!(before.elapsed().as_secs() < 10, "{:?}", before.elapsed());
}

#[tokio::test]
async fn openai_silent_truncation_4a6b85() {
    let counts = data(&json!({"choices": [], "usage": {"prompt_tokens": 4096, "completion_tokens": 2}}));
    let body = [content("hi"), finish("stop"), counts, DONE.to_owned()].concat();
    let server = Server::start(vec![Reply::events(&body)]).await;
    let model = connected("ollama", "qwen", &server.url);
    let notices = async |text: &str| -> Vec<String> {
        let notice = |event: Result<ModelEvent, _>| match event {
            Ok(ModelEvent::Notice(text)) => Some(text),
            _ => None,
        };
        let events = ask(&model, request(vec![Message::user(text)])).await;
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Stop(StopReason::EndTurn))));
        events.into_iter().filter_map(notice).collect()
    };
    let host = server.url.trim_start_matches("http://");
    // As many as are counted, and a little more: tokens are estimated.
    assert_eq!(notices(&"word".repeat(4096 * 2)).await, [""; 0]);
    let told = notices(&"word".repeat(40_000)).await.join("\n").replace(host, "HOST");
    insta::assert_snapshot!(told, @"ollama (HOST) read only 4096 tokens of about 40046: it seems to drop the front of the conversation. Give the model a longer context there (with Ollama num_ctx or OLLAMA_CONTEXT_LENGTH)");
    // Once is enough.
    assert_eq!(notices(&"word".repeat(40_000)).await, [""; 0]);
}

#[test]
fn providers_of_the_table() {
    let expected = [
        ("openai", "https://api.openai.com/v1/chat/completions", Some("OPENAI_API_KEY")),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", Some("OPENROUTER_API_KEY")),
        ("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions", Some("DASHSCOPE_API_KEY")),
        ("kimi", "https://api.moonshot.cn/v1/chat/completions", Some("MOONSHOT_API_KEY")),
        ("glm", "https://open.bigmodel.cn/api/paas/v4/chat/completions", Some("ZHIPUAI_API_KEY")),
        ("mistral", "https://api.mistral.ai/v1/chat/completions", Some("MISTRAL_API_KEY")),
        ("ollama", "http://127.0.0.1:11434/v1/chat/completions", None),
        ("lmstudio", "http://127.0.0.1:1234/v1/chat/completions", None),
        ("llamacpp", "http://127.0.0.1:8080/v1/chat/completions", None),
        ("vllm", "http://127.0.0.1:8000/v1/chat/completions", None),
    ];
    for (name, url, key) in expected {
        let variables: HashMap<&str, &str> = key.into_iter().map(|key| (key, KEY)).collect();
        let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
        let wanted = Choice { provider: Some(name.into()), model: Some("m".into()), ..choice(&variable) };
        let Endpoint::Remote(site, shape) = choose(&wanted).unwrap().endpoint else { panic!("{name} is no remote") };
        assert_eq!((site.dialect, site.url.as_str()), (Dialect::OpenAi, url), "{name}");
        let auth = key.map_or(Auth::Nothing, |_| Auth::Bearer(Secret(KEY.into())));
        assert_eq!(site.auth, auth, "{name}");
        let ways = &shape.quirks;
        let told = [
            ways.max_completion_tokens,
            ways.short_ids,
            ways.no_reasoning,
            shape.echo,
            ways.reasoning_details,
            ways.files,
            ways.typed_schemas,
        ];
        let expected = match name {
            "openai" => [true, false, false, false, false, true, false],
            "openrouter" => [false, false, false, false, true, true, false],
            "kimi" => [false, false, false, true, false, false, true],
            "mistral" => [false, true, true, false, false, false, false],
            _ => [false; 7],
        };
        assert_eq!(told, expected, "{name}");
        assert!(!shape.bounded, "{name}: of a model that nobody knows the server knows the bound");
    }
}

/// What becomes of an error, as kind and text with the address replaced.
async fn told(status: &'static str, body: &str, header: Option<(&'static str, &str)>) -> (ErrorKind, String) {
    let mut reply = Reply::new(status, "application/json", body);
    if let Some((name, value)) = header {
        reply = reply.header(name, value);
    }
    let server = Server::start(vec![reply]).await;
    let mut request = hello();
    request.retries = RetryBudget::new(0);
    let error = fail(&local(&server.url), request).await;
    assert!(!format!("{error:?}").contains(KEY));
    (error.kind, error.to_string().replace(server.url.trim_start_matches("http://"), "HOST"))
}

#[tokio::test]
async fn errors_of_the_other_shape() {
    let error = |message: &str, kind: &str, code: Value| {
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
    };
    let bad = "400 Bad Request";
    let many = "429 Too Many Requests";
    let invalid = "invalid_request_error";
    let nested = json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"provider_name": "x",
        "raw": "{\"error\":{\"message\":\"Input token count (9) exceeds the maximum\"}}"}}})
    .to_string();
    let cases = [
        (bad, error("This model's maximum context length is 8192 tokens.", invalid, json!("context_length_exceeded")), ErrorKind::ContextOverflow),
        (bad, json!({"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_ctx": 4096}}).to_string(), ErrorKind::ContextOverflow),
        (bad, json!({"object": "error", "message": "maximum context length is 10 tokens", "type": "BadRequestError", "code": 400}).to_string(), ErrorKind::ContextOverflow),
        (bad, nested, ErrorKind::ContextOverflow),
        (many, error("You exceeded your current quota", "insufficient_quota", json!("insufficient_quota")), ErrorKind::Billing),
        (many, error("your account is suspended", "exceeded_current_quota_error", Value::Null), ErrorKind::Billing),
        (many, error("Rate limit reached", "requests", json!("rate_limit_exceeded")), ErrorKind::RateLimited(None)),
        (many, error("Request exceeds the context window of tokens per min", "tokens", json!("rate_limit_exceeded")), ErrorKind::RateLimited(None)),
        ("401 Unauthorized", error("Incorrect API key provided", invalid, json!("invalid_api_key")), ErrorKind::Auth),
        ("404 Not Found", error("The model `x` does not exist", invalid, json!("model_not_found")), ErrorKind::NotFound),
        (bad, error("x is not a valid model ID", invalid, json!(400)), ErrorKind::NotFound),
        ("404 Not Found", "{\"error\":\"model 'x' not found\"}".to_owned(), ErrorKind::NotFound),
        (bad, error("unknown variant `image_url`, expected `text`", invalid, json!("invalid_request_error")), ErrorKind::Media),
        ("404 Not Found", error("No endpoints found that support image input", "", json!(404)), ErrorKind::Media),
        (bad, error("The reasoning_content in the thinking mode must be passed back to the API", invalid, Value::Null), ErrorKind::Thinking),
        ("503 Service Unavailable", error("Loading model", "unavailable_error", json!(503)), ErrorKind::Overloaded(None)),
        ("422 Unprocessable Entity", json!({"detail": [{"msg": "extra inputs"}]}).to_string(), ErrorKind::Invalid),
        (bad, error("must be followed by tool messages", invalid, Value::Null), ErrorKind::Invalid),
    ];
    for (status, body, kind) in cases {
        assert_eq!(told(status, &body, None).await.0, kind, "{status} {body}");
    }
    let quota = error("You exceeded your current quota", "insufficient_quota", json!("insufficient_quota"));
    let (kind, text) = told(many, &quota, Some(("retry-after", "9"))).await;
    assert_eq!(kind, ErrorKind::Billing);
    insta::assert_snapshot!(text, @"local (HOST) does not bill this account (429 insufficient_quota: You exceeded your current quota). Add credit or raise its spending limit, or choose another provider with --provider");
    let missing = error("The model `x` does not exist", invalid, json!("model_not_found"));
    let (_, text) = told("404 Not Found", &missing, Some(("x-request-id", "req_7"))).await;
    insta::assert_snapshot!(text, @r#"local (HOST) does not know the model "claude-test" (404 model_not_found, request req_7: The model `x` does not exist). Choose one with --model or RSAGENT_MODEL"#);
}

#[tokio::test]
async fn an_overload_is_tried_again_and_a_missing_quota_is_not() {
    let busy = Reply::new("503 Service Unavailable", "application/json", "{\"error\":{\"message\":\"busy\"}}")
        .header("retry-after", "0");
    let server = Server::start(vec![busy, Reply::events(&stream(&content("hi"), "stop"))]).await;
    let events = ask(&local(&server.url), hello()).await;
    assert!(matches!(events[0], Ok(ModelEvent::Retry { attempt: 1, .. })), "{events:?}");
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Stop(StopReason::EndTurn))));
    let quota = "{\"error\":{\"message\":\"no\",\"type\":\"insufficient_quota\"}}";
    let server = Server::start(vec![Reply::new("429 Too Many Requests", "application/json", quota)]).await;
    assert_eq!(fail(&local(&server.url), hello()).await.kind, ErrorKind::Billing);
    assert_eq!(server.requests().len(), 1);
}
