//! Known failures at the boundary to a model, played with the real binary, each by the id of its case
//! and with its own bytes where it has some.
//!
//! Policy: a failure that passes ends the process with 75, any other with 1; a call that came whole is
//! answered whatever the reason to stop; of a call that was cut nothing runs, and the model is told.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Reply, Request, Server, cases};

use super::support::{Events, Place};

fn place(server: &Server) -> Place {
    Place::new().env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", &server.url())
}

fn case(id: &str) -> Reply {
    Reply::stream(&cases::body(id))
}

/// A prompt in which everything is allowed, against these answers; at its end all were given.
fn played(place: impl FnOnce(&Server) -> Place, replies: Vec<Reply>) -> (Place, Events, Vec<Request>) {
    let count = replies.len();
    let server = Server::script(replies);
    let place = place(&server);
    let events = place.events(&["--mode", "bypassPermissions"], "go");
    let requests = server.requests();
    assert_eq!((events.code, requests.len()), (Some(0), count), "{:#?}", events.outline());
    (place, events, requests)
}

fn content(request: &Request, message: usize) -> Vec<Value> {
    let messages = testkit::validate::without_marks(&request.body["messages"]);
    messages[message]["content"].as_array().unwrap().clone()
}

/// Id, whether it failed, and text of each result in a message.
fn results(request: &Request, message: usize) -> Vec<(String, bool, String)> {
    let blocks = content(request, message);
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    let word = |block: &Value, field: &str| block[field].as_str().unwrap().to_owned();
    results.map(|block| (word(block, "tool_use_id"), block["is_error"] == true, word(block, "content"))).collect()
}

#[test]
fn content_args_type_ddc4e3() {
    let inputs = [
        ("Read", json!({"file_path": 123}), "file_path"),
        ("Read", json!({"file_path": null}), "file_path"),
        ("Read", json!({"file_path": ["a.txt"]}), "file_path"),
        ("Read", json!({"file_path": "a.txt", "limit": "ten"}), "limit"),
        ("Read", json!({"file_path": "a.txt", "offset": {"from": 1}}), "offset"),
        ("Write", json!({"file_path": "b.txt", "content": {"a": 1}}), "content"),
        ("Write", json!({"file_path": {"path": "b.txt"}, "content": "x"}), "file_path"),
        ("Bash", json!({"command": ["ls"]}), "command"),
        ("Bash", json!({"command": "ls", "timeout": "soon"}), "timeout"),
        ("Agent", json!({"subagent_type": 7, "prompt": "x", "description": "y"}), "subagent_type"),
        ("Agent", json!({"subagent_type": "general", "prompt": true, "description": "y"}), "prompt"),
        ("Grep", json!({"pattern": "x", "glob": ["*.rs"]}), "no tool `Grep`"),
        // Not even an object.
        ("Bash", json!("ls"), "must be a JSON object"),
        ("Bash", json!(["ls"]), "must be a JSON object"),
    ];
    let call = |(number, (name, input, _)): (usize, &(&str, Value, &str))| json!({"type": "tool_use", "id": format!("t{number}"), "name": name, "input": input});
    let calls: Vec<Value> = inputs.iter().enumerate().map(call).collect();
    let replies = || vec![Reply::message(&calls, "tool_use"), Reply::text("I see.")];
    let (placed, events, requests) = played(|server| place(server).with("a.txt", "alpha\n"), replies());
    let seen = results(&requests[1], 2);
    assert_eq!(seen.len(), inputs.len());
    for (number, ((id, failed, text), (name, input, field))) in seen.iter().zip(&inputs).enumerate() {
        assert_eq!((id, *failed), (&format!("t{number}"), true), "{name}({input}): {text}");
        assert!(text.contains(field), "{name}({input}): {text}");
    }
    assert_eq!(events.of("tool_start").count(), 0);
    assert!(!placed.has("b.txt"));
    // A terminal shows all of it, and the session goes on.
    let server = Server::script([replies(), vec![Reply::text("And on.")]].concat());
    let ran = place(&server).run_with_stdin(&["--interactive"], "go\nmore\n");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("I see.") && ran.stdout.contains("And on."), "{}", ran.stdout);
}

