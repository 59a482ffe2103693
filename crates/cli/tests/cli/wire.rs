//! The real binary against a double of the Messages API on loopback.

use serde_json::{Value, json};
use testkit::validate::without_marks;
use testkit::{Reply, Request, Server};

use super::support::Place;

fn place(server: &Server) -> Place {
    Place::new().env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", &server.url())
}

fn read(id: &str, path: &str) -> Reply {
    Reply::call(id, "Read", json!({"file_path": path}))
}

#[test]
fn the_request_is_what_the_api_expects() {
    let server = Server::script(vec![read("toolu_1", "a.txt"), Reply::text("Done.")]);
    let place = place(&server).with("a.txt", "alpha\n");
    let ran = place.run(&["-p", "look"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("Done.\n", Some(0)), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(server.connections(), 1, "the connection is used again");

    let first = &requests[0];
    assert_eq!(first.line, "POST /v1/messages");
    let header = |name| first.header(name).unwrap_or("-");
    assert_eq!(header("x-api-key"), "sk-test");
    assert_eq!(header("anthropic-version"), "2023-06-01");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("content-length"), first.bytes.len().to_string());
    assert_eq!(first.header("transfer-encoding"), None);

    let body = &first.body;
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "max_tokens", "thinking", "system", "tools", "messages", "stream"]);
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["stream"]),
        (&json!("claude-sonnet-5-5"), &json!(32_000), &json!(true))
    );
    assert_eq!(body["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    let mark = json!({"type": "ephemeral"});
    let system = body["system"].as_array().unwrap();
    assert_eq!(system.len(), 2);
    assert_eq!(system[0]["cache_control"], mark);
    assert!(system[0]["text"].as_str().unwrap().starts_with("You are rsagent"));
    assert!(system[1]["text"].as_str().unwrap().starts_with("# Environment"));
    let tools = body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Read", "Write", "Bash", "Agent"]);
    assert_eq!(tools[3]["cache_control"], mark);
    for tool in tools {
        assert_eq!(tool["input_schema"]["type"], "object");
        assert!(tool["input_schema"].get("$schema").is_none());
    }
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [
            {"type": "text", "text": "look", "cache_control": mark}]}])
    );
    assert_eq!(
        requests[1].body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": mark}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read",
                "input": {"file_path": "a.txt"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
                "content": "1\talpha", "cache_control": mark}]},
        ])
    );
    assert_eq!(body["system"], requests[1].body["system"]);
    assert_eq!(body["tools"], requests[1].body["tools"]);
}

#[test]
fn deepseek_and_settings_providers_speak_through_the_same_code() {
    let server = Server::script(vec![Reply::text("Hi."), Reply::text("Hi."), Reply::text("Hi.")]);
    let settings = json!({"providers": {
        "deepseek": {"dialect": "anthropic", "baseUrl": format!("{}/anthropic", server.url()),
            "apiKeyEnv": "DEEPSEEK_API_KEY", "model": "deepseek-flash"},
        "local": {"dialect": "anthropic", "baseUrl": server.url(), "model": "tiny"}}});
    let place = Place::new().env("DEEPSEEK_API_KEY", "ds-key").settings(&settings.to_string());
    assert_eq!(place.run(&["-p", "hi"]).code, Some(0));
    assert_eq!(place.run(&["-p", "hi", "--model", "deepseek-v4-pro"]).code, Some(0));
    assert_eq!(place.run(&["-p", "hi", "--provider", "local"]).code, Some(0));
    let seen: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            let model = request.body["model"].as_str().unwrap().to_owned();
            (request.line.clone(), request.header("x-api-key").map(str::to_owned), model)
        })
        .collect();
    let key = Some("ds-key".to_owned());
    assert_eq!(
        seen,
        [
            ("POST /anthropic/v1/messages".to_owned(), key.clone(), "deepseek-flash".to_owned()),
            ("POST /anthropic/v1/messages".to_owned(), key, "deepseek-v4-pro".to_owned()),
            ("POST /v1/messages".to_owned(), None, "tiny".to_owned()),
        ]
    );
}

