//! Owns interruption: by the token at every place where a prompt can wait, and by a consumer that
//! goes away. What was shown and what was done stays; what was not begun never begins.

use kernel::{Answer, query};

use crate::crew::Scribe;
use crate::notation::{self, expect};
use crate::stage::{Stage, act, act_in_threads};
use crate::valid::assert_sendable;

#[test]
fn pairing_interrupt_open_call_c91ddc() {
    act(async {
        let stage = Stage::new(
            "call tu_1 echo {\"text\":\"real\"}
            call tu_2 slow {\"gate\":\"never\"}
            call tu_3 write

            text done",
        );
        let mut stream = stage.prompt("start");
        let mut events = stage.until(&mut stream, "tool_result tu_1").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        events.extend(stage.rest(stream).await);
        expect(
            &notation::lines(&events)[3..],
            r#"
            tool_start tu_1 echo {"text":"real"} ∥
            tool_start tu_2 slow {"gate":"never"} ∥
            tool_result tu_1 echo ok "real"
            tool_result tu_2 slow error "Error: told to stop"
            tool_result tu_3 write error "Error: interrupted before it started; it was not executed"
            terminal aborted
            "#,
        );
        expect(&stage.log.lines(), "begin tu_1\nend tu_1\nbegin tu_2\nend tu_2");
        let lines = stage.play("go on").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(
            &stage.request(2),
            r#"
            user: "start"
            assistant: call tu_1 echo {"text":"real"} | call tu_2 slow {"gate":"never"} | call tu_3 write {}
            user: result tu_1 ok "real" | result tu_2 error "Error: told to stop" | result tu_3 error "Error: interrupted before it started; it was not executed" | "go on"
            "#,
        );
    });
}

#[test]
fn while_it_streams_the_text_that_was_shown_stays_and_nothing_else() {
    act(async {
        let stage = Stage::new("think hm\ntext Hello\ncall a write\ndelta  and th\nstall\n\ntext hi");
        let mut stream = stage.prompt("hi");
        let mut events = stage.until(&mut stream, "text_delta \"d th\"").await;
        stage.cancel();
        events.extend(stage.rest(stream).await);
        expect(
            &notation::lines(&events)[2..],
            r#"
            thinking_delta "hm"
            text_delta "Hello and th"
            assistant "Hello and th"
            terminal aborted
            "#,
        );
        assert!(stage.log.lines().is_empty());
        stage.play("go on").await;
        expect(
            &stage.request(2),
            r#"
            user: "hi"
            assistant: "Hello and th"
            user: "go on"
            "#,
        );
    });
}

/// The vendor bills what was generated, whether or not it was read to the end.
#[test]
fn the_tokens_of_an_interrupted_answer_are_counted() {
    act(async {
        let stage = Stage::new("usage 100 1\ndelta Hello\nusage 100 7\nstall");
        let stream = stage.prompt("hi");
        Stage::idle().await;
        stage.cancel();
        let lines = notation::lines(&stage.rest(stream).await);
        assert!(lines.contains(&"usage 100+0/7 of 100+0/7".to_owned()), "{lines:#?}");
    });
}

#[test]
fn before_anything_was_shown_nothing_is_kept() {
    act(async {
        let stage = Stage::new("stall\n\ntext hi");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "turn_start").await;
        stage.cancel();
        expect(&notation::lines(&stage.rest(stream).await), "terminal aborted");
        expect(&stage.history(), "user: \"hi\"");
    });
}

#[test]
fn a_prompt_that_is_interrupted_before_it_begins_calls_no_model() {
    act(async {
        let stage = Stage::new("text hi");
        let params = stage.params("hi");
        stage.cancel();
        expect(&notation::lines(&stage.rest(query(params)).await), "user person: \"hi\"\nterminal aborted");
        assert!(stage.script.sent().is_empty());
    });
}

#[test]
fn while_it_waits_for_another_attempt() {
    act(async {
        let stage = Stage::new("delta half\ncut\n\ntext never");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "retry 1").await;
        stage.cancel();
        expect(&notation::lines(&stage.rest(stream).await), "terminal aborted");
        assert_eq!(stage.script.sent().len(), 1);
        expect(&stage.history(), "user: \"hi\"");
    });
}

