//! Owns the slow consumer: pieces merge, the loop waits, tools finish, and interruption works.

use std::fmt::Write as _;

use futures::StreamExt;
use kernel::AgentEvent;

use crate::crew::Scribe;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};

/// Bytes of progress that a consumer may have to take at once: what merging keeps, and a queue of
/// pieces before it.
const BOUND: usize = 64 * 1024 + 64 * 8;

/// The stage with a scribe that raises `over` when the loop has ended, whoever reads.
fn watched(stage: &Stage) -> Stage {
    let scribe = Scribe { log: stage.log.clone(), signals: stage.signals.clone(), hold: None };
    stage.clone().with(scribe)
}

fn progress(events: &[AgentEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolProgress { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_tool_that_floods_finishes_while_nobody_reads() {
    act(async {
        let stage = Stage::new("call a flood {\"pieces\":200000}\n\ntext done");
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("flooded").await;
        Stage::idle().await;
        events.extend(stage.rest(stream).await);
        let text = progress(&events);
        assert!(text.len() <= BOUND, "{} bytes were kept", text.len());
        assert!(events.len() < 80, "{} events were kept", events.len());
        assert!(text.ends_with(" 199999\n"), "the newest is kept");
        let numbers: Vec<u32> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        assert!(numbers.is_sorted());
        events.retain(|event| !matches!(event, AgentEvent::ThinkingDelta { .. } | AgentEvent::ToolProgress { .. }));
        expect(
            &notation::lines(&events),
            r#"
            user person: "go"
            turn_start 1
            assistant call a flood {"pieces":200000}
            tool_start a flood {"pieces":200000} →
            tool_result a flood ok "flooded"
            turn_start 2
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
    });
}

#[test]
fn a_flood_that_is_read_is_whole() {
    act(async {
        let stage = Stage::new("call a flood {\"pieces\":60}\n\ntext done");
        let events = stage.rest(stage.prompt("go")).await;
        let mut whole = String::new();
        for number in 0..60 {
            writeln!(whole, "{number:>7}").unwrap();
        }
        assert_eq!(progress(&events), whole);
    });
}

#[test]
fn interruption_works_while_nobody_reads() {
    act(async {
        let stage = Stage::new(
            "call a flood {\"pieces\":1000}
            call b slow {\"gate\":\"never\"}
            call c write

            text done",
        );
        let stage = watched(&stage);
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "tool_start b").await;
        stage.signals.wait("flooded").await;
        stage.signals.wait("begun:never").await;
        Stage::idle().await;
        stage.cancel();
        stage.signals.wait("over").await;
        events.extend(stage.rest(stream).await);
        events.retain(|event| !is_piece(event));
        let mut lines = notation::lines(&events)[3..].to_vec();
        // Which of the two ended first is not the question here.
        lines[2..4].sort();
        expect(
            &lines,
            r#"
            tool_start a flood {"pieces":1000} ∥
            tool_start b slow {"gate":"never"} ∥
            tool_result a flood ok "flooded"
            tool_result b slow error "Error: told to stop"
            tool_result c write error "Error: interrupted before it started; it was not executed"
            terminal aborted
            "#,
        );
    });
}

#[test]
fn the_loop_waits_for_a_consumer_that_does_not_read_and_loses_nothing() {
    act(async {
        let mut script: Vec<String> = (0..200).map(|n| format!("call c{n} echo {{\"text\":\"{n}\"}}")).collect();
        script.push("text done".into());
        let stage = Stage::new(&script.join("\n\n"));
        let stream = stage.prompt("go");
        Stage::idle().await;
        let ahead = stage.script.sent().len();
        assert!(ahead < 20, "the loop is {ahead} turns ahead");
        let lines = notation::lines(&stage.rest(stream).await);
        let mut expected = vec![r#"user person: "go""#.to_owned()];
        for n in 0..200 {
            expected.push(format!("turn_start {}", n + 1));
            expected.push(format!("assistant call c{n} echo {{\"text\":\"{n}\"}}"));
            expected.push(format!("tool_start c{n} echo {{\"text\":\"{n}\"}} →"));
            expected.push(format!("tool_result c{n} echo ok \"{n}\""));
        }
        expected.extend([
            "turn_start 201".into(),
            "text_delta \"done\"".into(),
            "assistant \"done\"".into(),
            "terminal completed".into(),
        ]);
        assert_eq!(lines, expected);
    });
}

#[test]
fn interruption_frees_a_loop_that_waits_for_room() {
    act(async {
        let script: Vec<String> = (0..200).map(|n| format!("call c{n} echo")).collect();
        let stage = watched(&Stage::new(&script.join("\n\n")));
        let stream = stage.prompt("go");
        Stage::idle().await;
        stage.cancel();
        stage.signals.wait("over").await;
        let lines = notation::lines(&stage.rest(stream).await);
        assert_eq!(lines.last().unwrap(), "terminal aborted");
    });
}

/// Text and thinking of one answer keep their order, however late they are read.
#[test]
fn pieces_of_one_answer_merge_without_passing_one_another() {
    act(async {
        let mut block = String::new();
        let mut expected = Vec::new();
        for number in 0..60 {
            writeln!(block, "think t{number}\ntext x{number}").unwrap();
            expected.push(format!("thinking_delta \"t{number}\""));
            expected.push(format!("text_delta \"x{number}\""));
        }
        let stage = Stage::new(&block);
        let stream = stage.prompt("go");
        Stage::idle().await;
        let lines = notation::lines(&stage.rest(stream).await);
        let pieces: Vec<String> = lines.into_iter().filter(|line| line.contains("_delta")).collect();
        let all = |kind: &str, lines: &[String]| -> String {
            lines.iter().filter_map(|l| l.strip_prefix(kind)).map(|l| l.trim_matches('"')).collect()
        };
        for kind in ["thinking_delta \"", "text_delta \""] {
            assert_eq!(all(kind, &pieces), all(kind, &expected), "something was lost");
        }
        assert_eq!(pieces, expected);
    });
}

#[test]
fn a_childs_pieces_merge_too() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"flood\",\"read_only\":true}

            call b flood {\"pieces\":200000}

            text child done

            text done",
        );
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "a> tool_start b").await;
        stage.signals.wait("flooded").await;
        Stage::idle().await;
        events.extend(stage.rest(stream).await);
        let size: usize = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Subagent { event, .. } => match &**event {
                    AgentEvent::ToolProgress { text, .. } => Some(text.len()),
                    _ => None,
                },
                _ => None,
            })
            .sum();
        assert!((1..=BOUND).contains(&size), "{size} bytes were kept");
        let lines = notation::lines(&events);
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert!(lines.contains(&"a> terminal completed".to_owned()));
    });
}

