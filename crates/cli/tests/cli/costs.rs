//! What a session costs and what happens at its limit. One model, claude-sonnet-5-5: 2 dollars for a
//! million tokens in, 10 out.

use serde_json::{Value, json};
use testkit::{Reply, Request, Server};

use super::support::{Place, Ran};

fn place(server: &Server) -> Place {
    Place::new().env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", &server.url())
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{} {}", ran.stdout, ran.stderr))
}

fn dollars(object: &Value) -> String {
    format!("{:.6}", object["total_cost_usd"].as_f64().unwrap())
}

#[test]
fn the_result_says_what_it_cost() {
    let read = call("t1", "Read", json!({"file_path": "a.txt"}));
    let server = Server::script(vec![
        Reply::message_using(&[read], "tool_use", 1000, 20),
        Reply::message_using(&[text("Done.")], "end_turn", 2000, 30),
    ]);
    let place = place(&server).with("a.txt", "alpha\n");
    let object = object(&place.run(&["-p", "look", "--output-format", "json"]));
    assert_eq!((object["result"].as_str(), dollars(&object).as_str()), (Some("Done."), "0.006500"));
    // Of a model without a price tokens alone are told, never a guess.
    let server = Server::script(vec![Reply::text("Done.")]);
    let place = self::place(&server);
    let ran = place.run(&["-p", "look", "--output-format", "json", "--model", "claude-next"]);
    let object = self::object(&ran);
    assert_eq!((&object["total_cost_usd"], &object["usage"]["input_tokens"]), (&Value::Null, &json!(1000)));
}

#[test]
fn the_talk_tells_tokens_and_cost() {
    let server = Server::script(vec![Reply::text("Done.")]);
    let place = place(&server);
    let ran = place.run_with_stdin(&["--interactive"], "look\n/usage\n");
    let told = "This session: 1000 in (0 from cache, 0 written to it), 20 out, 0.0022 US dollars";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    assert!(ran.stdout.contains("1000 in (0 cached) · 20 out · 0.0022 US dollars"), "{}", ran.stdout);
    let server = Server::script(vec![Reply::text("Done.")]);
    let place = self::place(&server).env("LANG", "zh_CN.UTF-8");
    let ran = place.run_with_stdin(&["--interactive", "--model", "claude-next"], "look\n/usage\n");
    assert!(ran.stdout.contains("输出 20，费用未知：表中没有该模型的价格"), "{}", ran.stdout);
}

#[test]
fn prices_of_the_user_go_before_the_table() {
    let server = Server::script(vec![Reply::text("Done.")]);
    let place = place(&server).settings(r#"{"models": {"claude-next": {"prices": [{"input": 1000, "output": 0}]}}}"#);
    let ran = place.run(&["-p", "look", "--output-format", "json", "--model", "claude-next"]);
    assert_eq!(dollars(&object(&ran)), "1.000000");
}

#[test]
fn a_budget_for_a_model_without_a_price_is_refused_at_the_start() {
    let server = Server::script(vec![Reply::text("never")]);
    let ran = place(&server).run(&["-p", "look", "--model", "claude-next", "--max-budget-usd", "1"]);
    assert_eq!(
        (ran.stderr.as_str(), ran.code),
        (
            "rsagent: --max-budget-usd cannot be kept: the price of claude-next is not known. Set models.claude-next.prices in the settings file, or leave the budget out\n",
            Some(2)
        )
    );
    // A model that may take over counts too.
    let ran = place(&server).run(&["-p", "look", "--fallback-model", "claude-next", "--max-budget-usd", "1"]);
    assert!(ran.stderr.contains("the price of claude-next is not known"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn cost_budget_35452d() {
    let read = call("t1", "Read", json!({"file_path": "a.txt"}));
    let reply = || Reply::message_using(&[text("I look into it first."), read.clone()], "tool_use", 4000, 20);
    for format in ["json", "text"] {
        let server = Server::script(vec![reply()]);
        let place = place(&server).with("a.txt", "alpha\n");
        let ran = place.run(&["-p", "look", "--output-format", format, "--max-budget-usd", "0.0085"]);
        assert_eq!((server.requests().len(), ran.code), (1, Some(1)), "{}", ran.stderr);
        match format {
            "text" => assert_eq!(ran.stdout, "I look into it first.\n"),
            _ => {
                let object = object(&ran);
                assert_eq!(object["subtype"], "error_max_budget_usd");
                assert_eq!(object["result"], "I look into it first.");
                assert_eq!(dollars(&object), "0.008200");
            }
        }
    }
}

/// Children share the budget: three are started, and those that would go over it are stopped.
#[test]
fn cost_budget_1ac7ea() {
    let is_child = |request: &Request| !request.body["messages"][0].to_string().contains("main task");
    let agents: Vec<Value> = (0..3)
        .map(|n| {
            call(
                &format!("a{n}"),
                "Agent",
                json!({"description": "part", "prompt": format!("part {n}"), "subagent_type": "general"}),
            )
        })
        .collect();
    let server = Server::start(move |_, request| match is_child(request) {
        // The child wants to go on.
        true => {
            let read = call("c1", "Read", json!({"file_path": "a.txt"}));
            Reply::message_using(&[text("child found alpha"), read], "tool_use", 1000, 8000)
        }
        false => Reply::message_using(&agents, "tool_use", 1000, 9300),
    });
    let place = place(&server).with("a.txt", "alpha\n");
    let ran = place.run(&["-p", "main task", "--output-format", "events", "--max-budget-usd", "0.1"]);
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&Value> = events.iter().filter(|event| event["type"] == "tool_result").collect();
    assert_eq!(results.len(), 3, "{}", ran.stdout);
    // 0.095 are spent when they start: the input of one call more fits below 0.1, that of two does not.
    assert_eq!(server.requests().iter().filter(|request| is_child(request)).count(), 1, "{}", ran.stdout);
    assert_eq!(events.last().unwrap()["reason"], "budget", "{}", ran.stdout);
    let kept = results.iter().filter(|result| result["content"].to_string().contains("child found alpha")).count();
    assert_eq!(kept, 1, "{results:#?}");
}
