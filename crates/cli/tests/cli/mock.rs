//! Each line of the table of what the mock demonstrates, in Chinese and in English.

use serde_json::json;

use super::support::{Events, Place};

const MOCK: [&str; 2] = ["--provider", "mock"];
const TOOLS: &str = "init default Read,Write,Bash,Agent";

/// The same run must come of each of these prompts.
fn each(prompts: [&str; 2], place: impl Fn() -> Place, check: impl Fn(&str, &Place, Events)) {
    for prompt in prompts {
        let place = place();
        let events = place.events(&MOCK, prompt);
        check(prompt, &place, events);
    }
}

fn assert_outline(events: &Events, expected: &[&str]) {
    assert_eq!(events.outline(), expected);
}

#[test]
fn a_call_its_result_and_a_summary_in_a_second_turn() {
    let place = || Place::new().with("Cargo.toml", "[package]\nname = \"x\"\n");
    each(["读取 Cargo.toml", "read Cargo.toml"], place, |prompt, _, events| {
        assert_outline(
            &events,
            &[
                TOOLS,
                &format!("user person: {prompt}"),
                "turn 1",
                "assistant Read({\"file_path\":\"Cargo.toml\"})",
                "usage",
                "→ Read mock_1",
                "result Read mock_1 ok",
                "turn 2",
                "text …",
                "assistant text",
                "usage",
                "terminal completed",
            ],
        );
        let result = events.of("tool_result").next().unwrap();
        assert_eq!(result["content"], "1\t[package]\n2\tname = \"x\"");
        assert_eq!(events.code, Some(0));
    });
}

#[test]
fn three_calls_in_one_message_two_parallel_and_one_serial() {
    let place = || Place::new().with("a.txt", "1\n").with("b.txt", "2\n");
    let prompts = ["读 a.txt 读 b.txt 然后往 c.txt 写入 hello", "read a.txt read b.txt then write hello to c.txt"];
    let arguments = ["--provider", "mock", "--mode", "acceptEdits"];
    for prompt in prompts {
        let place = place();
        let events = place.events(&arguments, prompt);
        let outline = events.outline();
        assert_eq!(
            outline[3],
            "assistant Read({\"file_path\":\"a.txt\"}) Read({\"file_path\":\"b.txt\"}) \
             Write({\"file_path\":\"c.txt\",\"content\":\"hello\"})"
        );
        // Of two that run side by side either may begin or end first.
        let mut pair: Vec<&str> = outline[5..9].iter().map(String::as_str).collect();
        pair.sort_unstable();
        assert_eq!(pair, ["result Read mock_1 ok", "result Read mock_2 ok", "∥ Read mock_1", "∥ Read mock_2"]);
        assert_eq!(
            outline[9..],
            [
                "→ Write mock_3",
                "result Write mock_3 ok",
                "turn 2",
                "text …",
                "assistant text",
                "usage",
                "terminal completed"
            ]
        );
        // However they ended, the model reads the results in the order of its calls.
        let messages = events.of("terminal").next().unwrap()["messages"].as_array().unwrap();
        let ids: Vec<&str> = messages[2]["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["tool_use_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["mock_1", "mock_2", "mock_3"]);
        assert_eq!(place.read("c.txt"), "hello");
    }
}

#[test]
fn a_deny_rule_stops_recursive_removal_in_every_mode() {
    for prompt in ["运行 rm -rf temp", "run rm -rf temp"] {
        for mode in ["default", "acceptEdits", "plan", "bypassPermissions"] {
            let place = Place::new().with("temp/kept", "x");
            let events = place.events(&["--provider", "mock", "--mode", mode], prompt);
            let denied: Vec<_> = events.of("permission_denied").collect();
            assert_eq!(denied.len(), 1, "{mode}");
            assert_eq!(denied[0]["reason"], "denied by rule Bash(rm -rf *) (built-in list)", "{mode}");
            assert_eq!(events.of("tool_start").count(), 0, "{mode}");
            assert_eq!(events.outline().last().unwrap(), "terminal completed");
            assert!(place.has("temp/kept"), "{mode}");
        }
    }
}

