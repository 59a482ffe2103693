//! Known failures of pairing calls with results, each by the id of its case.
//!
//! Policy: a call that was not whole, or whose answer broke, is as if it had never been; ids are made
//! sendable and unique when they enter; a summary carries calls and results as text alone. What a
//! process that died leaves in a file (`pairing-resume-open-call-8f98c3`) needs the journal.

use std::time::Duration;

use async_trait::async_trait;
use kernel::{AgentEvent, Block, Extension};

use crate::cast::Log;
use crate::crew::Feature;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

/// Every request so far could be sent.
fn assert_all_sendable(stage: &Stage) {
    for sent in stage.script.sent() {
        let messages: Vec<serde_json::Value> =
            sent.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_sendable(&messages);
    }
}

fn words(count: usize) -> String {
    "abcdefg ".repeat(count).trim_end().to_owned()
}

fn compacts(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("compact")).count()
}

fn begun(stage: &Stage) -> Vec<String> {
    stage.log.lines().into_iter().filter(|line| line.starts_with("begin")).collect()
}

#[test]
fn pairing_compaction_orphan_result_021856() {
    act(async {
        let turn = |number| format!("text step\ncall c{number} echo {{\"text\":\"{}\"}}", words(10));
        let turns: Vec<String> = (0..60).map(turn).collect();
        let stage = Stage::new(&format!("{}\n\ntext done", turns.join("\n\n"))).threshold(300);
        stage.script.summary("text Steps were taken.");
        let lines = stage.play("walk").await;
        assert!(compacts(&lines) >= 2, "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert_all_sendable(&stage);
        // Of no call that a summary took the place of, a result is sent.
        let last = stage.request(61).join("\n");
        assert!(!last.contains("result c0 ") && last.contains("result c59 "), "{last}");
    });
}

#[test]
fn pairing_compaction_orphan_result_9c22c6() {
    act(async {
        let stage = Stage::new("call r7 echo {\"text\":\"found it\"}\n\ntext renamed").max_turns(1);
        stage.script.summary("text They look for a name.");
        stage.play(&words(100)).await;
        stage.play("also rename it").await;
        expect(&stage.request(2)[2..], r#"user: result r7 ok "found it" | "also rename it""#);
        assert_eq!(stage.compact().await.last().unwrap(), "terminal completed");
        expect(
            &stage.history(),
            r#"user: "The conversation so far was summarised to save room.\n\n<summary>\nThey look for a name.\n</summary>" | "The user's newest request, verbatim:" | "also rename it" | "The last messages, as text. Go on from here:\n\nrenamed""#,
        );
    });
}

#[test]
fn pairing_compaction_orphan_use_2e36d5() {
    act(async {
        let long = words(100);
        let stage = Stage::new(&format!("call p3 echo {{\"text\":\"{long}\"}}\n\nerror overflow\n\ntext went on"));
        stage.script.summary("error overflow");
        let lines = stage.play("begin").await;
        assert_eq!(lines.last().unwrap(), "terminal error");
        stage.script.summary("text They said a lot.");
        let lines = stage.compact().await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (1, "terminal completed"), "{lines:#?}");
        assert_eq!(stage.play("continue").await.last().unwrap(), "terminal completed");
        assert_all_sendable(&stage);
        assert!(!stage.history().join("\n").contains("p3"), "{:#?}", stage.history());
    });
}

/// The same where nothing has answered the call when it is summarised: a person interrupted it.
#[test]
fn a_summary_after_an_interruption_has_no_open_call() {
    act(async {
        let stage = Stage::new("text fine\n\ncall p3 slow {\"gate\":\"never\"}\n\ntext went on");
        stage.script.summary("text They said a lot.");
        stage.play(&words(100)).await;
        let mut stream = stage.prompt("begin");
        stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        stage.rest(stream).await;
        let lines = stage.compact().await;
        assert_eq!(lines.last().unwrap(), "terminal completed", "{lines:#?}");
        assert_eq!(stage.play("continue").await.last().unwrap(), "terminal completed");
        assert_all_sendable(&stage);
    });
}

#[test]
fn pairing_duplicate_ids_da0be3() {
    act(async {
        let call = |text| format!("call call_0 echo {{\"text\":\"{text}\"}}");
        let stage = Stage::new(&format!("{}\n\n{}\n\n{}\n\ntext done", call("one"), call("two"), call("three")));
        stage.play("go").await;
        expect(
            &stage.request(4),
            r#"
            user: "go"
            assistant: call call_0 echo {"text":"one"}
            user: result call_0 ok "one"
            assistant: call call_0_2 echo {"text":"two"}
            user: result call_0_2 ok "two"
            assistant: call call_0_3 echo {"text":"three"}
            user: result call_0_3 ok "three"
            "#,
        );
        assert_all_sendable(&stage);
    });
}

#[test]
fn pairing_duplicate_ids_9b2d9c() {
    act(async {
        let stage = Stage::new(
            "call edit:22 write {\"text\":\"a\"}
            call edit:22 write {\"text\":\"b\"}
            call edit_22_2 write {\"text\":\"c\"}

            text done",
        );
        stage.play("go").await;
        assert_eq!(begun(&stage), ["begin edit_22", "begin edit_22_2", "begin edit_22_2_2"]);
        expect(
            &stage.request(2)[1..],
            r#"
            assistant: call edit_22 write {"text":"a"} | call edit_22_2 write {"text":"b"} | call edit_22_2_2 write {"text":"c"}
            user: result edit_22 ok "a" | result edit_22_2 ok "b" | result edit_22_2_2 ok "c"
            "#,
        );
        assert_all_sendable(&stage);
    });
}

#[test]
fn pairing_errored_message_2db92a() {
    act(async {
        for error in ["error transport", "error overloaded", "error auth", "error invalid", "cut"] {
            let mut stage = Stage::new(&format!("text I look\ncall e1 echo\n{error}\n\ntext hi"));
            stage.retries = 0;
            let lines = stage.play("go").await;
            assert_eq!(lines.last().unwrap(), "terminal error");
            assert_eq!(stage.play("again").await.last().unwrap(), "terminal completed");
            expect(
                &stage.request(2),
                r#"
                user: "go"
                assistant: "I look"
                user: "again"
                "#,
            );
            assert_eq!(begun(&stage), [""; 0], "{error}");
        }
    });
}

#[test]
fn pairing_foreign_ids_4b22b1() {
    act(async {
        let stage = Stage::new(
            "call call_AbC|fc_0f29_ echo {\"text\":\"one\"}
            call call_AbC+fc_0f29_ echo {\"text\":\"two\"}
            call é.1 echo {\"text\":\"three\"}

            text done

            text here",
        );
        stage.play("go").await;
        // Another model goes on with it.
        let mut params = stage.params("and now");
        params.model_id = "claude-test".into();
        stage.rest(kernel::query(params)).await;
        expect(
            &stage.request(3)[1..3],
            r#"
            assistant: call call_AbC_fc_0f29_ echo {"text":"one"} | call call_AbC_fc_0f29__2 echo {"text":"two"} | call __1 echo {"text":"three"}
            user: result call_AbC_fc_0f29_ ok "one" | result call_AbC_fc_0f29__2 ok "two" | result __1 ok "three"
            "#,
        );
        assert_all_sendable(&stage);
    });
}

/// Writes down the message that calls, slowly, and what comes of it.
struct Slow(Log);

#[async_trait]
impl Extension for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn on_event(&self, event: &AgentEvent) {
        if matches!(event, AgentEvent::Assistant { .. }) {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        let line = notation::line(event);
        if line.starts_with("assistant call") || line.starts_with("tool_result") {
            self.0.add(line);
        }
    }
}

#[test]
fn pairing_result_order_a4fafe() {
    act(async {
        // One begins while the model still speaks and is done long before the message is written down.
        for call in [r#"look {"ms":50,"text":"x"}"#, r#"echo {"text":"x"}"#] {
            let name = call.split(' ').next().unwrap();
            let log = Log::default();
            let stage = Stage::new(&format!("call a {call}\npause 100\n\ntext done")).with(Slow(log.clone()));
            stage.play("go").await;
            let called = format!("assistant call a {call}");
            assert_eq!(log.lines(), [called, format!("tool_result a {name} ok \"x\"")]);
        }
    });
}

/// Within one process; the file of a session that ended is the journal's affair.
#[test]
fn pairing_resume_open_call_f41b04() {
    act(async {
        let stage = Stage::new("call a write {\"text\":\"42\"}\n\nerror transport connection refused\n\ntext fine");
        assert_eq!(stage.play("compute").await.last().unwrap(), "terminal error");
        assert_eq!(stage.play("go").await.last().unwrap(), "terminal completed");
        assert_eq!(begun(&stage), ["begin a"]);
        expect(
            &stage.request(3),
            r#"
            user: "compute"
            assistant: call a write {"text":"42"}
            user: result a ok "42"
            user: "go"
            "#,
        );
    });
}

/// A queue is a feature: what it holds goes behind the results, whichever hook hands it over.
#[test]
fn pairing_steering_message_8487b6() {
    act(async {
        let script = "call s1 echo {\"text\":\"x\"}\n\ncall s2 echo {\"text\":\"y\"}\n\ntext done";
        let queue = Feature {
            after_tool: |call, _| if call.at.turn == 1 { vec![Block::text("use tabs")] } else { Vec::new() },
            ..Feature::default()
        };
        let stage = Stage::new(script).with(queue);
        stage.play("go").await;
        expect(&stage.request(2)[2..], r#"user: result s1 ok "x" | "use tabs""#);
        assert_eq!(stage.request(3).join("\n").matches("use tabs").count(), 1);
        // Just before the call: a dialect joins what stands behind one another.
        let queue = Feature {
            before_model: |at| if at.turn == 2 { vec![Block::text("use tabs")] } else { Vec::new() },
            ..Feature::default()
        };
        let stage = Stage::new(script).with(queue);
        stage.play("go").await;
        expect(&stage.request(2)[2..], "user: result s1 ok \"x\"\nuser: \"use tabs\"");
        assert_eq!(stage.request(3).join("\n").matches("use tabs").count(), 1);
        assert_all_sendable(&stage);
    });
}

#[test]
fn pairing_stop_reason_trust_5e9247() {
    act(async {
        for stop in ["max_tokens", "end_turn", "context_window", "pause_turn", "sensitive", "half_call"] {
            let stage =
                Stage::new(&format!("text Reading.\ncall m1 echo {{\"text\":\"x\"}}\nstop {stop}\n\ntext done"));
            assert_eq!(stage.play("go").await.last().unwrap(), "terminal completed", "{stop}");
            expect(
                &stage.request(2)[1..],
                r#"
                assistant: "Reading." | call m1 echo {"text":"x"}
                user: result m1 ok "x"
                "#,
            );
        }
        // And the other way round: nothing is called, whatever the reason says.
        let stage = Stage::new("text done\nstop tool_use");
        assert_eq!(stage.play("go").await.last().unwrap(), "terminal completed");
        assert_eq!(stage.script.sent().len(), 1);
    });
}

#[test]
fn pairing_synthetic_result_survives_5bfb1e() {
    act(async {
        let turns: Vec<String> =
            (0..60).map(|number| format!("call t{number} echo {{\"text\":\"{}\"}}", words(10))).collect();
        let stage = Stage::new(&format!("call n1 slow {{\"gate\":\"never\"}}\n\n{}\n\ntext done", turns.join("\n\n")));
        let mut stream = stage.prompt("begin");
        stage.until(&mut stream, "tool_start n1").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        stage.rest(stream).await;
        assert!(stage.history().join("\n").contains("result n1 error"));
        let lines = stage.play("go on").await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (0, "terminal completed"));
        stage.script.summary("text Sixty steps.");
        let lines = stage.compact().await;
        assert_eq!(compacts(&lines), 1, "{lines:#?}");
        stage.script.add("text here");
        assert_eq!(stage.play("next").await.last().unwrap(), "terminal completed");
        assert_all_sendable(&stage);
        assert!(!stage.request(63).join("\n").contains("n1"));
    });
}

#[test]
fn pairing_text_before_result_b823bc() {
    act(async {
        let reminder = Feature {
            after_tool: |_, _| vec![Block::text("todo list is empty")],
            before_model: |at| if at.turn == 1 { vec![Block::text("it is late")] } else { Vec::new() },
            ..Feature::default()
        };
        let stage =
            Stage::new("call r1 echo {\"text\":\"x\"}\ncall r2 nothing\ncall r3 echo\n\ntext done").with(reminder);
        stage.play("go").await;
        let sent = stage.request(2);
        let blocks: Vec<&str> = sent[3].split(" | ").map(|block| block.split('"').next().unwrap()).collect();
        assert_eq!(blocks, ["user: result r1 ok ", "result r2 error ", "result r3 ok ", "", ""]);
        assert!(sent[3].ends_with(r#"| "todo list is empty" | "todo list is empty""#), "{}", sent[3]);
        assert_all_sendable(&stage);
    });
}