#[test]
fn while_a_question_waits() {
    act(async {
        let stage = Stage::asking("call a write\ncall b write\n\ntext done", &[]);
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "permission_request q1").await;
        stage.cancel();
        expect(
            &notation::lines(&stage.rest(stream).await),
            r#"
            tool_result a write error "Error: interrupted before it started; it was not executed"
            tool_result b write error "Error: interrupted before it started; it was not executed"
            terminal aborted
            "#,
        );
        assert!(!stage.questions.answer("q1", Answer::Once), "nobody waits any more");
        assert_sendable(&stage.conversation.lock().history());
    });
}

#[test]
fn a_tool_that_ignores_it_costs_a_moment_and_one_result() {
    act(async {
        let stage = Stage::new("call a deaf {\"gate\":\"never\"}\n\ntext done");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        expect(
            &notation::lines(&stage.rest(stream).await),
            r#"
            tool_result a deaf error "Error: interrupted; the tool did not end by itself"
            terminal aborted
            "#,
        );
        stage.signals.raise("never");
        Stage::idle().await;
        expect(&stage.log.lines(), "begin a");
    });
}

/// A tool that is torn down may still speak; the consumer has been told that all is over.
#[test]
fn nothing_follows_terminal() {
    act(async {
        let stage = Stage::new("call a chatty {\"gate\":\"never\"}\n\ntext done");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        // The consumer comes back when all is over.
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        let lines = notation::lines(&stage.rest(stream).await);
        assert_eq!(lines.last().unwrap(), "terminal aborted", "{lines:#?}");
    });
}

#[test]
fn a_tool_that_ends_in_good_time_keeps_its_result() {
    act(async {
        let stage = Stage::new("call a deaf {\"gate\":\"soon\"}\n\ntext done");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("begun:soon").await;
        stage.cancel();
        Stage::idle().await;
        stage.signals.raise("soon");
        let lines = notation::lines(&stage.rest(stream).await);
        assert!(lines.contains(&r#"tool_result a deaf ok "soon opened""#.to_owned()), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "terminal aborted");
    });
}

#[test]
fn calls_of_a_batch_that_wait_for_a_place_never_begin() {
    act(async {
        let calls: Vec<String> = (0..12).map(|n| format!("call c{n} slow {{\"gate\":\"never\"}}")).collect();
        let stage = Stage::new(&calls.join("\n"));
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "tool_start c9").await;
        Stage::idle().await;
        stage.cancel();
        let mut lines = notation::lines(&stage.rest(stream).await);
        assert_eq!(lines.pop().unwrap(), "terminal aborted");
        assert!(!lines.iter().any(|line| line.starts_with("tool_start")), "{lines:#?}");
        let not_run = |line: &&String| line.contains("interrupted before it started");
        assert_eq!((lines.len(), lines.iter().filter(not_run).count()), (12, 2));
        assert_sendable(&stage.conversation.lock().history());
    });
}

/// Between `tool_start` and the tool stands whatever the features do; a person who interrupts there
/// must not see it happen after all.
#[test]
fn while_a_feature_is_busy_with_tool_start_the_tool_does_not_begin() {
    act(async {
        let stage = Stage::new("call a write\n\ntext done");
        let stage = stage.clone().with(Scribe {
            log: stage.log.clone(),
            signals: stage.signals.clone(),
            hold: Some(("tool_start", "let go")),
        });
        let stream = stage.prompt("hi");
        stage.signals.wait("held").await;
        stage.cancel();
        stage.signals.raise("let go");
        stage.rest(stream).await;
        assert!(!stage.log.lines().contains(&"begin a".to_owned()), "{:#?}", stage.log.lines());
    });
}

/// A stage whose scribe raises `over` when the loop has ended, whoever listens.
fn watched(script: &str) -> Stage {
    let stage = Stage::new(script);
    let scribe = Scribe { log: stage.log.clone(), signals: stage.signals.clone(), hold: None };
    stage.with(scribe)
}

#[test]
fn a_consumer_that_goes_away_interrupts_the_tools() {
    act(async {
        let stage = watched("call a slow {\"gate\":\"never\"}\ncall b write\n\ntext done");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "tool_start").await;
        stage.signals.wait("begun:never").await;
        drop(stream);
        stage.signals.wait("over").await;
        let log = stage.log.lines();
        assert!(log.contains(&"end a".to_owned()) && !log.contains(&"begin b".to_owned()), "{log:#?}");
        assert_eq!(log.last().unwrap(), "seen terminal aborted");
        let lines = stage.play("go on").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(
            &stage.request(2)[2..],
            r#"user: result a error "Error: told to stop" | result b error "Error: interrupted before it started; it was not executed" | "go on""#,
        );
    });
}

