//! Owns what holds for every course that a prompt can take: any calls, denials, panics and failures,
//! read to the end, interrupted or abandoned after any number of events.

use std::collections::HashMap;

use futures::StreamExt;
use kernel::{AgentEvent, Answer, Block, Mode};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::Value;

use crate::crew::Scribe;
use crate::notation;
use crate::script::Sent;
use crate::stage::{Stage, act_within};
use crate::valid::assert_sendable;

/// So many cases, unless `PROPTEST_CASES` asks for more or fewer.
pub fn config(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config { cases: asked.unwrap_or(cases), failure_persistence: None, ..Config::default() }
}

/// What the consumer does after so many events.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// It reads on.
    None,
    /// It stops reading until nothing moves any more, then reads on.
    Pause(usize),
    /// It interrupts and reads on.
    Cancel(usize),
    /// It goes away.
    Drop(usize),
}

/// One course of one prompt.
#[derive(Debug, Clone)]
struct Course {
    mode: Mode,
    threshold: Option<u64>,
    max_turns: Option<u32>,
    script: Vec<Vec<String>>,
    answers: Vec<Answer>,
    cut: Cut,
}

fn line() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec!["a", "b", "c|d", "call_0"]);
    let part = prop::sample::select(vec![
        "echo {\"text\":\"out\"}",
        "echo {\"bad\":1}",
        "nothing",
        "silent",
        "write",
        "write",
        "secret",
        "boom",
        "boom_judge",
        "boom_check",
        "boom_safe",
        "flood {\"pieces\":100}",
        "slow {\"gate\":\"open\"}",
        "slow {\"gate\":\"never\"}",
        "deaf {\"gate\":\"never\"}",
    ]);
    let child =
        any::<bool>().prop_map(|read_only| format!("agent {{\"prompt\":\"child #\",\"read_only\":{read_only}}}"));
    let part = prop_oneof![6 => part.prop_map(str::to_owned), 1 => child];
    let words = vec!["text words of some length", "text \\s", "think hm", "think hm", "delta half"];
    prop_oneof![
        2 => prop::sample::select(words).prop_map(str::to_owned),
        4 => (id, part).prop_map(|(id, part)| format!("call {id} {part}")),
        1 => Just(r#"other {"type":"strange","n":1}"#.to_owned()),
        1 => Just("usage 40 5".to_owned()),
    ]
}

fn ending() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        12 => Just("stop end_turn"),
        1 => prop::sample::select(vec![
            "stop max_tokens", "stop context_window", "stop refusal no", "cut", "stall", "panic",
            "error overloaded", "error auth", "error overflow", "error refused", "retry busy",
        ]),
    ]
}

fn call() -> impl Strategy<Value = Vec<String>> {
    (prop::collection::vec(line(), 0..5), ending()).prop_map(|(mut lines, ending)| {
        lines.push(ending.to_owned());
        lines
    })
}

fn course() -> impl Strategy<Value = Course> {
    let answer = prop_oneof![
        3 => Just(Answer::Once),
        1 => Just(Answer::Always(vec![crate::cast::rule("write", kernel::Origin::Session)])),
        1 => Just(Answer::No(None)),
        1 => Just(Answer::No(Some("because".into()))),
    ];
    let cut = prop_oneof![
        4 => Just(Cut::None),
        1 => (0..30_usize).prop_map(Cut::Pause),
        2 => (0..30_usize).prop_map(Cut::Cancel),
        2 => (0..30_usize).prop_map(Cut::Drop),
    ];
    let mode = prop_oneof![
        3 => Just(Mode::BypassPermissions), 2 => Just(Mode::Default), 1 => Just(Mode::Plan), 1 => Just(Mode::DontAsk),
    ];
    (
        mode,
        prop::option::weighted(0.3, 20..200_u64),
        prop::option::weighted(0.2, 1..4_u32),
        prop::collection::vec(call(), 1..7),
        prop::collection::vec(answer, 0..6),
        cut,
    )
        .prop_map(|(mode, threshold, max_turns, script, answers, cut)| Course {
            mode,
            threshold,
            max_turns,
            script,
            answers,
            cut,
        })
}

/// Follows a course. The events that were read, and whether they were read to the end.
async fn follow(stage: &Stage, cut: Cut) -> (Vec<AgentEvent>, bool) {
    let mut stream = stage.prompt("the prompt");
    let mut events = Vec::new();
    loop {
        match cut {
            Cut::Pause(after) if after == events.len() => Stage::idle().await,
            Cut::Cancel(after) if after == events.len() => stage.cancel(),
            Cut::Drop(after) if after == events.len() => return (events, false),
            Cut::None | Cut::Pause(_) | Cut::Cancel(_) | Cut::Drop(_) => {}
        }
        // Where nothing comes for longer than any wait between attempts, only a person helps.
        let wait = tokio::time::timeout(std::time::Duration::from_secs(60), stream.next());
        match wait.await {
            Err(_) => stage.cancel(),
            Ok(None) => return (events, true),
            Ok(Some(event)) => {
                stage.answer(&event);
                events.push(event);
            }
        }
    }
}