/// Progress by call: path of agents and id, with all of its text.
fn by_call(events: &[AgentEvent]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for event in events {
        let (path, event) = match event {
            AgentEvent::Subagent { agent_id, event } => (agent_id.as_str(), &**event),
            event => ("", event),
        };
        let AgentEvent::ToolProgress { id, text } = event else { continue };
        let key = format!("{path}>{id}");
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, all)) => all.push_str(text),
            None => found.push((key, text.clone())),
        }
    }
    found.sort();
    found
}

/// Under pressure, too, each piece goes to the call that it came from.
fn assert_apart(events: &[AgentEvent], calls: [&str; 2]) {
    let found = by_call(events);
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, calls);
    for ((key, text), (mark, strange)) in found.iter().zip([('x', 'y'), ('y', 'x')]) {
        assert!(!text.contains(strange), "{key} shows what another call said");
        assert!(text.ends_with(&format!("{mark}   9999\n")), "the newest of {key} is missing");
    }
}

#[test]
fn pieces_of_two_calls_stay_apart() {
    act(async {
        let stage = Stage::new(
            "call a flood {\"pieces\":10000,\"mark\":\"x\"}
            call b flood {\"pieces\":10000,\"mark\":\"y\"}

            text done",
        );
        let stream = stage.prompt("go");
        Stage::idle().await;
        assert_apart(&stage.rest(stream).await, [">a", ">b"]);
    });
}

#[test]
fn pieces_of_two_children_stay_apart() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"one\",\"read_only\":true}
            call b agent {\"prompt\":\"two\",\"read_only\":true}

            call c flood {\"pieces\":10000,\"mark\":\"x\"}

            call c flood {\"pieces\":10000,\"mark\":\"y\"}

            text one

            text two

            text done",
        );
        let stream = stage.prompt("go");
        Stage::idle().await;
        assert_apart(&stage.rest(stream).await, ["a>c", "b>c"]);
    });
}

#[test]
fn the_stream_stays_ended() {
    act(async {
        let stage = Stage::new("text hi");
        let mut stream = stage.prompt("go");
        stage.until(&mut stream, "terminal").await;
        assert_eq!(stream.next().await, None);
        assert_eq!(stream.next().await, None);
    });
}

fn is_piece(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::TextDelta { .. } | AgentEvent::ThinkingDelta { .. } | AgentEvent::ToolProgress { .. } => true,
        AgentEvent::Subagent { event, .. } => is_piece(event),
        _ => false,
    }
}
