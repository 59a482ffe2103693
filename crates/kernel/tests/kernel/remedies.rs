//! Owns the ladder of remedies as a consumer and a model see it: each rung once per prompt, each one
//! visible, and a history that can be sent after each.

use harness::context::Policy;
use kernel::{Block, EventStream, query};
use serde_json::json;

use crate::notation::{self, expect};
use crate::stage::{Stage, act};

const CONTINUE: &str = "Your last message was cut at the output limit. Go on exactly where it ends; write long files in several smaller steps.";

fn words(count: usize) -> String {
    "abcdefg ".repeat(count).trim_end().to_owned()
}

fn limits(stage: &Stage) -> Vec<u32> {
    stage.script.turns().iter().map(|sent| sent.max_tokens).collect()
}

fn with_output(stage: Stage, most: u32) -> Stage {
    stage.policy(Policy { max_output: Some(most), ..Policy::default() })
}

#[test]
fn truncation_loop_guard_e91574() {
    act(async {
        let stage = with_output(Stage::new("text half\nstop max_tokens\n\ntext whole"), 64_000);
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            text_delta "half"
            retry 1 "the answer was not whole (longer)" void
            turn_start 1
            text_delta "whole"
            assistant "whole"
            terminal completed
            "#,
        );
        assert_eq!(limits(&stage), [1000, 64_000]);
        expect(&stage.history(), "user: \"go\"\nassistant: \"whole\"");
    });
}

#[test]
fn truncation_thinking_eats_budget_b2f74f() {
    act(async {
        let stage = with_output(Stage::new("think a lot\nstop max_tokens\n\ntext whole"), 64_000);
        let lines = stage.play("go").await;
        assert_eq!(lines[3], "retry 1 \"the answer was not whole (longer)\" void");
        assert_eq!(limits(&stage), [1000, 64_000]);
        expect(&stage.history(), "user: \"go\"\nassistant: \"whole\"");
    });
}

/// Half a call never reaches the loop; the decoder drops it. What is left is no answer.
#[test]
fn an_answer_that_stays_too_long_is_continued_once_and_then_ends() {
    act(async {
        let stage = "text one\nstop max_tokens\n\ntext two\nstop max_tokens\n\ntext three\nstop max_tokens";
        let stage = with_output(Stage::new(stage), 2000);
        expect(
            &stage.play("go").await[4..],
            &format!(
                r#"
            turn_start 1
            text_delta "two"
            assistant "two"
            user continue: "{CONTINUE}"
            turn_start 2
            text_delta "three"
            assistant "three"
            notice model warning "the answer was cut at the output limit"
            terminal completed
            "#
            ),
        );
        assert_eq!(limits(&stage), [1000, 2000, 2000]);
    });
}

#[test]
fn truncation_context_window_stop_c0929e() {
    act(async {
        let stage = Stage::new("text fine\n\ntext now I wi\nstop context_window\n\ntext done");
        stage.script.summary("text They said a lot.");
        stage.play(&words(60)).await;
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            text_delta "now I wi"
            retry 1 "the answer was not whole (overflow)" void
            compact overflow 121 -> 32
            turn_start 1
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
    });
}

#[test]
fn truncation_server_text_fallback_35575d() {
    act(async {
        let half = "text <tool_call>{\"name\":\"wri\nstop half_call";
        let stage = Stage::new(&format!("{half}\n\n{half}"));
        let lines = stage.play("go").await;
        assert_eq!(
            lines[lines.len() - 2..],
            [
                "notice model error \"the model wrote half a tool call as text and stopped; nothing of it was run\"",
                "terminal error"
            ]
        );
        assert_eq!(stage.script.sent().len(), 2);
    });
}