#[test]
fn a_consumer_that_goes_away_interrupts_the_model_and_the_question() {
    act(async {
        let stage = watched("delta half\nstall\n\ncall a write\n\ntext done");
        let mut stream = stage.prompt("hi");
        stage.until(&mut stream, "text_delta \"lf\"").await;
        drop(stream);
        stage.signals.wait("over").await;
        expect(&stage.history(), "user: \"hi\"\nassistant: \"half\"");

        stage.gate.set_mode(kernel::Mode::Default);
        let mut stream = stage.prompt("more");
        stage.until(&mut stream, "permission_request q1").await;
        drop(stream);
        Stage::idle().await;
        assert!(!stage.questions.answer("q1", Answer::Once));
        let lines = stage.play("go on").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert_sendable(&stage.conversation.lock().history());
    });
}

#[test]
fn a_stream_that_was_read_to_its_end_cancels_nothing() {
    act(async {
        let stage = Stage::new("text hi");
        let params = stage.params("hi");
        let cancel = params.cancel.clone();
        stage.rest(query(params)).await;
        assert!(!cancel.is_cancelled());
    });
}

/// A prompt right after the consumer went away meets a loop that is still winding up. What the new
/// prompt says must be in the history as if the old loop had ended before.
#[test]
fn a_prompt_right_after_the_consumer_went_away_is_not_disturbed() {
    act(async {
        let stage = Stage::new("text done\n\ncall b echo {\"text\":\"new\"}\n\ntext new");
        // A history over the threshold, so that the next prompt begins with a compaction.
        let long = "x ".repeat(2000);
        stage.play(&long).await;
        let held = stage.clone().threshold(400).with(Scribe {
            log: stage.log.clone(),
            signals: stage.signals.clone(),
            hold: Some(("usage", "let go")),
        });
        held.script.summary("text the old was summarised\nusage 10 10");
        let stream = held.prompt("old");
        held.signals.wait("held").await;
        drop(stream);
        // The old loop is held by its journal; the new prompt waits for it and runs to its end.
        let stream = stage.prompt("new prompt");
        Stage::idle().await;
        held.signals.raise("let go");
        let lines = notation::lines(&stage.rest(stream).await);
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(
            &stage.history()[2..],
            r#"
            user: "old"
            user: "new prompt"
            assistant: call b echo {"text":"new"}
            user: result b ok "new"
            assistant: "new"
            "#,
        );
    });
}

/// The real clock and two threads: cancel at whatever moment, read on, prompt again.
#[test]
fn interrupting_at_any_moment_leaves_the_conversation_usable() {
    for number in 0..40_usize {
        act_in_threads(async move {
            let stage = Stage::new(
                "text working\ncall a echo\ncall b flood {\"pieces\":50}\ncall c write\n\ntext done\n\ntext more",
            );
            let mut stream = stage.prompt("hi");
            let mut read = 0;
            let lines = loop {
                if read == number % 14 {
                    stage.cancel();
                    break notation::lines(&stage.rest(stream).await);
                }
                stage.until(&mut stream, "").await;
                read += 1;
            };
            assert!(lines.last().unwrap().starts_with("terminal"), "{lines:#?}");
            assert_sendable(&stage.conversation.lock().history());
            stage.script.add("text again");
            let lines = stage.play("again").await;
            assert_eq!(lines.last().unwrap(), "terminal completed");
            assert_sendable(&stage.conversation.lock().history());
        });
    }
}
