//! Owns compaction as a consumer and a model see it: when, with which request, what takes the place
//! of history, and how it fails.

use harness::context::Policy;
use std::sync::Arc;

use kernel::{Block, Conversation, Draft, EpochKind, Message, Role};

use crate::crew::Feature;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

/// Words of eight bytes, two tokens each.
fn words(count: usize) -> String {
    "abcdefg ".repeat(count).trim_end().to_owned()
}

fn compacts(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("compact")).count()
}

#[test]
fn two_prompts_over_a_tiny_threshold() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here")
            .threshold(100)
            .with(Feature { pins: vec!["The plan: one step".into()], ..Feature::default() });
        stage.script.summary("text They said a lot.\nusage 9 9");
        // 479 + 4 bytes, and 12 of the new request. After: 91 of the summary and its frame, 18 of the
        // pin, 36 + 12 of the request.
        stage.play(&words(60)).await;
        expect(
            &stage.play("next, please").await,
            r#"
            user person: "next, please"
            usage 9+0/9 of 9+0/9
            compact auto 123 -> 39
            turn_start 1
            text_delta "here"
            assistant "here"
            terminal completed
            "#,
        );
        let sent = stage.script.sent();
        assert_eq!(sent.len(), 3);
        // The request for the summary extends what was sent before, so that it is read from a cache.
        assert_eq!(sent[1].messages[..1], sent[0].messages);
        assert_eq!(sent[1].prefix, sent[0].prefix);
        assert_eq!((sent[1].messages.len(), sent[2].messages.len()), (3, 1));
        let extra: Message = serde_json::from_str(sent[1].extra.as_ref().unwrap()).unwrap();
        assert_eq!(extra.role, Role::User);
        assert!(extra.text().starts_with("SUMMARIZE_CONTEXT"), "{}", extra.text());
        assert_eq!(sent[2].extra, None);
        expect(
            &stage.history(),
            r#"
            user: "The conversation so far was summarised to save room.\n\n<summary>\nThey said a lot.\n</summary>" | "The plan: one step" | "The user's newest request, verbatim:" | "next, please"
            assistant: "here"
            "#,
        );
    });
}

#[test]
fn the_tail_that_is_kept_is_rendered_as_text() {
    act(async {
        let result = words(20);
        let stage = Stage::new(&format!(
            "text I look
            call a echo {{\"text\":\"{result}\"}}

            think hm
            text And again
            call b echo {{\"text\":\"short\"}}
            call c nothing

            text done"
        ))
        .threshold(120);
        stage.script.summary("text Looked at a.");
        let lines = stage.play("look twice").await;
        assert_eq!(compacts(&lines), 1, "{lines:#?}");
        let known = crate::cast::PARTS.join(", ");
        expect(
            &stage.history(),
            &r#"
            user: "The conversation so far was summarised to save room.\n\n<summary>\nLooked at a.\n</summary>" | "The user's newest request, verbatim:" | "look twice" | "The last messages, as text. Go on from here:\n\nAnd again\n\n[called echo with {\"text\":\"short\"}]\n\n[called nothing with {}]\n\n[it returned]\nshort\n\n[it failed]\nError: there is no tool `nothing`; the tools are: KNOWN"
            assistant: "done"
            "#
            .replace("KNOWN", &known),
        );
    });
}

#[test]
fn a_summary_that_is_not_smaller_is_said_once_and_the_loop_goes_on() {
    act(async {
        let stage = Stage::new("text fine\n\ncall a echo\n\ntext here").threshold(100);
        stage.script.summary(&format!("text {}", words(80)));
        stage.play(&words(60)).await;
        let before = stage.history();
        expect(
            &stage.play("next").await,
            r#"
            user person: "next"
            notice auto error "the history stays as it was: the summary is not smaller than what it replaces (188 tokens, was 121)"
            turn_start 1
            assistant call a echo {}
            tool_start a echo {} →
            tool_result a echo ok "(no output)"
            turn_start 2
            text_delta "here"
            assistant "here"
            terminal completed
            "#,
        );
        assert_eq!(stage.history()[..2], before);
    });
}

#[test]
fn a_summary_that_fails_leaves_history_as_it_was() {
    act(async {
        for (summary, words_of_it) in [
            ("error auth no key", "compaction failed: no key"),
            ("text \\s", "compaction failed: the model wrote no whole answer"),
            ("call a echo", "compaction failed: the model wrote no whole answer"),
        ] {
            let stage = Stage::new("text fine\n\ntext here").threshold(100);
            stage.script.summary(summary);
            stage.play(&words(60)).await;
            let lines = stage.play("next").await;
            assert_eq!(lines[1], format!("notice auto error \"{words_of_it}\""));
            assert_eq!(lines.last().unwrap(), "terminal completed");
            assert_eq!(stage.history().len(), 4);
        }
    });
}

/// A model that declines has summarised nothing: its apology must not take the place of the work.
#[test]
fn a_refused_summary_leaves_history_as_it_was() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here").threshold(100);
        stage.script.summary("text I cannot help with that.\nstop refusal");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!(compacts(&lines), 0, "{lines:#?}");
        assert_eq!(stage.history().len(), 4);
    });
}

/// A summary that was cut lacks its end: what is still open, and the next step.
#[test]
fn a_summary_that_was_cut_at_the_output_limit_leaves_history_as_it_was() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here").threshold(100);
        stage.script.summary("text 1. The user wa\nstop max_tokens");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!(compacts(&lines), 0, "{lines:#?}");
    });
}

