//! Owns the ordinary course of a prompt: answers, rounds of tools, batches, limits.

use kernel::{AgentEvent, Block, query};

use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

#[test]
fn a_simple_answer() {
    act(async {
        let stage = Stage::new("think hm\ntext Hello there\nusage 10 5");
        expect(
            &stage.play("hi").await,
            r#"
            user person: "hi"
            turn_start 1
            thinking_delta "hm"
            text_delta "Hello there"
            assistant think "hm" sig | "Hello there"
            usage 10+0/5 of 10+0/5
            terminal completed
            "#,
        );
        let sent = stage.script.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].model.as_str(), sent[0].max_tokens), ("scripted", 1000));
        assert_eq!(sent[0].messages, [r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#]);
        assert_eq!(
            sent[0].prefix,
            serde_json::json!({"system": ["You are a test.", "The weather is fine."], "tools": []})
        );
        expect(
            &stage.history(),
            r#"
            user: "hi"
            assistant: think "hm" sig | "Hello there"
            "#,
        );
    });
}

#[test]
fn init_comes_first_and_terminal_carries_the_history_where_it_is_wanted() {
    act(async {
        let stage = Stage::new("text yes");
        let mut params = stage.params("hi");
        params.announce = true;
        params.report_messages = true;
        params.origin = "queue".into();
        let events = stage.rest(query(params)).await;
        assert_eq!(events[0], AgentEvent::Init(Stage::init()));
        let Some(AgentEvent::Terminal { messages: Some(messages), .. }) = events.last() else {
            panic!("no history: {events:?}");
        };
        assert_eq!(**messages, *stage.conversation.lock().messages().as_ref());
        expect(
            &notation::lines(&events)[1..],
            r#"
            user queue: "hi"
            turn_start 1
            text_delta "yes"
            assistant "yes"
            terminal completed of 2
            "#,
        );
    });
}

