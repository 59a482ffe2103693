//! What goes wrong on the way to a model or in its calls: one sentence that says what to do, or a
//! result that the model can read.

use serde_json::{Value, json};
use testkit::{Reply, Server};

use super::support::Place;

fn keyed(url: &str) -> Place {
    Place::new().env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", url)
}

/// Every fault before the first token: exit 1, nothing on standard output, one line that names the
/// thing and the remedy, and no secret.
#[test]
fn one_sentence_that_says_what_to_do() {
    let server = Server::start(|_, request| match request.body["model"].as_str().unwrap() {
        "wrong-key" => Reply::error(401, "authentication_error", "invalid x-api-key"),
        "no-such-model" => Reply::error(404, "not_found_error", "model: no-such-model"),
        _ => Reply::error(402, "billing_error", "credit balance is too low"),
    });
    let url = server.url();
    // A port that was free a moment ago.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    let table: [(Place, &[&str], &[&str]); 7] = [
        (Place::new(), &["--provider", "anthropic"], &["ANTHROPIC_API_KEY"]),
        (Place::new(), &["--provider", "deepseek"], &["DEEPSEEK_API_KEY"]),
        (Place::new(), &["--provider", "nobody"], &["nobody", "anthropic", "deepseek", "mock"]),
        (keyed(&url), &["--model", "wrong-key"], &["ANTHROPIC_API_KEY", "invalid x-api-key"]),
        (keyed(&url), &["--model", "no-such-model"], &["no-such-model", "--model"]),
        (keyed(&url), &["--model", "poor"], &["credit balance is too low"]),
        (keyed(&closed), &["--model", "m"], &[&closed[7..]]),
    ];
    for (place, flags, words) in table {
        let arguments: Vec<&str> = ["-p", "hi"].iter().chain(flags).copied().collect();
        let ran = place.run(&arguments);
        // A name that nobody knows is wrong usage; the rest is what the world is like.
        let code = if flags == ["--provider", "nobody"] { 2 } else { 1 };
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{flags:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{flags:?}: no {word:?} in {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("sk-test"), "{}", ran.stderr);
    }
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let place = Place::new().settings("{\n  \"permissions\": {\"allow\": 1}\n}");
    let ran = place.run(&["-p", "hi"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(".rsagent/settings.json:2:28: `permissions.allow`: invalid type"), "{}", ran.stderr);
    let place = Place::new().env("RSAGENT_COMPACT_THRESHOLD", "many");
    let ran = place.run(&["-p", "hi"]);
    assert!(ran.stderr.contains("RSAGENT_COMPACT_THRESHOLD=many"), "{}", ran.stderr);
    for (flag, value) in [("--add-dir", "nowhere"), ("--allowed-tools", "Bash(")] {
        let ran = Place::new().run(&["-p", "hi", "--output-format", "json", flag, value]);
        assert!(ran.stderr.contains(value), "{}", ran.stderr);
        assert_eq!(ran.code, Some(2));
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&result["type"], &result["is_error"]), (&json!("result"), &json!(true)));
    }
    let misspelt = Place::new().settings(r#"{"permissions": {"deny": ["Reed(.env)"], "dney": []}}"#);
    let ran = misspelt.run(&["-p", "hi", "--provider", "mock"]);
    assert_eq!(ran.code, Some(0));
    let file = misspelt.home().join(".rsagent/settings.json");
    let expected = format!(
        "rsagent: {}: `permissions.dney` means nothing to this version\n\
         rsagent: rule Reed(.env) (user settings) names no tool; the tools are Read, Write, Bash, Agent, and Edit in rules\n",
        file.display()
    );
    assert_eq!(ran.stderr, expected);
}

#[test]
fn calls_that_cannot_run_are_answered_and_the_loop_goes_on() {
    let calls = [
        json!({"type": "tool_use", "id": "t1", "name": "Fly", "input": {}}),
        json!({"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": 123}}),
        json!({"type": "tool_use", "id": "t3", "name": "Bash", "input": {}}),
        json!({"type": "tool_use", "id": "t4", "name": "Bash", "input": {"command": "touch x"}}),
        json!({"type": "tool_use", "id": "t5", "name": "Read", "input": {"file_path": "none.txt"}}),
        json!({"type": "tool_use", "id": "t5", "name": "Read", "input": {"file_path": "a.txt"}}),
    ];
    let server = Server::script(vec![Reply::message(&calls, "tool_use"), Reply::text("I see.")]);
    let place = keyed(&server.url()).with("a.txt", "alpha\n");
    let events = place.events(&[], "go");
    assert_eq!(events.code, Some(0));
    let requests = server.requests();
    let results = requests[1].body["messages"][2]["content"].as_array().unwrap();
    let seen: Vec<(&str, bool, &str)> = results
        .iter()
        .map(|result| {
            let text = result["content"].as_str().unwrap();
            (result["tool_use_id"].as_str().unwrap(), result["is_error"] == true, text)
        })
        .collect();
    let expected = [
        ("t1", true, "there is no tool `Fly`; the tools are: Read, Write, Bash, Agent"),
        ("t2", true, "file_path"),
        ("t3", true, "command"),
        ("t4", true, "permission denied"),
        ("t5", true, "none.txt"),
        ("t5_2", false, "1\talpha"),
    ];
    for ((id, failed, text), (expected_id, expected_failed, words)) in seen.iter().zip(expected) {
        assert_eq!((*id, *failed), (expected_id, expected_failed));
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(seen.len(), expected.len());
    // What cannot run never starts.
    let started: Vec<&Value> = events.of("tool_start").map(|event| &event["id"]).collect();
    assert_eq!(started, [&json!("t5"), &json!("t5_2")]);
}

/// A consumer that reads nothing while a command floods: the command ends all the same, memory stays
/// bounded, and what is read later is in order and whole.
#[cfg(target_os = "linux")]
#[test]
fn a_consumer_that_stops_reading_stops_nothing_but_the_loop() {
    use std::io::Read;
    let flood = "yes 0123456789 | head -c 200000000; touch done";
    let server = Server::script(vec![Reply::call("t1", "Bash", json!({"command": flood})), Reply::text("Flooded.")]);
    let place = keyed(&server.url());
    let arguments = ["-p", "go", "--output-format", "events", "--mode", "bypassPermissions"];
    let mut child = place.command(&arguments).spawn().unwrap();
    while !place.has("done") {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before the command did");
        std::thread::yield_now();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 100_000, "{peak}");
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    let without: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| !kind.ends_with("_delta") && *kind != "tool_progress").collect();
    assert_eq!(
        without,
        [
            "init",
            "user",
            "turn_start",
            "assistant",
            "usage",
            "tool_start",
            "tool_result",
            "turn_start",
            "assistant",
            "usage",
            "terminal"
        ]
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