#[test]
fn content_args_type_3922e2() {
    let (_, _, requests) = played(place, vec![case("content-args-type-3922e2"), Reply::text("I see.")]);
    assert_eq!(content(&requests[1], 1)[0]["input"], json!({}));
    let (id, failed, text) = results(&requests[1], 2).remove(0);
    assert_eq!((id.as_str(), failed), ("toolu_n0", true));
    assert!(text.contains("missing field `file_path`"), "{text}");
}

#[test]
fn content_thinking_only_c87bc2() {
    let silent = || case("content-thinking-only-c87bc2");
    let (_, events, _) = played(place, vec![silent(), Reply::text("Here.")]);
    assert_eq!(events.of("notice").count(), 0);
    let server = Server::script(vec![silent(), silent()]);
    let ran = place(&server).run(&["-p", "go"]);
    assert_eq!((ran.stdout.as_str(), server.requests().len()), ("", 2));
    assert_eq!(ran.stderr, "rsagent: the model ended without an answer\n");
}

/// Whatever byte a bound falls on, what is sent is whole characters.
#[test]
fn content_lone_surrogate_0cea6c() {
    let commands = ["", "x", "xx", "xxx"].map(|start| format!("printf {start:?}; printf '😀%.0s' $(seq 1 60000)"));
    let calls: Vec<Value> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| {
            json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": command}})
        })
        .collect();
    let (_, _, requests) = played(place, vec![Reply::message(&calls, "tool_use"), Reply::text("Many.")]);
    let seen = results(&requests[1], 2);
    assert_eq!(seen.len(), 4);
    for (_, failed, text) in seen {
        assert!(!failed && text.len() < 200_000 && text.contains("😀😀"), "{} bytes", text.len());
        assert!(!text.contains('\u{fffd}'), "half a character");
    }
}

#[test]
fn pairing_stop_reason_trust_5e9247() {
    let (_, _, requests) = played(place, vec![case("pairing-stop-reason-trust-5e9247"), Reply::text("Done.")]);
    let called = json!({"type": "tool_use", "id": "toolu_m1", "name": "Read", "input": {"path": "a"}});
    assert_eq!(content(&requests[1], 1), [json!({"type": "text", "text": "Reading."}), called]);
    let (id, failed, text) = results(&requests[1], 2).remove(0);
    assert_eq!((id.as_str(), failed), ("toolu_m1", true));
    assert!(text.contains("path"), "{text}");
}

#[test]
fn pairing_duplicate_ids_9b2d9c() {
    let (_, events, requests) = played(place, vec![case("pairing-duplicate-ids-9b2d9c"), Reply::text("Done.")]);
    let calls: Vec<(Value, Value)> = content(&requests[1], 1)
        .into_iter()
        .map(|block| (block["id"].clone(), block["input"]["path"].clone()))
        .collect();
    let pair = |id: &str, path: &str| (json!(id), json!(path));
    assert_eq!(calls, [pair("edit_22", "a"), pair("edit_22_2", "b")]);
    let answered: Vec<String> = results(&requests[1], 2).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(answered, ["edit_22", "edit_22_2"]);
    let told: Vec<&Value> = events.of("tool_result").map(|event| &event["id"]).collect();
    assert_eq!(told, [&json!("edit_22"), &json!("edit_22_2")]);
}

#[test]
fn stream_midstream_error_1d8272() {
    let (placed, events, requests) = played(place, vec![case("stream-midstream-error-1d8272"), Reply::text("Again.")]);
    assert!(!placed.has("ran.flag"));
    assert_eq!(requests[0].body["messages"], requests[1].body["messages"]);
    assert_eq!((events.of("tool_start").count(), events.of("assistant").count()), (0, 1));
    assert_eq!(events.of("retry").next().unwrap()["void"], true);
}

#[test]
fn stream_midstream_error_5c448d() {
    let (_, events, requests) = played(place, vec![case("stream-midstream-error-5c448d"), Reply::text("Again.")]);
    assert_eq!(requests[0].body["messages"], requests[1].body["messages"]);
    let retry = events.of("retry").next().unwrap();
    assert_eq!((&retry["void"], events.of("assistant").count()), (&json!(false), 1));
    assert!(retry["reason"].as_str().unwrap().contains("429 rate_limit_error: slow down"), "{retry}");
}