#[test]
fn a_summary_is_not_shown_and_a_cut_one_is_asked_for_again() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here").threshold(100);
        stage.script.summary("delta half\ncut");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        let attempt = |n| format!("retry {n} \"the stream of the answer ended before the answer did\" void");
        assert_eq!(lines[1..4], [attempt(1), attempt(2), attempt(3)]);
        assert!(lines[4].starts_with("notice auto error"), "{}", lines[4]);
        assert!(!lines.iter().any(|line| line.contains("half")));
    });
}

#[test]
fn interrupting_a_compaction_leaves_history_as_it_was() {
    act(async {
        let stage = Stage::new("text fine").threshold(100);
        stage.script.summary("delta half\nstall");
        stage.play(&words(60)).await;
        let stream = stage.prompt("next");
        Stage::idle().await;
        stage.cancel();
        expect(&notation::lines(&stage.rest(stream).await), "user person: \"next\"\nterminal aborted");
        assert_eq!(stage.history().len(), 3);
    });
}

#[test]
fn one_prompt_of_three_hundred_turns_stays_under_its_threshold_and_valid() {
    act(async {
        let turn = format!("text step\ncall c echo {{\"text\":\"{}\"}}", words(10));
        let stage = Stage::new(&format!("{}\n\ntext done", vec![turn; 300].join("\n\n")))
            .threshold(500)
            .with(Feature { pins: vec!["The plan".into()], ..Feature::default() });
        stage.script.summary("text Many steps were taken.");
        let lines = stage.play("walk three hundred steps").await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        assert_eq!(lines.iter().filter(|line| line.starts_with("tool_result")).count(), 300);
        let count = compacts(&lines);
        assert!((5..60).contains(&count), "{count} compactions");
        assert!(!lines.iter().any(|line| line.starts_with("notice")), "{lines:#?}");
        let sent = stage.script.sent();
        for pair in sent.windows(2) {
            let messages: Vec<serde_json::Value> =
                pair[1].messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            assert_sendable(&messages);
            match pair[0].extra {
                // What follows a summary starts afresh, with what must not be lost.
                Some(_) => {
                    let first = messages[0].to_string();
                    for kept in ["Many steps were taken.", "The plan", "walk three hundred steps"] {
                        assert!(first.contains(kept), "{first}");
                    }
                }
                None => assert!(pair[1].messages.starts_with(&pair[0].messages)),
            }
            // 500 tokens, and the one round that came after the check.
            let size: usize = pair[1].messages.iter().map(String::len).sum();
            assert!(pair[1].extra.is_some() || size < 4 * 2 * 500, "{size} bytes");
        }
    });
}

#[test]
fn stale_usage_does_not_compact_twice() {
    act(async {
        let stage = Stage::new("text fine\nusage 90000 10\n\ntext here\n\ntext there").threshold(1000);
        stage.script.summary("text Short.");
        stage.play("first").await;
        assert_eq!(compacts(&stage.play("second").await), 1);
        assert_eq!(compacts(&stage.play("third").await), 0);
    });
}