#[test]
fn a_token_is_sent_as_bearer() {
    let server = Server::script(vec![Reply::text("Hi.")]);
    let place = Place::new()
        .env("ANTHROPIC_AUTH_TOKEN", "tok")
        .env("ANTHROPIC_MODEL", "claude-x")
        .env("ANTHROPIC_BASE_URL", &server.url());
    assert_eq!(place.run(&["-p", "hi"]).stdout, "Hi.\n");
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer tok"));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.body["model"], "claude-x");
}

#[test]
fn a_stream_split_at_every_byte_gives_the_same_answer() {
    let content = [
        json!({"type": "text", "text": "读 a.txt 🙂"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read",
            "input": {"file_path": "a.txt"}}),
    ];
    let length = Reply::message(&content, "tool_use").len();
    // Each answer is split at one offset and calls a tool, so that the next is asked for. A prompt of
    // few turns keeps the history short that every request carries.
    const TURNS: usize = 60;
    for first in (0..length).step_by(TURNS) {
        let turns = TURNS.min(length - first);
        let content = content.clone();
        let server = Server::start(move |number, _| {
            if number >= turns {
                return Reply::text("fertig 🙂");
            }
            let mut content = content.clone();
            content[1]["id"] = json!(format!("toolu_{number}"));
            Reply::message(&content, "tool_use").split_at(&[(first + number).min(length)])
        });
        let place = place(&server).with("a.txt", "alpha\n").env("RSAGENT_COMPACT_THRESHOLD", "100000000");
        let events = place.events(&[], "go");
        assert_eq!(events.code, Some(0));
        let answers: Vec<&Value> = events.of("assistant").collect();
        assert_eq!(answers.len(), turns + 1);
        for answer in &answers[..turns] {
            assert_eq!(answer["message"]["content"][0]["text"], "读 a.txt 🙂");
            assert_eq!(answer["message"]["content"][1]["input"], json!({"file_path": "a.txt"}));
        }
        assert_eq!(events.of("retry").count(), 0);
    }
}

#[test]
fn every_byte_by_itself() {
    let reply = Reply::text("你好 🙂 fin");
    let offsets: Vec<usize> = (1..reply.len()).collect();
    let server = Server::script(vec![reply.split_at(&offsets)]);
    assert_eq!(place(&server).run(&["-p", "hi"]).stdout, "你好 🙂 fin\n");
}

#[test]
fn too_many_requests_and_overload_are_waited_out() {
    let server = Server::script(vec![
        Reply::error(429, "rate_limit_error", "slow down").header("retry-after", "0"),
        Reply::stream(
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\
             \"message\":\"Overloaded\"}}\n\n",
        ),
        Reply::error(529, "overloaded_error", "Overloaded").header("retry-after", "0"),
        Reply::text("At last."),
    ]);
    let events = place(&server).events(&[], "hi");
    let outline = events.outline();
    assert_eq!(
        outline[2..],
        [
            "turn 1",
            "retry 1 void=false",
            "retry 2 void=false",
            "retry 3 void=false",
            "text …",
            "assistant text",
            "usage",
            "terminal completed"
        ]
    );
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn retries_are_bounded_and_the_error_says_what_happened() {
    let server = Server::start(|_, _| Reply::error(529, "overloaded_error", "Overloaded").header("retry-after", "0"));
    let ran = place(&server).run(&["-p", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(75), ""));
    assert_eq!(server.requests().len(), 7);
    assert!(ran.stderr.contains("529") && ran.stderr.contains("overloaded"), "{}", ran.stderr);
}

#[test]
fn a_stream_that_breaks_after_its_first_delta_is_void_and_asked_for_again() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\
                      \"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let whole = testkit::reply::sse(&[json!({"type": "text", "text": "half done"})], "end_turn", 1, 1);
    let upto = whole.find("event: content_block_stop").unwrap();
    let in_the_middle = format!("{}{overloaded}", &whole[..upto]);
    let server = Server::script(vec![
        Reply::stream(&in_the_middle),
        Reply::text("half done").cut_after(upto),
        Reply::text("All done."),
    ]);
    let events = place(&server).events(&[], "hi");
    assert_eq!(
        events.outline()[2..],
        [
            "turn 1",
            "text …",
            "usage",
            "retry 1 void=true",
            "text …",
            "usage",
            "retry 2 void=true",
            "text …",
            "assistant text",
            "usage",
            "terminal completed"
        ]
    );
    let answer = events.of("assistant").next().unwrap();
    assert_eq!(answer["message"]["content"][0]["text"], "All done.");
}

