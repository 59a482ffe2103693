//! Owns what goes wrong with the model: errors, cut streams, refusals, empty answers. Each leaves
//! the conversation usable.

use std::sync::Arc;

use kernel::{Act, Block, Draft, EpochKind, Message, Model, ModelEvents, ModelRequest, Trouble, query};

use crate::crew::Feature;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

#[test]
fn a_failed_call_says_why_and_the_next_prompt_works() {
    act(async {
        let stage = Stage::new("error auth the key is wrong\n\ntext hello");
        expect(
            &stage.play("hi").await,
            r#"
            user person: "hi"
            turn_start 1
            notice model error "the key is wrong" {"kind":"auth","transient":false}
            terminal error
            "#,
        );
        expect(
            &stage.play("again").await,
            r#"
            user person: "again"
            turn_start 1
            text_delta "hello"
            assistant "hello"
            terminal completed
            "#,
        );
        expect(&stage.request(2), "user: \"hi\"\nuser: \"again\"");
    });
}

#[test]
fn a_call_that_fails_after_a_round_keeps_its_results() {
    act(async {
        let stage = Stage::new("call a echo {\"text\":\"42\"}\n\nerror invalid\n\ntext hello");
        let lines = stage.play("hi").await;
        assert_eq!(lines.last().unwrap(), "terminal error");
        stage.play("go").await;
        expect(
            &stage.request(3),
            r#"
            user: "hi"
            assistant: call a echo {"text":"42"}
            user: result a ok "42"
            user: "go"
            "#,
        );
    });
}

#[test]
fn the_models_own_wait_is_shown_and_voids_nothing() {
    act(async {
        let stage = Stage::new("retry busy\ntext hello");
        expect(
            &stage.play("hi").await[2..],
            r#"
            retry 1 "busy"
            text_delta "hello"
            assistant "hello"
            terminal completed
            "#,
        );
    });
}

#[test]
fn a_cut_stream_is_void_and_asked_for_again() {
    act(async {
        let stage = Stage::new(
            "text I will
            call a write
            delta and th
            cut

            text hello",
        );
        expect(
            &stage.play("hi").await,
            r#"
            user person: "hi"
            turn_start 1
            text_delta "I willand th"
            retry 1 "the stream of the answer ended before the answer did" void
            text_delta "hello"
            assistant "hello"
            terminal completed
            "#,
        );
        assert!(stage.log.lines().is_empty(), "a tool of a void answer ran");
        let sent = stage.script.sent();
        assert_eq!(sent[0], sent[1]);
        expect(&stage.history(), "user: \"hi\"\nassistant: \"hello\"");
    });
}

#[test]
fn attempts_are_used_up_and_then_it_fails() {
    act(async {
        let stage = Stage::new(&["delta x\nerror overloaded the server is busy"; 5].join("\n\n"));
        expect(
            &stage.play("hi").await,
            r#"
            user person: "hi"
            turn_start 1
            text_delta "x"
            retry 1 "the server is busy" void
            text_delta "x"
            retry 2 "the server is busy" void
            text_delta "x"
            retry 3 "the server is busy" void
            text_delta "x"
            assistant "x"
            notice model error "the server is busy" {"kind":"overloaded","transient":true}
            terminal error
            "#,
        );
        assert_eq!(stage.script.sent().len(), 4);
        // What was shown last stays, so that the next prompt can go on from it.
        expect(&stage.history(), "user: \"hi\"\nassistant: \"x\"");
    });
}

/// Each attempt is billed.
#[test]
fn the_tokens_of_a_void_attempt_are_counted() {
    act(async {
        let stage = Stage::new("usage 100 1\ndelta x\ncut\n\ntext hello\nusage 100 5");
        stage.play("hi").await;
        let total = stage.meter.total();
        assert_eq!((total.input_tokens, total.output_tokens), (200, 6));
    });
}

/// Attempts are counted for the prompt, and a call that succeeds gives one back.
#[test]
fn attempts_belong_to_the_prompt_and_come_back_with_success() {
    act(async {
        let stage =
            Stage::new("delta x\ncut\n\ndelta x\ncut\n\ncall a echo\n\ndelta x\ncut\n\ndelta x\ncut\n\ntext done");
        let lines = stage.play("hi").await;
        let retries: Vec<String> = lines.iter().filter(|l| l.starts_with("retry")).cloned().collect();
        let attempt = |n| format!("retry {n} \"the stream of the answer ended before the answer did\" void");
        assert_eq!(retries, [attempt(1), attempt(2), attempt(2), attempt(3)]);
        assert_eq!(lines.last().unwrap(), "terminal completed");
    });
}

#[test]
fn the_wait_that_the_server_asked_for_is_kept() {
    act(async {
        let stage = Stage::new("delta x\nerror rate_limited\n\ntext hello");
        let before = tokio::time::Instant::now();
        let events = stage.rest(stage.prompt("hi")).await;
        let delay = events.iter().find_map(|event| match event {
            kernel::AgentEvent::Retry { delay_ms, .. } => Some(*delay_ms),
            _ => None,
        });
        assert_eq!(delay, Some(20));
        assert!((20..30).contains(&before.elapsed().as_millis()), "{:?}", before.elapsed());
    });
}