/// One recovery, the blocks stay out, and later turns are consistent.
#[test]
fn thinking_binding_400_078cff() {
    act(async {
        let stage = Stage::new(
            "think hm\ntext one\n\nerror thinking bound to a different conversation\n\nthink ok\ntext two\n\ntext three",
        );
        stage.play("a").await;
        let lines = stage.play("b").await;
        assert!(lines[2].starts_with("compact thinking"), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(&stage.request(3), "user: \"a\"\nassistant: \"one\"\nuser: \"b\"");
        stage.play("c").await;
        // What was thought since then stays.
        expect(
            &stage.request(4),
            "user: \"a\"\nassistant: \"one\"\nuser: \"b\"\nassistant: think \"ok\" sig | \"two\"\nuser: \"c\"",
        );
    });
}

#[test]
fn thinking_that_is_refused_again_ends_the_prompt() {
    act(async {
        let stage = Stage::new("think hm\ntext one\n\nerror thinking no\n\nerror thinking no\n\ntext x");
        stage.play("a").await;
        let lines = stage.play("b").await;
        assert_eq!(lines.last().unwrap(), "terminal error");
        assert_eq!(stage.script.sent().len(), 3);
    });
}

fn show(stage: &Stage, sizes: &[usize]) -> EventStream {
    let image = |bytes: &usize| {
        let data = "A".repeat(*bytes);
        Block::Other(json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}))
    };
    let mut params = stage.params("unused");
    params.prompt = [Block::text("look")].into_iter().chain(sizes.iter().map(image)).collect();
    query(params)
}

#[test]
fn image_bad_image_651f8c() {
    act(async {
        let stage = Stage::new("text a cat\n\nerror media messages.2.content.1: Could not process image\n\ntext a dog");
        let first = show(&stage, &[10]);
        stage.rest(first).await;
        let second = show(&stage, &[20]);
        let lines = notation::lines(&stage.rest(second).await);
        assert!(lines[2].starts_with("compact media"), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "terminal completed");
        let sent = stage.script.turns().pop().unwrap().messages;
        let gone = "image left out";
        assert_eq!([sent[0].contains(gone), sent[2].contains(gone)], [false, true]);
    });
}

#[test]
fn retry_overflow_ce6cd1() {
    act(async {
        let stage = Stage::new("error too_large 40 MB\n\nerror too_large 40 MB\n\ntext x");
        let stream = show(&stage, &[100_000, 10]);
        let lines = notation::lines(&stage.rest(stream).await);
        let kinds: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        // The large image goes, the small one stays; there is nothing to summarise.
        assert_eq!(kinds, ["user", "turn_start", "compact", "turn_start", "notice", "terminal"]);
        assert_eq!(lines.last().unwrap(), "terminal error");
        assert_eq!(stage.script.sent().len(), 2);
    });
}

#[test]
fn context_compaction_loop_0d09e0() {
    act(async {
        let stage = Stage::new("text fine\n\nerror overflow\n\ntext done");
        // The request for the summary overflows as well; the second one has less in it.
        stage.script.summary("error overflow");
        stage.script.summary_again("text They said a lot.");
        stage.play(&words(4000)).await;
        let lines = stage.play("go").await;
        assert!(lines[2].starts_with("compact overflow"), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "terminal completed");
        let asked: Vec<_> = stage.script.sent().into_iter().filter(|sent| sent.extra.is_some()).collect();
        assert_eq!(asked.len(), 2);
        let size = |at: usize| asked[at].messages.iter().map(String::len).sum::<usize>();
        assert!(size(1) < size(0) * 6 / 10, "{} of {}", size(1), size(0));
    });
}

#[test]
fn an_overflow_that_a_summary_does_not_mend_ends_after_two_attempts() {
    act(async {
        let stage = Stage::new("text fine\n\nerror overflow\n\ntext done");
        stage.script.summary("error overflow");
        stage.play(&words(60)).await;
        let before = stage.history();
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            notice overflow error "compaction failed: overflow"
            notice model error "overflow" {"kind":"context_overflow","transient":false}
            terminal error
            "#,
        );
        assert_eq!(stage.script.sent().len(), 4);
        assert_eq!(stage.history()[..2], before);
    });
}