#[test]
fn two_hundred_turns_extend_one_history() {
    let server = Server::start(|number, _| match number {
        ..200 => read(&format!("toolu_{number}"), "a.txt"),
        _ => Reply::text("Read it 200 times."),
    });
    let place = place(&server).with("a.txt", "alpha\n").env("RSAGENT_COMPACT_THRESHOLD", "100000000");
    let ran = place.run(&["-p", "go", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&result["num_turns"], ran.code), (&json!(201), Some(0)));
    let requests = server.requests();
    let messages = |request: &Request| without_marks(&request.body["messages"]);
    for pair in requests.windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        assert_eq!(after.len(), before.len() + 2);
        assert!(after.starts_with(before), "history was edited");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn one_prompt_with_three_hundred_turns_is_compacted_on_its_way() {
    // The double counts tokens as the API would: the body's bytes / 4.
    let server = Server::start(|number, request| {
        let input = request.bytes.len() as u64 / 4;
        let text = |text: &str| json!({"type": "text", "text": text});
        if request.body["messages"].to_string().contains("SUMMARIZE_CONTEXT") {
            return Reply::message_using(&[text("Reading a.txt many times.")], "end_turn", input, 10);
        }
        let call = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "Read",
            "input": {"file_path": "a.txt"}});
        match number {
            ..300 => Reply::message_using(&[call], "tool_use", input, 10),
            _ => Reply::message_using(&[text("Done.")], "end_turn", input, 5),
        }
    });
    let lines = "a line that is long enough to count for something\n".repeat(20);
    let place = place(&server).with("a.txt", &lines).env("RSAGENT_COMPACT_THRESHOLD", "20000");
    let events = place.events(&[], "read it again and again, and mind the WATCHWORD");
    assert_eq!(events.code, Some(0), "{:?}", events.outline().last());
    let compacted = events.of("compact").count();
    assert!(compacted >= 3, "{compacted}");
    let mut largest = 0;
    for request in server.requests() {
        let messages = request.body["messages"].as_array().unwrap();
        largest = largest.max(request.body["messages"].to_string().len() / 4);
        assert!(messages[0].to_string().contains("WATCHWORD"), "the request is lost: {}", messages[0]);
    }
    assert!(largest < 22_000, "{largest}");
    assert_eq!(events.of("notice").count(), 0);
}

fn block_types(message: &Value) -> Vec<&str> {
    message["content"].as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect()
}

#[test]
fn a_prompt_after_a_failed_one_goes_on_from_a_whole_history() {
    let server = Server::script(vec![
        read("toolu_1", "a.txt"),
        Reply::error(400, "invalid_request_error", "no"),
        Reply::text("Good."),
    ]);
    let place = place(&server).with("a.txt", "alpha\n");
    let ran = place.run_with_stdin(&["--interactive"], "read\nonce more\n");
    assert!(ran.stdout.contains("the conversation is kept"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Good."), "{}", ran.stdout);
    // The double refuses a history in which a call is not answered.
    assert_eq!(server.requests().len(), 3);
    let sent = &server.requests()[2].body["messages"];
    let types: Vec<Vec<&str>> = sent.as_array().unwrap().iter().map(block_types).collect();
    assert_eq!(types, [vec!["text"], vec!["tool_use"], vec!["tool_result", "text"]]);
}