#[test]
fn before_the_first_delta_and_for_what_will_not_help_the_loop_does_not_try_again() {
    act(async {
        for script in ["error overloaded\n\ntext x", "usage 1 1\ncut\n\ntext x", "delta x\nerror auth\n\ntext x"] {
            let stage = Stage::new(script);
            let lines = stage.play("hi").await;
            assert_eq!(lines.last().unwrap(), "terminal error", "{script}");
            assert_eq!(stage.script.sent().len(), 1, "{script}");
        }
    });
}

#[test]
fn a_refusal_keeps_nothing_and_counts_its_tokens() {
    act(async {
        let stage = Stage::new(
            "text Well
            call a write
            usage 7 3
            stop refusal cyber

            error refused not this

            text hello",
        );
        expect(
            &stage.play("hi").await[3..],
            r#"
            usage 7+0/3 of 7+0/3
            notice model error "the model declined: cyber" {"kind":"refused","transient":false}
            terminal refused
            "#,
        );
        expect(
            &stage.play("hm").await[2..],
            r#"
            notice model error "not this" {"kind":"refused","transient":false}
            terminal refused
            "#,
        );
        assert!(stage.log.lines().is_empty());
        stage.play("sorry").await;
        expect(&stage.request(3), "user: \"hi\"\nuser: \"hm\"\nuser: \"sorry\"");
    });
}

#[test]
fn an_empty_answer_is_asked_for_once_more_and_not_kept() {
    act(async {
        let stage = Stage::new("text \\s\nusage 5 2\n\ntext \\s\n\ntext hello");
        expect(
            &stage.play("hi").await[3..],
            r#"
            usage 5+0/2 of 5+0/2
            user nudge: "Your last message had no answer in it. Go on."
            turn_start 2
            text_delta " "
            notice model warning "the model ended without an answer"
            terminal completed
            "#,
        );
        stage.play("again").await;
        expect(
            &stage.request(3),
            r#"
            user: "hi"
            user: "Your last message had no answer in it. Go on."
            user: "again"
            "#,
        );
    });
}

#[test]
fn a_model_that_panics_ends_the_prompt_and_not_the_session() {
    act(async {
        let stage = Stage::new("call a echo {\"text\":\"1\"}\n\npanic\n\ntext hello");
        let lines = stage.play("hi").await;
        expect(
            &lines[5..],
            r#"
            turn_start 2
            notice loop error "rsagent failed inside: the model broke"
            terminal error
            "#,
        );
        stage.play("again").await;
        expect(
            &stage.history(),
            r#"
            user: "hi"
            assistant: call a echo {"text":"1"}
            user: result a ok "1"
            user: "again"
            assistant: "hello"
            "#,
        );
    });
}

#[test]
fn a_feature_may_propose_a_history_once() {
    act(async {
        let feature = Feature {
            remedy: |at, trouble| {
                let Trouble::Failed(error) = trouble else { return None };
                let text = format!("less, at {}.{}: {error}", at.depth, at.turn);
                let messages = vec![Arc::new(Message::user(text))];
                Some(Act::Epoch(Draft { kind: EpochKind::Filtered, messages }))
            },
            ..Feature::default()
        };
        let stage = Stage::new("error overflow\n\ntext hello\n\nerror overflow\n\nerror overflow").with(feature);
        let lines = stage.play("hi").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(&stage.request(2), "user: \"less, at 0.1: overflow\"");
        let lines = stage.play("more").await;
        assert_eq!(lines.last().unwrap(), "terminal error");
        assert_eq!(stage.script.sent().len(), 4, "once for each prompt");
    });
}

/// Otherwise a journal could not tell what was sent from then on.
#[test]
fn an_epoch_that_a_feature_proposed_is_an_event() {
    act(async {
        let feature = Feature {
            remedy: |_, trouble| {
                let messages = vec![Arc::new(Message::user("less"))];
                matches!(trouble, Trouble::Failed(_))
                    .then_some(Act::Epoch(Draft { kind: EpochKind::Filtered, messages }))
            },
            ..Feature::default()
        };
        let stage = Stage::new("error overflow\n\ntext hello").with(feature);
        let lines = stage.play("hi").await;
        assert!(lines.iter().any(|line| line.starts_with("compact")), "{lines:#?}");
    });
}

/// A model that checks that history is shared, never copied, and frees it when it is done.
struct Holding(Stage);

impl Model for Holding {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        assert!(Arc::ptr_eq(&request.messages, &self.0.conversation.lock().messages()));
        self.0.script.stream(request)
    }
}

#[test]
fn a_request_shares_the_history_and_appending_copies_nothing() {
    act(async {
        let stage = Stage::new("call a echo\n\ntext done");
        let mut params = stage.params("hi");
        params.model = Arc::new(Holding(stage.clone()));
        params.prompt = vec![Block::text("hi")];
        let lines = notation::lines(&stage.rest(query(params)).await);
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert_eq!(Arc::strong_count(&stage.conversation.lock().messages()), 2);
        assert_sendable(&stage.conversation.lock().history());
    });
}
