//! Owns what a feature may do, and the order in which it is told: everything before anything is
//! decided on it.

use kernel::{AgentEvent, Block};

use crate::cast::break_down;
use crate::crew::{Feature, Scribe};
use crate::notation::{self, expect};
use crate::stage::{Stage, act};

#[test]
fn every_feature_has_finished_with_an_event_before_anything_is_decided_on_it() {
    act(async {
        let stage = Stage::new(
            "call a echo {\"text\":\"1\"}
            call b echo {\"text\":\"2\"}

            text done",
        );
        let scribe = || Scribe { log: stage.log.clone(), ..Scribe::default() };
        let stage = stage.clone().with(scribe()).with(scribe());
        stage.play("go").await;
        let twice = |line: &str| [format!("seen {line}"), format!("seen {line}")];
        let log = stage.log.lines();
        let head: Vec<String> = [
            twice(r#"user person: "go""#),
            twice("turn_start 1"),
            twice(r#"assistant call a echo {"text":"1"} | call b echo {"text":"2"}"#),
            twice(r#"tool_start a echo {"text":"1"} ∥"#),
        ]
        .concat();
        assert_eq!(log[..8], head);
        let at = |line: &str| log.iter().rposition(|other| other == line).unwrap();
        assert!(at(r#"seen tool_start a echo {"text":"1"} ∥"#) < at("begin a"));
        assert!(at(r#"seen tool_start b echo {"text":"2"} ∥"#) < at("begin b"));
        assert!(at("end a") < at(r#"seen tool_result a echo ok "1""#));
        let tail: Vec<String> =
            [twice("turn_start 2"), twice(r#"assistant "done""#), twice("terminal completed")].concat();
        assert_eq!(log[log.len() - 6..], tail);
    });
}

#[test]
fn no_tool_starts_while_a_feature_is_busy_with_the_assistant_message() {
    act(async {
        let stage = Stage::new("call a echo\n\ntext done");
        let stage = stage.clone().with(Scribe {
            log: stage.log.clone(),
            signals: stage.signals.clone(),
            hold: Some(("assistant call", "go on")),
        });
        let stream = stage.prompt("go");
        stage.signals.wait("held").await;
        Stage::idle().await;
        assert!(!stage.log.lines().iter().any(|line| line.starts_with("begin")));
        stage.signals.raise("go on");
        stage.rest(stream).await;
        assert!(stage.log.lines().contains(&"end a".to_owned()));
    });
}

#[test]
fn no_model_is_called_while_a_feature_is_busy_with_a_result() {
    act(async {
        let stage = Stage::new("call a echo\n\ntext done");
        let stage = stage.clone().with(Scribe {
            log: stage.log.clone(),
            signals: stage.signals.clone(),
            hold: Some(("tool_result", "go on")),
        });
        let stream = stage.prompt("go");
        stage.signals.wait("held").await;
        Stage::idle().await;
        assert_eq!(stage.script.sent().len(), 1);
        stage.signals.raise("go on");
        stage.rest(stream).await;
        assert_eq!(stage.script.sent().len(), 2);
    });
}

#[test]
fn a_feature_is_told_of_everything_that_is_delivered_once_and_of_no_pieces() {
    act(async {
        let stage = Stage::new("think hm\ntext hello\ncall a flood {\"pieces\":3}\n\ntext done");
        let stage = stage.clone().with(Scribe { log: stage.log.clone(), ..Scribe::default() });
        let lines = stage.play("go").await;
        let pieces =
            |line: &&String| !["text_delta", "thinking_delta", "tool_progress"].iter().any(|p| line.starts_with(p));
        let delivered: Vec<&String> = lines.iter().filter(pieces).collect();
        let log = stage.log.lines();
        let seen: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("seen ")).collect();
        assert_eq!(seen, delivered);
    });
}

#[test]
fn before_stop_makes_the_loop_go_on() {
    act(async {
        let feature = Feature {
            name: "todo",
            before_stop: |at| (at.turn < 2).then(|| "one item is open".into()),
            ..Feature::default()
        };
        let stage = Stage::new("text done\n\ntext really").with(feature);
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            text_delta "done"
            assistant "done"
            user todo: "one item is open"
            turn_start 2
            text_delta "really"
            assistant "really"
            terminal completed
            "#,
        );
        expect(
            &stage.request(2),
            r#"
            user: "go"
            assistant: "done"
            user: "one item is open"
            "#,
        );
        // What was last asked for is still what the person asked.
        assert_eq!(stage.conversation.lock().asked(), [Block::text("go")]);
    });
}

#[test]
fn before_stop_cannot_pass_the_limit_of_turns() {
    act(async {
        let feature = Feature { before_stop: |_| Some("go on".into()), ..Feature::default() };
        let stage = Stage::new("text 1\n\ntext 2\n\ntext 3").max_turns(2).with(feature);
        let lines = stage.play("go").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert_eq!(stage.script.sent().len(), 2);
    });
}

#[test]
fn before_tool_refuses_with_its_reason() {
    act(async {
        let feature = Feature {
            before_tool: |call| (call.name == "write").then(|| format!("hook says no to {}", call.id)),
            ..Feature::default()
        };
        let stage = Stage::new("call a write\ncall b echo {\"text\":\"x\"}\n\ntext done").with(feature);
        expect(
            &stage.play("go").await[3..6],
            r#"
            permission_denied a write "hook says no to a"
            tool_start b echo {"text":"x"} →
            tool_result b echo ok "x"
            "#,
        );
        expect(
            &stage.request(2)[2..],
            r#"user: result a error "Error: permission denied: hook says no to a" | result b ok "x""#,
        );
    });
}

#[test]
fn the_first_refusal_counts() {
    act(async {
        let feature = |before_tool| Feature { before_tool, ..Feature::default() };
        let stage = Stage::new("call a echo\n\ntext done")
            .with(feature(|_| None))
            .with(feature(|_| Some("first".into())))
            .with(feature(|_| Some("second".into())));
        let lines = stage.play("go").await;
        assert_eq!(lines[3], r#"permission_denied a echo "first""#);
    });
}

#[test]
fn what_features_add_comes_after_the_results() {
    act(async {
        let feature = Feature {
            after_tool: |call, output| {
                vec![Block::text(format!("{}: {}", call.id, output.content.text())), Block::text(" ")]
            },
            before_model: |at| vec![Block::text(format!("before {}.{}", at.depth, at.turn))],
            ..Feature::default()
        };
        let stage =
            Stage::new("call a echo {\"text\":\"x\"}\ncall b write {\"text\":\"y\"}\n\ntext done").with(feature);
        let lines = stage.play("go").await;
        let said: Vec<String> = lines.into_iter().filter(|line| line.starts_with("user feature")).collect();
        expect(
            &said,
            r#"
            user feature: "before 0.1"
            user feature: "a: x"
            user feature: "b: y"
            user feature: "before 0.2"
            "#,
        );
        let request = stage.request(2);
        expect(
            &request,
            r#"
            user: "go"
            user: "before 0.1"
            assistant: call a echo {"text":"x"} | call b write {"text":"y"}
            user: result a ok "x" | result b ok "y" | "a: x" | "b: y"
            user: "before 0.2"
            "#,
        );
    });
}

/// What a feature was allowed to append is not lost because the prompt happens to end there.
#[test]
fn what_features_add_survives_the_limit_of_turns() {
    act(async {
        let feature = Feature { after_tool: |_, _| vec![Block::text("a memory file")], ..Feature::default() };
        let stage = Stage::new("call a echo {\"text\":\"x\"}\n\ntext done").max_turns(1).with(feature);
        stage.play("go").await;
        stage.play("on").await;
        let request = stage.request(2).join("\n");
        assert!(request.contains("a memory file"), "{request}");
    });
}

/// A journal is fed by events alone, and must be able to rebuild what was sent.
#[test]
fn every_text_that_was_sent_was_in_an_event() {
    act(async {
        let feature = Feature {
            before_model: |at| vec![Block::text(format!("before {}", at.turn))],
            after_tool: |_, _| vec![Block::text("after the tool")],
            before_stop: |at| (at.turn < 3).then(|| "go on".into()),
            ..Feature::default()
        };
        let stage = Stage::new("call a echo {\"text\":\"x\"}\n\ntext done\n\ntext really").with(feature);
        let told = serde_json::to_string(&stage.rest(stage.prompt("go")).await).unwrap();
        let history = stage.conversation.lock().history();
        let untold: Vec<String> = history
            .iter()
            .flat_map(|message| &message.content)
            .filter_map(|block| match block {
                Block::Text { text, .. } if !told.contains(text.as_str()) => Some(text.clone()),
                _ => None,
            })
            .collect();
        assert!(untold.is_empty(), "no event told of {untold:?}");
    });
}

#[test]
fn a_feature_that_panics_once_ends_the_prompt_and_not_the_session() {
    act(async {
        let feature = Feature {
            on_event: |event| {
                if matches!(event, AgentEvent::ToolStart { .. }) {
                    break_down("the feature broke");
                }
            },
            ..Feature::default()
        };
        let stage = Stage::new("call a echo\n\ntext hello").with(feature);
        let lines = stage.play("go").await;
        expect(
            &lines[3..],
            r#"
            notice loop error "rsagent failed inside: the feature broke"
            terminal error
            "#,
        );
        stage.play("again").await;
        crate::valid::assert_sendable(&stage.conversation.lock().history());
    });
}

/// The stream always ends with `terminal`, whatever a feature does.
#[test]
fn a_feature_that_panics_at_every_event_does_not_hang_the_consumer() {
    act(async {
        let feature = Feature { on_event: |_| break_down("the feature broke"), ..Feature::default() };
        let stage = Stage::new("text hello").with(feature);
        let lines = stage.play("go").await;
        assert!(lines.last().unwrap().starts_with("terminal"), "{lines:#?}");
    });
}

#[test]
fn features_speak_in_their_order() {
    act(async {
        let feature = |name, before_model| Feature { name, before_model, ..Feature::default() };
        let stage = Stage::new("text hello")
            .with(feature("one", |_| vec![Block::text("1")]))
            .with(feature("two", |_| vec![Block::text("2")]));
        stage.play("go").await;
        let texts: Vec<String> = stage.request(1);
        let whole = texts.join(" ");
        assert!(whole.find("\"1\"").unwrap() < whole.find("\"2\"").unwrap(), "{whole}");
        assert_eq!(notation::request(&stage.script.sent()[0].messages), texts);
    });
}