#[test]
fn a_tool_round() {
    act(async {
        let stage = Stage::new(
            "text Let me see
            call a echo {\"text\":\"file\"}
            usage 10 5

            text It says file
            usage 20 6",
        );
        expect(
            &stage.play("read").await,
            r#"
            user person: "read"
            turn_start 1
            text_delta "Let me see"
            assistant "Let me see" | call a echo {"text":"file"}
            usage 10+0/5 of 10+0/5
            tool_start a echo {"text":"file"} →
            tool_result a echo ok "file"
            turn_start 2
            text_delta "It says file"
            assistant "It says file"
            usage 20+0/6 of 30+0/11
            terminal completed
            "#,
        );
        expect(
            &stage.request(2),
            r#"
            user: "read"
            assistant: "Let me see" | call a echo {"text":"file"}
            user: result a ok "file"
            "#,
        );
    });
}

#[test]
fn a_batch_of_two_runs_side_by_side_and_what_is_unsafe_alone_after_it() {
    act(async {
        let stage = Stage::new(
            "call a slow {\"gate\":\"ga\"}
            call b slow {\"gate\":\"gb\"}
            call c write {\"text\":\"wrote\"}

            text done",
        );
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "tool_start b").await;
        stage.signals.wait("begun:ga").await;
        stage.signals.wait("begun:gb").await;
        // The second is let go first: results come in order of completion.
        stage.signals.raise("gb");
        events.extend(stage.until(&mut stream, "tool_result b").await);
        assert!(!stage.log.lines().contains(&"begin c".to_owned()));
        stage.signals.raise("ga");
        events.extend(stage.rest(stream).await);
        expect(
            &notation::lines(&events),
            r#"
            user person: "go"
            turn_start 1
            assistant call a slow {"gate":"ga"} | call b slow {"gate":"gb"} | call c write {"text":"wrote"}
            tool_start a slow {"gate":"ga"} ∥
            tool_start b slow {"gate":"gb"} ∥
            tool_result b slow ok "gb opened"
            tool_result a slow ok "ga opened"
            tool_start c write {"text":"wrote"} →
            tool_result c write ok "wrote"
            turn_start 2
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
        expect(
            &stage.request(2)[2..],
            r#"user: result a ok "ga opened" | result b ok "gb opened" | result c ok "wrote""#,
        );
        expect(&stage.log.lines(), "begin a\nbegin b\nend b\nend a\nbegin c\nend c");
    });
}

#[test]
fn what_is_unsafe_parts_the_batches_around_it() {
    act(async {
        let stage = Stage::new(
            "call a echo
            call b write
            call c echo
            call d echo

            text done",
        );
        let lines = stage.play("go").await;
        let starts: Vec<String> = lines.into_iter().filter(|line| line.starts_with("tool_start")).collect();
        expect(
            &starts,
            "tool_start a echo {} →
            tool_start b write {} →
            tool_start c echo {} ∥
            tool_start d echo {} ∥",
        );
    });
}

#[test]
fn calls_beyond_the_width_wait_their_turn_and_all_are_answered() {
    act(async {
        let calls: Vec<String> = (0..25).map(|n| format!("call c{n} slow {{\"gate\":\"g{n}\"}}")).collect();
        let stage = Stage::new(&format!("{}\n\ntext done", calls.join("\n")));
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "tool_start c9").await;
        assert!(!stage.signals.is_raised("begun:g10"), "more than ten at once");
        for n in (0..25).rev() {
            stage.signals.raise(&format!("g{n}"));
        }
        events.extend(stage.rest(stream).await);
        let starts = notation::lines(&events).iter().filter(|l| l.starts_with("tool_start")).count();
        assert_eq!(starts, 25);
        let ids: Vec<String> = stage.request(2)[2]
            .split(" | ")
            .map(|part| part.trim_start_matches("user: ").split(' ').nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(ids, (0..25).map(|n| format!("c{n}")).collect::<Vec<_>>());
    });
}

#[test]
fn unknown_tools_and_bad_inputs_are_answered_without_a_start() {
    act(async {
        let stage = Stage::new(
            "call a nothing {\"x\":1}
            call b echo {\"bad\":1}
            call c echo {\"text\":\"fine\"}
            call d boom_check

            text sorry",
        );
        let known = crate::cast::PARTS.join(", ");
        expect(
            &stage.play("go").await,
            &r#"
            user person: "go"
            turn_start 1
            assistant call a nothing {"x":1} | call b echo {"bad":1} | call c echo {"text":"fine"} | call d boom_check {}
            tool_result a nothing error "Error: there is no tool `nothing`; the tools are: KNOWN"
            tool_result b echo error "Error: invalid input for echo: field `bad` is not allowed"
            tool_result d boom_check error "Error: boom_check could not read its input: cannot read"
            tool_start c echo {"text":"fine"} →
            tool_result c echo ok "fine"
            turn_start 2
            text_delta "sorry"
            assistant "sorry"
            terminal completed
            "#
            .replace("KNOWN", &known),
        );
        let results = stage.request(2)[2].clone();
        let order: Vec<usize> =
            ["result a", "result b", "result c", "result d"].map(|r| results.find(r).unwrap()).into();
        assert!(order.is_sorted(), "{results}");
    });
}

#[test]
fn a_tool_that_panics_costs_one_result() {
    act(async {
        let stage = Stage::new("call a boom\ncall b echo {\"text\":\"x\"}\n\ntext done");
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            assistant call a boom {} | call b echo {"text":"x"}
            tool_start a boom {} ∥
            tool_start b echo {"text":"x"} ∥
            tool_result a boom error "Error: boom panicked: the tool broke"
            tool_result b echo ok "x"
            turn_start 2
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
    });
}

#[test]
fn a_tool_that_cannot_tell_whether_it_is_safe_runs_alone() {
    act(async {
        let stage = Stage::new("call a echo\ncall b boom_safe\ncall c echo\n\ntext done");
        let lines = stage.play("go").await;
        let starts: Vec<String> = lines.into_iter().filter(|line| line.starts_with("tool_start")).collect();
        expect(
            &starts,
            "tool_start a echo {} →
            tool_start b boom_safe {} →
            tool_start c echo {} →",
        );
    });
}

#[test]
fn an_empty_result_says_so_and_blocks_and_detail_pass() {
    act(async {
        let stage = Stage::new(
            "call a silent
            call b rich {\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"image\"}]}

            text done",
        );
        let lines = stage.play("go").await;
        expect(
            &lines[5..7],
            r#"
            tool_result a silent ok "(no output)"
            tool_result b rich ok [{"type":"text","text":"t"},{"type":"image"}] {"count":1}
            "#,
        );
        expect(
            &stage.request(2)[2..],
            r#"user: result a ok "(no output)" | result b ok [{"type":"text","text":"t"},{"type":"image"}]"#,
        );
    });
}

/// Remote tools return empty text blocks; the APIs refuse them inside results too, for ever after.
#[test]
fn blank_text_blocks_in_a_result_do_not_enter_the_history() {
    act(async {
        let stage = Stage::new(
            "call a rich {\"content\":[{\"type\":\"text\",\"text\":\" \"}]}

            text done",
        );
        stage.play("go").await;
        assert_sendable(&stage.conversation.lock().history());
    });
}

#[test]
fn max_turns_ends_the_prompt_with_its_results_kept() {
    act(async {
        let stage = Stage::new(
            "call a echo {\"text\":\"1\"}

            call b echo {\"text\":\"2\"}

            text later",
        )
        .max_turns(2);
        let lines = stage.play("go").await;
        expect(
            &lines[5..],
            r#"
            turn_start 2
            assistant call b echo {"text":"2"}
            tool_start b echo {"text":"2"} →
            tool_result b echo ok "2"
            terminal max_turns
            "#,
        );
        let lines = stage.play("on").await;
        expect(
            &lines[..2],
            r#"
            user person: "on"
            turn_start 1
            "#,
        );
        expect(&stage.request(3)[4..], r#"user: result b ok "2" | "on""#);
    });
}

/// A server-side pause is a model call like any other.
#[test]
fn a_model_that_always_pauses_is_bounded_by_max_turns() {
    act(async {
        let stage = Stage::new(
            "text one\nstop pause_turn

            text two\nstop pause_turn

            text three\nstop pause_turn",
        )
        .max_turns(2);
        let lines = stage.play("go").await;
        assert_eq!(lines.last().unwrap(), "terminal max_turns");
        assert_eq!(stage.script.sent().len(), 2);
    });
}

#[test]
fn a_paused_answer_is_sent_back_as_it_is() {
    act(async {
        let stage = Stage::new("text one\nstop pause_turn\n\ntext two");
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            text_delta "one"
            assistant "one"
            turn_start 2
            text_delta "two"
            assistant "two"
            terminal completed
            "#,
        );
        expect(&stage.request(2), "user: \"go\"\nassistant: \"one\"");
    });
}

#[test]
fn the_stop_reason_is_never_the_test_for_calls() {
    act(async {
        for reason in ["max_tokens", "context_window", "end_turn", "sensitive"] {
            let stage = Stage::new(&format!("text Reading.\ncall a echo\nstop {reason}\n\ntext ok"));
            let lines = stage.play("go").await;
            assert!(lines.contains(&"tool_start a echo {} →".to_owned()), "{reason}: {lines:#?}");
            assert_eq!(lines.last().unwrap(), "terminal completed", "{reason}");
        }
    });
}

#[test]
fn an_answer_cut_at_the_limit_says_so() {
    act(async {
        let stage = Stage::new("text half\nstop max_tokens\n\ntext more\nstop max_tokens");
        expect(
            &stage.play("go").await[6..],
            r#"
            text_delta "more"
            assistant "more"
            notice model warning "the answer was cut at the output limit"
            terminal completed
            "#,
        );
    });
}

#[test]
fn ids_are_made_unique_and_sendable() {
    act(async {
        let stage = Stage::new(
            "call a echo {\"text\":\"1\"}
            call a echo {\"text\":\"2\"}
            call call_x|fc_y echo {\"text\":\"3\"}
            call edit:22 write {\"text\":\"4\"}
            call edit:22 write {\"text\":\"5\"}

            call a echo {\"text\":\"6\"}

            text done",
        );
        let lines = stage.play("go").await;
        let results: Vec<String> = lines.into_iter().filter(|line| line.starts_with("tool_result")).collect();
        expect(
            &results,
            r#"
            tool_result a echo ok "1"
            tool_result a_2 echo ok "2"
            tool_result call_x_fc_y echo ok "3"
            tool_result edit_22 write ok "4"
            tool_result edit_22_2 write ok "5"
            tool_result a_3 echo ok "6"
            "#,
        );
        assert_sendable(&stage.conversation.lock().history());
    });
}

#[test]
fn blank_text_is_dropped_and_unknown_blocks_stay() {
    act(async {
        let stage = Stage::new(
            r#"text \n\s
            other {"type":"server_tool_use","z":1,"a":{"n":[1,null]}}
            call a echo
            text \n

            text done"#,
        );
        let lines = stage.play("go").await;
        expect(&lines[3..4], r#"assistant other {"type":"server_tool_use","z":1,"a":{"n":[1,null]}} | call a echo {}"#);
        assert_sendable(&stage.conversation.lock().history());
        let mut params = stage.params("");
        params.prompt = vec![Block::text("  "), Block::text("hi"), Block::text("\n")];
        stage.script.add("text done");
        let lines = notation::lines(&stage.rest(query(params)).await);
        expect(&lines[..1], r#"user person: "hi""#);
    });
}

#[test]
fn an_empty_prompt_is_refused_and_nothing_is_sent() {
    act(async {
        let stage = Stage::new("");
        expect(
            &stage.play("  \n").await,
            r#"
            notice prompt error "the message is empty"
            terminal error
            "#,
        );
        assert_eq!((stage.script.sent().len(), stage.history().len()), (0, 0));
    });
}
