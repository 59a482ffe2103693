//! Who answers and how: effort, thinking, another model in its place, recordings, the list of
//! providers, and a change of the model in the middle of a session.

use serde_json::{Value, json};
use testkit::{Reply, Request, Server};

use super::support::Place;

fn place(server: &Server) -> Place {
    Place::new().env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", &server.url())
}

/// The fields of the one request that these flags lead to, and what is said of them.
fn sent(flags: &[&str]) -> (Value, String) {
    let server = Server::script(vec![Reply::text("Done.")]);
    let ran = place(&server).run(&[&["-p", "look"], flags].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let body = &server.requests()[0].body;
    let fields = ["max_tokens", "thinking", "output_config", "tool_choice", "temperature"];
    let fields = fields.iter().filter_map(|name| Some(((*name).to_owned(), body.get(*name)?.clone()))).collect();
    (Value::Object(fields), ran.stderr)
}

#[test]
fn effort_and_thinking_are_asked_for_as_the_model_takes_them() {
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let of = |max: u32, thinking: &Value, effort: Option<&str>| match effort {
        Some(effort) => json!({"max_tokens": max, "thinking": thinking, "output_config": {"effort": effort}}),
        None => json!({"max_tokens": max, "thinking": thinking}),
    };
    let silent = String::new();
    assert_eq!(sent(&[]), (of(32_000, &adaptive, None), silent.clone()));
    assert_eq!(sent(&["--effort", "low"]), (of(32_000, &adaptive, Some("low")), silent.clone()));
    assert_eq!(sent(&["--effort", "max"]), (of(64_000, &adaptive, Some("max")), silent.clone()));
    let off = ["--thinking", "disabled"];
    assert_eq!(sent(&off), (of(32_000, &json!({"type": "between_tools"}), None), silent.clone()));
    let haiku = [off[0], off[1], "--model", "claude-haiku-5-5"];
    assert_eq!(sent(&haiku), (of(32_000, &json!({"type": "disabled"}), None), silent.clone()));
    // What cannot be is said, and not sent.
    let opus = [off[0], off[1], "--model", "claude-opus-5-5"];
    let told = "rsagent: claude-opus-5-5 cannot be told not to think here\n".to_owned();
    assert_eq!(sent(&opus), (of(32_000, &adaptive, None), told));
    let told = "rsagent: claude-next is not known to take an effort; none is sent\n".to_owned();
    assert_eq!(sent(&["--model", "claude-next", "--effort", "low"]), (json!({"max_tokens": 32_000}), told));
}

#[test]
fn thinking_config_400_b94e73() {
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let (fields, told) = sent(&["--model", "claude-opus-5-5", "--thinking", "on"]);
    assert_eq!((fields, told.as_str()), (json!({"max_tokens": 32_000, "thinking": adaptive}), ""));
    // A model from before takes a bound of its thinking and nothing else.
    let (fields, _) = sent(&["--model", "claude-haiku-4-5-20251001", "--thinking", "on"]);
    assert_eq!(fields["thinking"], json!({"type": "enabled", "budget_tokens": 10_000}));
}

#[test]
fn thinking_config_400_e21d0d() {
    // Fields that the model refuses are left out, even where the user's settings add them.
    let body = r#"{"tool_choice": {"type": "tool", "name": "emit"}, "temperature": 0.2, "metadata": {"user_id": "u"}}"#;
    let settings = format!(r#"{{"providers": {{"anthropic": {{"body": {body}}}}}}}"#);
    for (model, kept) in [("claude-opus-5-5", false), ("claude-opus-4-6", true)] {
        let server = Server::script(vec![Reply::text("Done.")]);
        let place = place(&server).settings(&settings);
        place.run(&["-p", "look", "--model", model]);
        let body = &server.requests()[0].body;
        assert_eq!(body["metadata"], json!({"user_id": "u"}));
        assert_eq!((body.get("temperature").is_some(), body.get("tool_choice").is_some()), (kept, kept), "{model}");
    }
}

#[test]
fn a_session_has_the_tools_that_it_is_given() {
    let names = |flags: &[&str]| {
        let server = Server::script(vec![Reply::text("Done.")]);
        let ran = place(&server).run(&[&["-p", "look"], flags].concat());
        let body = server.requests().pop().map(|request| request.body).unwrap_or_default();
        let tools: Vec<String> =
            body["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].to_string()).collect();
        (tools.join(" ").replace('"', ""), body["system"][0]["text"].to_string().len() < 400, ran.stderr)
    };
    let of = |tools: &str, short| (tools.to_owned(), short, String::new());
    assert_eq!(names(&[]), of("Read Write Bash Agent", false));
    assert_eq!(names(&["--tools", "minimal"]), of("Read Bash", true));
    assert_eq!(names(&["--tools", "Write, Read"]), of("Read Write", false));
    assert_eq!(names(&["--tools", ""]), of("", false));
    let told = names(&["--tools", "Rread"]).2;
    assert_eq!(
        told,
        "rsagent: --tools: there is no tool \"Rread\". The tools are Read, Write, Bash, Agent; `default` is all of them, `minimal` a few\n"
    );
}

#[test]
fn wrong_words_are_refused_before_anything_runs() {
    let place = Place::new();
    for (flags, told) in [
        (["--effort", "huge"], "unknown effort `huge`; use low, medium, high, xhigh or max"),
        (["--thinking", "maybe"], "unknown value `maybe`; use adaptive or disabled"),
        (["--fallback-model", "ollama"], "provider ollama needs the name of a model"),
        (["--replay", "missing.jsonl"], "missing.jsonl"),
    ] {
        let ran = place.run(&[&["-p", "look", "--provider", "mock"], &flags[..]].concat());
        assert_ne!(ran.code, Some(0), "{flags:?}");
        assert!(ran.stderr.contains(told), "{flags:?}: {}", ran.stderr);
    }
}

#[test]
fn another_model_answers_when_the_first_is_gone() {
    let server = Server::start(|_, request: &Request| match request.body["model"] == "claude-sonnet-5-5" {
        true => Reply::error(404, "not_found_error", "model: claude-sonnet-5-5"),
        false => Reply::text("Done."),
    });
    let ran = place(&server).run(&["-p", "look", "--fallback-model", "claude-haiku-5-5"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("Done.\n", Some(0)), "{}", ran.stderr);
    assert!(ran.stderr.contains("claude-haiku-5-5"), "it is said: {}", ran.stderr);
}

#[test]
fn a_recording_answers_in_place_of_the_model() {
    let read = Reply::call("t1", "Read", json!({"file_path": "a.txt"}));
    let server = Server::script(vec![read, Reply::text("alpha it is")]);
    let place = place(&server).with("a.txt", "alpha\n");
    let recorded = place.run(&["-p", "look", "--record", "../session.jsonl"]);
    let replayed = place.run(&["-p", "look", "--replay", "../session.jsonl"]);
    assert_eq!((recorded.stdout.as_str(), replayed.stdout.as_str()), ("alpha it is\n", "alpha it is\n"));
    assert_eq!(server.requests().len(), 2, "{}", replayed.stderr);
    let written = std::fs::read_to_string(place.work().join("../session.jsonl")).unwrap();
    assert!(written.contains("alpha") && !written.contains("sk-test"), "{written}");
}

fn models(rows: Value) -> Reply {
    let mut reply = Reply::stream(&json!({"data": rows}).to_string());
    reply.headers = vec![("content-type".into(), "application/json".into())];
    reply
}

#[test]
fn providers_are_listed_with_what_is_set_up_and_what_answers() {
    let rows = json!([{"id": "small", "max_model_len": 5000}, {"id": "b"}]);
    let server = Server::start(move |_, request| match request.line.as_str() {
        "GET /v1/models" => models(rows.clone()),
        _ => Reply::text("Done."),
    });
    let local = format!(r#"{{"baseUrl": "{}", "model": "small"}}"#, server.url());
    let gone = r#"{"dialect": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "GONE_KEY"}"#;
    let place = Place::new().settings(&format!(r#"{{"providers": {{"here": {local}, "gone": {gone}}}}}"#));
    let ran = place.run(&["providers"]);
    let line = |name: &str| ran.stdout.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words("here"), "here small answers, models: 2", "{}", ran.stderr);
    assert_eq!(words("gone"), "gone no model set not set up: set GONE_KEY, or run `rsagent config set-key gone`");
    assert_eq!(
        words("anthropic"),
        "anthropic claude-sonnet-5-5 not set up: set ANTHROPIC_API_KEY, or run `rsagent config set-key anthropic`"
    );
    assert_eq!(words("mock"), "mock mock ready");
    assert_eq!(ran.code, Some(0));
    // What it says of its models holds from now on: of 5,000 tokens an answer has half at most.
    let kept = std::fs::read_to_string(place.home().join(".rsagent/models/here.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), json!({"small": {"contextWindow": 5000}}));
    place.run(&["-p", "look", "--provider", "here"]);
    assert_eq!(server.requests().last().unwrap().body["max_tokens"], 2500);
}

/// Thinking is signed by one model for itself: a change of the provider leaves it out before the first
/// request, and the calls and words stay.
#[test]
fn thinking_signature_6b94a3() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}});
    let server = Server::script(vec![
        Reply::message(&[thinking, call], "tool_use"),
        Reply::text("alpha"),
        Reply::text("still alpha"),
        Reply::text("beta"),
    ]);
    let other = format!(r#"{{"providers": {{"other": {{"baseUrl": "{}", "model": "m"}}}}}}"#, server.url());
    let place = place(&server).settings(&other).with("a.txt", "alpha\n");
    let ran =
        place.run_with_stdin(&["--interactive"], "look\n/model claude-opus-5-5\nagain\n/model other\nonce more\n");
    let requests = server.requests();
    let thoughts: Vec<usize> =
        requests.iter().map(|request| request.body["messages"].to_string().matches("c2ln").count()).collect();
    // Opus 5.5 cannot read what Sonnet 5.5 thought either.
    assert_eq!(thoughts, [0, 1, 0, 0], "{}", ran.stdout);
    assert_eq!(requests[3].body["model"], "m");
    assert!(requests[3].body["messages"].to_string().contains("\"t1\""));
    assert!(ran.stdout.contains("the thinking of claude-sonnet-5-5 is left out from now on"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Model: other/m"), "{}", ran.stdout);
    assert!(ran.stdout.contains("beta"), "{}", ran.stdout);
}

/// The other way round: what DeepSeek wants back was never thought, so it is told not to think.
#[test]
fn deepseek_reasoning_replay_6efa74() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}});
    let server =
        Server::script(vec![Reply::message(&[call], "tool_use"), Reply::text("alpha"), Reply::text("still alpha")]);
    let deepseek = format!(r#"{{"providers": {{"deepseek": {{"baseUrl": "{}"}}}}}}"#, server.url());
    let place = place(&server).settings(&deepseek).env("DEEPSEEK_API_KEY", "sk-deep").with("a.txt", "alpha\n");
    let ran = place.run_with_stdin(&["--interactive"], "look\n/model deepseek/deepseek-v4-pro\nagain\n");
    let last = &server.requests()[2];
    assert_eq!(last.body["thinking"], json!({"type": "disabled"}), "{}", ran.stdout);
    assert_eq!(last.header("x-api-key"), Some("sk-deep"));
    assert!(ran.stdout.contains("still alpha"), "{}", ran.stdout);
}