#[test]
fn the_built_in_deny_list_can_be_replaced() {
    let place = Place::new().with("temp/gone", "x").settings(r#"{"permissions": {"builtinDeny": ["Bash(ls *)"]}}"#);
    let bypass = ["--provider", "mock", "--mode", "bypassPermissions"];
    let events = place.events(&bypass, "run rm -rf temp");
    assert_eq!(events.of("tool_result").next().unwrap()["is_error"], false);
    assert!(!place.has("temp"));
    let events = place.events(&bypass, "run ls temp");
    let denied = events.of("permission_denied").next().unwrap();
    assert_eq!(denied["reason"], "denied by rule Bash(ls *) (built-in list)");
}

#[test]
fn a_command_runs_or_is_asked_about_according_to_mode_and_rules() {
    let table: [(&str, &[&str], Result<&str, &str>); 6] = [
        ("echo hi", &[], Ok("hi")),
        ("touch made", &[], Err("needs permission, and nobody can be asked: ")),
        ("touch made", &["--mode", "bypassPermissions"], Ok("(no output)")),
        ("touch made", &["--allowed-tools", "Bash(touch *)"], Ok("(no output)")),
        ("touch made", &["--mode", "plan"], Err("plan mode only reads: ")),
        ("echo hi", &["--disallowed-tools", "Bash(echo *)"], Err("denied by rule Bash(echo *) ")),
    ];
    for (command, flags, expected) in table {
        for verb in ["运行", "run"] {
            let place = Place::new();
            let arguments: Vec<&str> = MOCK.iter().chain(flags).copied().collect();
            let events = place.events(&arguments, &format!("{verb} {command}"));
            match expected {
                Ok(output) => {
                    let result = events.of("tool_result").next().unwrap();
                    assert_eq!(result["content"].as_str().unwrap().trim_end(), output, "{flags:?}");
                    assert_eq!(result["is_error"], false);
                    assert_eq!(place.has("made"), command == "touch made");
                }
                Err(reason) => {
                    let denied = events.of("permission_denied").next().unwrap();
                    let given = denied["reason"].as_str().unwrap();
                    assert!(given.starts_with(reason), "{flags:?}: {given}");
                    assert!(!place.has("made"));
                }
            }
        }
    }
}

#[test]
fn a_subagent_works_in_its_own_context_and_reports() {
    let place = || Place::new().with("a.txt", "alpha\n");
    let prompts = ["用子代理去读 a.txt 并总结", "use a subagent to read a.txt and summarise"];
    each(prompts, place, |prompt, _, events| {
        let outline = events.outline();
        let own: Vec<&str> = outline.iter().map(String::as_str).filter(|line| !line.starts_with("| ")).collect();
        assert!(own[3].starts_with("assistant Agent({\"subagent_type\":\"general\""));
        assert_eq!(
            [&own[..3], &own[4..]].concat(),
            [
                TOOLS,
                &format!("user person: {prompt}"),
                "turn 1",
                "usage",
                "→ Agent mock_1",
                "result Agent mock_1 ok",
                "turn 2",
                "text …",
                "assistant text",
                "usage",
                "terminal completed"
            ]
        );
        let child: Vec<&str> = outline.iter().filter_map(|line| line.strip_prefix("| ")).collect();
        assert_eq!(child[0], "init default Read,Write,Bash");
        assert!(child[1].starts_with("user agent: "));
        assert_eq!(
            child[2..],
            [
                "turn 1",
                "assistant Read({\"file_path\":\"a.txt\"})",
                "usage",
                "→ Read mock_1",
                "result Read mock_1 ok",
                "turn 2",
                "text …",
                "assistant text",
                "usage",
                "terminal completed"
            ]
        );
        let report = events.of("tool_result").next().unwrap()["content"].as_str().unwrap();
        assert!(report.contains("a.txt"), "{report}");
        // The parent's history knows the report alone.
        let messages = &events.of("terminal").next().unwrap()["messages"];
        assert_eq!(messages.as_array().unwrap().len(), 4);
    });
}

#[test]
fn an_explore_agent_has_no_write_and_could_not_use_it() {
    let prompts = ["用只读子代理探索:往 x.txt 写入 hello", "explore with a read-only subagent: write hello to x.txt"];
    each(prompts, Place::new, |_, place, events| {
        let outline = events.outline();
        let child: Vec<&str> = outline.iter().filter_map(|line| line.strip_prefix("| ")).collect();
        // Two lines of defence: the pool and the mode.
        assert_eq!(child[0], "init plan Read,Bash");
        assert!(child.iter().any(|line| line.starts_with("result Write mock_1 failed")), "{child:#?}");
        assert!(!child.iter().any(|line| line.starts_with("→ ")), "{child:#?}");
        assert!(!place.has("x.txt"));
        assert_eq!(outline.last().unwrap(), "terminal completed");
    });
    // The second line by itself: a command that writes is refused without a question.
    let place = Place::new();
    let events = place.events(&MOCK, "explore with a read-only subagent: run touch made");
    let denied = events.of("subagent").find(|e| e["event"]["type"] == "permission_denied").unwrap();
    let reason = denied["event"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("plan mode only reads: "), "{reason}");
    assert!(!place.has("made"));
}

#[test]
fn two_prompts_over_a_small_threshold_are_compacted() {
    for variable in ["RSAGENT_COMPACT_THRESHOLD", "MYAGENT_COMPACT_THRESHOLD"] {
        for prompt in ["读取 a.txt", "read a.txt"] {
            let lines = "a line of a file that is long enough to count\n".repeat(30);
            let place = Place::new().with("a.txt", &lines).env(variable, "200");
            let script = format!("{prompt}\n{prompt}\n/exit\n");
            let ran = place.run_with_stdin(&["--interactive", "--provider", "mock"], &script);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            assert!(ran.stdout.contains("⧉ "), "{}", ran.stdout);
        }
    }
}

#[test]
fn two_words_are_enough_to_see_a_compaction() {
    for (first, second) in [("hello", "hi"), ("你好", "再说一遍")] {
        let place = Place::new().env("RSAGENT_COMPACT_THRESHOLD", "200");
        let ran = place.run_with_stdin(&["--interactive", "--provider", "mock"], &format!("{first}\n{second}\n"));
        assert_eq!(ran.stdout.matches("⧉ ").count(), 1, "{}", ran.stdout);
    }
}

#[test]
fn a_prompt_that_grows_over_the_threshold_is_compacted_on_its_way() {
    let lines = "a line of a file that is long enough to count\n".repeat(60);
    let place = || Place::new().with("a.txt", &lines).env("RSAGENT_COMPACT_THRESHOLD", "200");
    each(["读取 a.txt", "read a.txt"], place, |prompt, _, events| {
        assert_outline(
            &events,
            &[
                TOOLS,
                &format!("user person: {prompt}"),
                "turn 1",
                "assistant Read({\"file_path\":\"a.txt\"})",
                "usage",
                "→ Read mock_1",
                "result Read mock_1 ok",
                // The call that writes the summary, and the epoch that it opens.
                "usage",
                "⧉ auto",
                "turn 2",
                "text …",
                "assistant text",
                "usage",
                "terminal completed",
            ],
        );
        let first = &events.of("terminal").next().unwrap()["messages"][0];
        assert!(first.to_string().contains(prompt), "the request is carried on: {first}");
    });
}

#[test]
fn anything_else_is_answered_honestly() {
    each(["你好", "hello there"], Place::new, |prompt, _, events| {
        let answer =
            events.of("assistant").next().unwrap()["message"]["content"][0]["text"].as_str().unwrap().to_owned();
        let words = if prompt == "你好" { ["模拟", "读取"] } else { ["mock", "read"] };
        assert!(words.iter().all(|word| answer.contains(word)), "{answer}");
    });
}

#[test]
fn the_mock_is_used_without_a_key_and_where_it_is_asked_for() {
    let provider =
        |place: Place, arguments: &[&str]| place.events(arguments, "hi").of("init").next().unwrap()["provider"].clone();
    assert_eq!(provider(Place::new(), &[]), json!("mock"));
    let keyed = Place::new().env("ANTHROPIC_API_KEY", "sk-none");
    assert_eq!(provider(keyed, &["--provider", "mock"]), json!("mock"));
    let chosen = Place::new().env("DEEPSEEK_API_KEY", "k").env("MYAGENT_PROVIDER", "mock");
    assert_eq!(provider(chosen, &[]), json!("mock"));
}