/// What neither pins nor the newest request leave room for cannot be helped by a summary a turn.
#[test]
fn a_request_over_the_threshold_is_not_summarised_at_every_turn() {
    act(async {
        let turn = format!("call c echo {{\"text\":\"{}\"}}", words(20));
        let stage = Stage::new(&format!("{}\n\ntext done", vec![turn; 8].join("\n\n"))).threshold(100);
        stage.script.summary("text Short.");
        let lines = stage.play(&words(100)).await;
        assert_eq!(lines.last().unwrap(), "terminal completed");
        let count = compacts(&lines);
        assert!(count <= 2, "{count} compactions in 9 turns, none of them under the threshold");
    });
}

#[test]
fn ids_stay_unique_across_epochs() {
    act(async {
        let stage = Stage::new("call a echo\n\ntext fine\n\ncall a echo\n\ntext here").threshold(100);
        stage.script.summary("text Short.");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!(compacts(&lines), 1);
        assert!(lines.contains(&"assistant call a_2 echo {}".to_owned()), "{lines:#?}");
    });
}

#[test]
fn compaction_by_hand() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here");
        stage.script.summary("text They said a lot.");
        expect(
            &stage.compact().await,
            r#"
            notice manual error "nothing to compact yet"
            terminal error
            "#,
        );
        stage.play(&words(60)).await;
        stage.play(&words(50)).await;
        expect(
            &stage.compact().await,
            r#"
            compact manual 221 -> 144
            terminal completed
            "#,
        );
        // The last answer was kept as it was, and the request before it.
        expect(
            &stage.history(),
            &format!(
                r#"user: "The conversation so far was summarised to save room.\n\n<summary>\nThey said a lot.\n</summary>" | "The user's newest request, verbatim:" | "{}" | "The last messages, as text. Go on from here:\n\nhere""#,
                words(50)
            ),
        );
        stage.script.add("text there");
        stage.play("next").await;
        assert_eq!(stage.request(3)[1], "user: \"next\"");
        assert_eq!(stage.request(3).len(), 2);
    });
}

#[test]
fn compaction_by_hand_closes_an_interrupted_round_first() {
    act(async {
        let stage = Stage::new("text fine\n\ncall a echo {\"text\":\"x\"}\n\ntext no").max_turns(1);
        stage.script.summary("text Short.");
        stage.play(&words(100)).await;
        stage.play("and then").await;
        let lines = stage.compact().await;
        assert_eq!(lines.last().unwrap(), "terminal completed", "{lines:#?}");
        let sent = stage.script.sent().pop().unwrap();
        let messages: Vec<serde_json::Value> =
            sent.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_sendable(&messages);
        assert_eq!(messages.len(), 5);
        assert_eq!(stage.history().len(), 1);
        assert!(stage.history()[0].contains("[it returned]\\nx"), "{:?}", stage.history());
    });
}

/// A person who asks for it gets it, also where system and tools leave no room for a threshold.
#[test]
fn compaction_by_hand_needs_no_threshold() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here");
        stage.play(&words(100)).await;
        stage.play(&words(10)).await;
        let stage = stage.threshold(0);
        stage.script.summary("text Short.");
        let lines = stage.compact().await;
        assert_eq!(compacts(&lines), 1, "{lines:#?}");
    });
}

fn resumed(stage: &Stage) {
    let said = |text: String| Message::new(Role::Assistant, vec![Block::text(text)]);
    let messages =
        [Message::user(words(100)), said(words(100)), Message::user("fix the second bug"), said("I will".into())];
    let messages = messages.map(Arc::new).to_vec();
    stage.conversation.lock().open_epoch(Draft { kind: EpochKind::Fresh, messages }, None).unwrap();
}

/// A session that is resumed and compacted at once still knows what was asked of it.
#[test]
fn compaction_of_a_resumed_history_keeps_its_newest_request() {
    act(async {
        let stage = Stage::new("");
        resumed(&stage);
        stage.script.summary("text Short.");
        assert_eq!(compacts(&stage.compact().await), 1);
        assert!(stage.history()[0].contains("fix the second bug"), "{:?}", stage.history());
    });
}

/// What was asked in another history is not what is asked in this one.
#[test]
fn a_fresh_history_forgets_the_old_request() {
    act(async {
        let stage = Stage::new("text fine");
        stage.play("delete everything").await;
        resumed(&stage);
        stage.script.summary("text Short.");
        assert_eq!(compacts(&stage.compact().await), 1);
        assert!(!stage.history()[0].contains("delete everything"), "{:?}", stage.history());
    });
}