async fn check(course: &Course) {
    let script: Vec<String> = course.script.iter().map(|lines| lines.join("\n")).collect();
    let mut stage = Stage::asking(&script.join("\n\n"), &course.answers);
    stage.gate.set_mode(course.mode);
    stage.max_turns = course.max_turns;
    if let Some(tokens) = course.threshold {
        stage = stage.threshold(tokens);
    }
    stage.script.summary("text Summary {number}.");
    stage.script.log(&stage.log);
    stage.signals.raise("open");
    for _ in 0..2 {
        let scribe = Scribe { log: stage.log.clone(), signals: stage.signals.clone(), hold: None };
        stage = stage.with(scribe);
    }
    let (events, whole) = follow(&stage, course.cut).await;
    stage.signals.wait("over").await;

    let log = stage.log.lines();
    assert_sendable(&stage.conversation.lock().history());
    if whole {
        ended_once(&events);
        answered_once(&events);
    }
    seen_before_it_began(&log);
    results_before_the_next_request(&log);
    let compactions = log.iter().filter(|line| line.starts_with("seen compact")).count() / 2;
    only_ever_appended(&stage.script.sent(), compactions);

    stage.script.clear();
    stage.script.add("text again");
    stage.max_turns = None;
    let lines = stage.play("go on").await;
    assert_eq!(lines.last().unwrap(), "terminal completed", "{lines:#?}");
    assert_sendable(&stage.conversation.lock().history());
    let history = stage.history();
    assert!(history.last().unwrap().ends_with("\"again\""), "{history:#?}");
}

fn ended_once(events: &[AgentEvent]) {
    let terminals = events.iter().filter(|event| matches!(event, AgentEvent::Terminal { .. })).count();
    let lines = notation::lines(events);
    assert_eq!(terminals, 1, "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("terminal"), "{lines:#?}");
}

/// Each call of the main agent has one result or one denial. (A child that is torn down with a tool
/// that would not end may not come to say so.)
fn answered_once(events: &[AgentEvent]) {
    let mut answers: HashMap<String, usize> = HashMap::new();
    for event in events {
        match event {
            AgentEvent::Assistant { message } => {
                for block in &message.content {
                    if let Block::ToolUse { id, .. } = block {
                        assert_eq!(answers.insert(id.0.clone(), 0), None, "{id} twice");
                    }
                }
            }
            AgentEvent::ToolResult { id, .. } | AgentEvent::PermissionDenied { id, .. } => {
                *answers.get_mut(&id.0).expect("an answer to a call that was not made") += 1;
            }
            _ => {}
        }
    }
    let wrong: Vec<_> = answers.iter().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {:#?}", notation::lines(events));
}

/// Before a tool begins, both scribes have finished with the message that calls it, and with its
/// start.
fn seen_before_it_began(log: &[String]) {
    for (number, line) in log.iter().enumerate() {
        let Some(id) = line.strip_prefix("begin ") else { continue };
        for what in ["assistant ", "tool_start "] {
            let about =
                |line: &&String| line.starts_with("seen ") && line.contains(what) && line.contains(&format!("{id} "));
            let seen = log[..number].iter().filter(about).count();
            assert!(seen >= 2, "{id} began before {what}was taken: {log:#?}");
        }
    }
}

/// Before a request carries a result, both scribes have finished with its event.
fn results_before_the_next_request(log: &[String]) {
    for (number, line) in log.iter().enumerate() {
        let Some(messages) = line.strip_prefix("request ") else { continue };
        let messages: Vec<Value> = serde_json::from_str(messages).unwrap();
        let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        for id in blocks.filter_map(|block| block["tool_use_id"].as_str()) {
            let told = |line: &&String| {
                line.contains(&format!("tool_result {id} ")) || line.contains(&format!("permission_denied {id} "))
            };
            let seen = log[..number].iter().filter(|l| l.starts_with("seen ")).filter(told).count();
            assert!(seen >= 2, "{id} was sent before its event was taken: {log:#?}");
        }
    }
}

/// Requests of one agent and one epoch have the same first message. Each extends the last, byte for
/// byte; and the main agent has one epoch more than it was compacted.
fn only_ever_appended(sent: &[Sent], compactions: usize) {
    let mut last: HashMap<(String, String), &Sent> = HashMap::new();
    for request in sent {
        let messages: Vec<Value> = request.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_sendable(&messages);
        let agent = request.prefix["system"][0].to_string();
        let key = (agent, request.messages[0].clone());
        if let Some(before) = last.insert(key, request) {
            assert!(request.messages.starts_with(&before.messages), "{before:#?}\n{request:#?}");
            assert_eq!(request.prefix, before.prefix);
        }
    }
    let epochs = last.keys().filter(|(agent, _)| agent.contains("test")).count();
    assert!(epochs <= compactions + 1, "{epochs} epochs, {compactions} compactions");
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn whatever_happens_the_conversation_is_sendable_and_the_rules_hold(course in course()) {
        act_within(std::time::Duration::from_secs(3600), check(&course));
    }
}