#[test]
fn stream_redacted_thinking_54d7fd() {
    let (_, _, requests) = played(place, vec![case("stream-redacted-thinking-54d7fd"), Reply::text("Done.")]);
    let bytes = String::from_utf8(requests[1].bytes.clone()).unwrap();
    let replayed = r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"AAEC"},{"type":"tool_use","id":"toolu_r1""#;
    assert!(bytes.contains(replayed), "{bytes}");
}

const WRITE: &str = r#"{"file_path": "a.txt", "content": "line 1\nline 2\nli"#;

/// A stream that writes half a call and stops for this reason.
fn half_a_write(reason: &str) -> Reply {
    let begun = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "t1", "name": "Write", "input": {}}});
    let piece = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": WRITE}});
    let whole = testkit::reply::sse(&[], reason, 1000, 20);
    let at = whole.find("event: message_delta").unwrap();
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let stop = json!({"type": "content_block_stop", "index": 0});
    Reply::stream(&format!("{}{}{}{}{}", &whole[..at], event(&begun), event(&piece), event(&stop), &whole[at..]))
}

#[test]
fn truncation_max_tokens_json_b9bf9f() {
    let good = "a good line\n".repeat(200);
    let with_file = |server: &Server| place(server).with("a.txt", &good);
    // First with more room, then in smaller steps, and it is said why.
    let replies = vec![half_a_write("max_tokens"), half_a_write("max_tokens"), Reply::text("Smaller then.")];
    let (placed, events, requests) = played(with_file, replies);
    assert_eq!(placed.read("a.txt"), good);
    let limits: Vec<u64> = requests.iter().map(|request| request.body["max_tokens"].as_u64().unwrap()).collect();
    assert!(limits[1] > limits[0] && limits[2] == limits[1], "{limits:?}");
    let said = content(&requests[2], 0);
    let told = said.last().unwrap()["text"].as_str().unwrap();
    assert!(told.contains("was cut at the output limit") && told.contains("smaller steps"), "{told}");
    assert_eq!(events.of("tool_start").count() + events.of("tool_result").count(), 0);
    // A gateway that hides the reason: the call is answered, as cut, and nothing of it runs.
    for reason in ["tool_use", "end_turn"] {
        let (placed, events, requests) = played(with_file, vec![half_a_write(reason), Reply::text("Again then.")]);
        assert_eq!(placed.read("a.txt"), good);
        assert_eq!(events.of("tool_start").count(), 0);
        let (_, failed, text) = results(&requests[1], 2).remove(0);
        assert!(failed && text.contains("was cut before its end"), "{text}");
    }
}

#[test]
fn truncation_context_window_stop_c0929e() {
    let long = "many words that were said before. ".repeat(400);
    let said = |text: &str, request: &Request| {
        let tokens = request.bytes.len() as u64 / 4;
        Reply::message_using(&[json!({"type": "text", "text": text})], "end_turn", tokens, 10)
    };
    let server = Server::start(move |number, request| match number {
        0 => said("I listen.", request),
        1 => case("truncation-context-window-stop-c0929e"),
        2 => said("They said many words.", request),
        _ => said("Here I am.", request),
    });
    let ran = place(&server).run_with_stdin(&["--interactive"], &format!("{long}\ngo on\n"));
    assert!(ran.stdout.contains("Here I am."), "{}", ran.stdout);
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    let last = requests[3].body["messages"].to_string();
    assert!(last.contains("They said many words.") && last.contains("go on") && !last.contains("toolu_c1"), "{last}");
}