/// A feature without a plan yet may return an empty pin.
#[test]
fn a_blank_pin_does_not_stop_compaction() {
    act(async {
        let stage = Stage::new("text fine\n\ntext here")
            .threshold(100)
            .with(Feature { pins: vec![String::new()], ..Feature::default() });
        stage.script.summary("text Short.");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!(compacts(&lines), 1, "{lines:#?}");
    });
}

#[test]
fn the_threshold_is_what_the_policy_says() {
    let policy = |threshold, window, reserve| Policy { threshold, window, reserve, ..Policy::default() };
    let table = [
        (policy(None, None, 0), 1000, 30_000),
        (policy(Some(200), Some(100_000), 0), 1000, 200),
        (policy(None, Some(200_000), 32_000), 1000, 133_400),
        (policy(None, Some(1000), 2000), 0, 0),
        (policy(None, Some(10_000), 0), 9000, 0),
    ];
    for (policy, fixed, expected) in table {
        assert_eq!(policy.threshold(fixed), expected, "{policy:?}");
    }
}

/// Older prompts are summarised even where they would fit: the last request is the natural cut.
#[test]
fn history_is_cut_at_the_last_request() {
    act(async {
        let stage = Stage::new("text fine\n\ntext ok\n\ntext here").threshold(122);
        stage.script.summary("text They said a lot.");
        stage.play(&words(60)).await;
        assert_eq!(compacts(&stage.play("short").await), 0);
        assert_eq!(compacts(&stage.play("next").await), 1);
        expect(
            &stage.history(),
            r#"
            user: "The conversation so far was summarised to save room.\n\n<summary>\nThey said a lot.\n</summary>" | "The user's newest request, verbatim:" | "next"
            assistant: "here"
            "#,
        );
    });
}

/// A tail never begins with a result whose call was summarised away.
#[test]
fn no_cut_parts_a_call_from_its_result() {
    act(async {
        let stage = Stage::new(&format!("call a silent {{\"text\":\"{}\"}}\n\ntext done", words(200))).threshold(100);
        stage.script.summary("text It was silent.");
        let lines = stage.play("go").await;
        assert_eq!(compacts(&lines), 1, "{lines:#?}");
        expect(
            &stage.history()[..1],
            r#"user: "The conversation so far was summarised to save room.\n\n<summary>\nIt was silent.\n</summary>" | "The user's newest request, verbatim:" | "go""#,
        );
    });
}

/// The open round is part of what the newest result adds: no cut falls into it.
#[test]
fn no_cut_falls_into_an_open_round() {
    act(async {
        // Two calls whose results come at different times, over the threshold from the first on.
        let stage = Stage::new(&format!(
            "call a echo {{\"text\":\"{0}\"}}\ncall b slow {{\"gate\":\"g\"}}\n\ntext done",
            words(200)
        ))
        .threshold(100);
        stage.script.summary("text Short.");
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "tool_result a").await;
        Stage::idle().await;
        assert_eq!(stage.script.sent().len(), 1, "compacted while a tool runs");
        stage.signals.raise("g");
        events.extend(stage.rest(stream).await);
        let lines = notation::lines(&events);
        let order = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
        assert!(order("tool_result b") < order("compact"));
        assert_sendable(&stage.conversation.lock().history());
    });
}

/// Sizes: as the API counted, less the fixed part, plus bytes / 4 of what came after.
#[test]
fn size_is_what_was_measured_and_an_estimate_of_the_rest() {
    let mut conversation = Conversation::new(kernel::Prefix::new(
        vec![kernel::SystemBlock { text: "x".repeat(400), cache: true }],
        Vec::new(),
    ));
    conversation.push_user(vec![Block::text("y".repeat(40))]).unwrap();
    assert_eq!(conversation.tokens(), 10);
    conversation.push_assistant(vec![Block::text("z".repeat(80))]);
    conversation.measure(kernel::Usage {
        input_tokens: 100,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 30,
        output_tokens: 50,
        ..kernel::Usage::default()
    });
    assert_eq!(conversation.tokens(), 100);
    conversation.append(vec![Block::text("w".repeat(20))]);
    assert_eq!(conversation.tokens(), 105);
}
