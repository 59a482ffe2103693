//! Owns calls that begin while the model still speaks: what a consumer sees is the same, only sooner.

use std::time::Duration;

use crate::crew::Scribe;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use kernel::{Mode, Rules};
use tokio::time::Instant;

async fn timed(stage: &Stage) -> (Vec<String>, Duration) {
    let started = Instant::now();
    let lines = stage.play("go").await;
    (lines, started.elapsed())
}

#[test]
fn a_call_that_only_looks_runs_while_the_model_still_speaks() {
    act(async {
        let script = "call a look {\"ms\":90,\"text\":\"x\"}\npause 100\ntext and\n\ntext done";
        let stage = Stage::with_gate(script, Mode::Default, Rules::default());
        let (lines, took) = timed(&stage).await;
        expect(
            &lines,
            r#"
            user person: "go"
            turn_start 1
            text_delta "and"
            assistant call a look {"ms":90,"text":"x"} | "and"
            tool_start a look {"ms":90,"text":"x"} →
            tool_result a look ok "x"
            turn_start 2
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
        assert!(took < Duration::from_millis(150), "{took:?}");
    });
}

#[test]
fn nothing_is_said_of_it_before_every_feature_has_taken_the_answer() {
    act(async {
        let stage = Stage::new("call a look\npause 100\n\ntext done");
        let scribe = Scribe { log: stage.log.clone(), ..Scribe::default() };
        let stage = stage.with(scribe);
        stage.play("go").await;
        let log = stage.log.lines();
        let at = |start: &str| log.iter().position(|line| line.starts_with(start)).unwrap();
        let order = ["begin early", "end early", "seen assistant", "seen tool_start", "seen tool_result"].map(at);
        assert!(order.is_sorted(), "{log:#?}");
    });
}

#[test]
fn what_must_run_alone_and_all_after_it_wait() {
    act(async {
        let script = "call a write\ncall b look {\"ms\":10}\npause 100\n\ntext done";
        let stage = Stage::new(script);
        stage.play("go").await;
        assert_eq!(stage.log.lines(), ["begin a", "end a", "begin b", "end b"]);
    });
}

#[test]
fn what_needs_a_question_waits() {
    act(async {
        let rules = Rules { ask: vec![crate::cast::rule("look", kernel::Origin::User)], ..Rules::default() };
        let stage = Stage::with_gate("call a look\npause 100\n\ntext done", Mode::Default, rules);
        let stream = stage.prompt("go");
        let mut stream = stream;
        stage.until(&mut stream, "permission_request").await;
        assert!(stage.log.lines().is_empty());
        stage.cancel();
        stage.rest(stream).await;
    });
}

#[test]
fn it_is_dropped_with_the_attempt_and_runs_once_for_the_answer_that_counts() {
    act(async {
        let script = "call a look {\"ms\":50}\npause 10\ncut\n\ncall b look {\"ms\":1}\n\ntext done";
        let stage = Stage::new(script);
        let (lines, _) = timed(&stage).await;
        assert_eq!(stage.log.lines(), ["begin early", "begin b", "end b"]);
        assert_eq!(lines.iter().filter(|line| line.starts_with("tool_result")).count(), 1, "{lines:#?}");
        assert_eq!(stage.history().len(), 4);
    });
}

#[test]
fn pairing_interrupt_open_call_0aa35e() {
    act(async {
        let stage = Stage::new("call x look {\"ms\":50}\ndelta half a call\nstall\n\ntext again");
        let stream = stage.prompt("go");
        Stage::idle().await;
        stage.cancel();
        let lines = notation::lines(&stage.rest(stream).await);
        assert_eq!(lines.last().unwrap(), "terminal aborted");
        // The text that was shown is kept; a call of which nothing was said never was.
        expect(&stage.history(), "user: \"go\"\nassistant: \"half a call\"");
        assert_eq!(stage.log.lines(), ["begin early"]);
        assert_eq!(stage.play("on").await.last().unwrap(), "terminal completed");
    });
}

#[test]
fn results_keep_the_order_of_the_calls_however_they_began() {
    act(async {
        let script = "call a look {\"ms\":90,\"text\":\"1\"}\ncall b look {\"ms\":5,\"text\":\"2\"}\ncall c nothing\n\
                      call d echo {\"text\":\"4\"}\npause 20\n\ntext done";
        let stage = Stage::new(script);
        stage.play("go").await;
        let known = crate::cast::PARTS.join(", ");
        assert_eq!(
            stage.request(2)[2],
            format!(
                "user: result a ok \"1\" | result b ok \"2\" | result c error \"Error: there is no tool `nothing`; \
                 the tools are: {known}\" | result d ok \"4\""
            )
        );
    });
}