#[test]
fn retry_non_retryable_2a2efa() {
    /// An answer for ever, the exit code, and how many requests it costs.
    type Row = (fn() -> Reply, i32, usize);
    let table: [Row; 7] = [
        (|| Reply::error(401, "authentication_error", "invalid x-api-key"), 1, 1),
        (|| Reply::error(403, "permission_error", "no"), 1, 1),
        (|| Reply::error(400, "invalid_request_error", "no"), 1, 1),
        (|| Reply::error(404, "not_found_error", "model: x"), 1, 1),
        (|| Reply::error(529, "overloaded_error", "Overloaded").header("retry-after", "0"), 75, 2),
        (|| Reply::error(429, "rate_limit_error", "slow down").header("retry-after", "0"), 75, 2),
        (|| case("stream-midstream-error-1d8272"), 75, 2),
    ];
    for (reply, code, count) in table {
        let shown = reply();
        let server = Server::start(move |_, _| reply());
        let place = place(&server).env("RSAGENT_MAX_RETRIES", "1");
        let ran = place.run(&["-p", "go", "--output-format", "json"]);
        assert_eq!((ran.code, server.requests().len()), (Some(code), count), "{shown:?}");
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        let marks = (&result["is_error"], &result["subtype"]);
        assert_eq!(marks, (&json!(true), &json!("error_during_execution")));
        assert!(result["result"].as_str().unwrap().starts_with("anthropic ("), "{result}");
        assert_eq!(place.run(&["-p", "go"]).code, Some(code));
        let events = place.events(&[], "go");
        let notice = events.of("notice").next().unwrap();
        assert_eq!((events.code, &notice["data"]["transient"]), (Some(code), &json!(code == 75)));
    }
}

/// An agent of our own is the one tool so far that is answered by a model: what fails there is no report.
#[test]
fn retry_tool_error_text_24d647() {
    let input = json!({"subagent_type": "explore", "prompt": "look", "description": "look"});
    let (_, events, requests) = played(
        |server| place(server).env("RSAGENT_MAX_RETRIES", "0"),
        vec![
            Reply::call("a", "Agent", input),
            Reply::error(529, "overloaded_error", "Overloaded"),
            Reply::text("It is overloaded."),
        ],
    );
    let (_, failed, text) = results(&requests[2], 2).remove(0);
    assert!(failed && text.contains("the agent did not finish") && text.contains("529"), "{text}");
    assert_eq!(events.of("tool_result").next().unwrap()["is_error"], true);
}

#[test]
fn context_compaction_lost_1176b5() {
    let server = Server::start(|number, request| {
        assert!(number < 10, "it goes in circles");
        let messages = request.body["messages"].as_array().unwrap();
        if messages.iter().any(|message| message.to_string().contains("SUMMARIZE_CONTEXT")) {
            return Reply::text("It was read.");
        }
        let last = messages.last().unwrap()["content"].as_array().unwrap().last().unwrap();
        match last["text"].as_str() {
            Some("first") if messages.len() == 1 && !messages[0].to_string().contains("summarised") => {
                Reply::call("t1", "Read", json!({"file_path": "a.txt"}))
            }
            Some("second") => Reply::text("Two."),
            Some("third") => Reply::text("Three."),
            // The summary, with what was asked for in it.
            _ => Reply::text("One."),
        }
    });
    let lines = "a line that is long enough to count for something\n".repeat(300);
    let place = place(&server).with("a.txt", &lines).env("RSAGENT_COMPACT_THRESHOLD", "2000");
    let ran = place.run_with_stdin(&["--interactive"], "first\nsecond\nthird\n");
    let at = |word: &str| ran.stdout.find(word).unwrap_or_else(|| panic!("no {word} in {}", ran.stdout));
    assert!(at("One.") < at("Two.") && at("Two.") < at("Three."), "{}", ran.stdout);
    let sent = server.requests();
    let summaries = sent.iter().filter(|request| request.body["messages"].to_string().contains("SUMMARIZE_CONTEXT"));
    assert_eq!((summaries.count(), sent.len()), (1, 5));
    let last = sent[4].body["messages"].to_string();
    assert_eq!((last.matches("second").count(), last.matches("third").count()), (1, 1), "{last}");
}

#[test]
fn sse_utf8_split_df9d39() {
    let text = r#"{"text":"日本"}"#;
    for at in (0..text.len()).filter(|at| !text.is_char_boundary(*at)) {
        let server = Server::script(vec![Reply::text("One."), Reply::text("Two.")]);
        let place = place(&server);
        let mut child = place.command(&["--interactive"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (first, second) = text.as_bytes().split_at(at);
        stdin.write_all(&[b"one\n", first].concat()).unwrap();
        stdin.flush().unwrap();
        // The rest comes when the first line has long been read, and half a character with it.
        while server.requests().is_empty() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before it asked");
            std::thread::yield_now();
        }
        stdin.write_all(&[second, b"\n"].concat()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("Two."));
        assert_eq!(content(&server.requests()[1], 2), [json!({"type": "text", "text": text})]);
    }
}
