//! Known failures of making room, each by the id of its case.
//!
//! Policy: a summary is asked for twice at most; what is refused as too large is summarised only where
//! the estimate is at least two thirds of the window; where no summary helps, the history goes as it is.

use harness::context::Policy;
use kernel::{Block, Conversation, Draft, EpochKind, Message, Usage};

use crate::notation::expect;
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

fn words(count: usize) -> String {
    "abcdefg ".repeat(count).trim_end().to_owned()
}

fn compacts(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("compact")).count()
}

fn with_window(script: &str, window: u64) -> Stage {
    Stage::new(script).policy(Policy { window: Some(window), ..Policy::default() })
}

/// The requests for a summary, as their question reads.
fn questions(stage: &Stage) -> Vec<String> {
    stage.script.sent().into_iter().filter_map(|sent| sent.extra).collect()
}

#[test]
fn context_compaction_fails_312773() {
    act(async {
        // A model that goes on working, or says nothing, is told once more to write text and nothing else.
        for nothing in
            ["call a echo", "text so\ncall a echo", "text \\s", "other {\"type\":\"compaction\",\"content\":null}"]
        {
            let stage = Stage::new("text fine\n\ntext here").threshold(100);
            stage.script.summary(nothing);
            stage.script.summary_again("text They said a lot.");
            stage.play(&words(60)).await;
            let before = stage.script.sent()[0].messages.clone();
            let lines = stage.play("next").await;
            let asked = questions(&stage);
            assert_eq!((compacts(&lines), asked.len()), (1, 2), "{nothing}: {lines:#?}");
            assert!(!asked[0].contains("Call no tool") && asked[1].contains("Call no tool"), "{asked:#?}");
            // Until then the whole history stands.
            assert!(stage.script.sent()[2].messages.starts_with(&before));
            assert!(stage.history()[0].contains("They said a lot."));
            assert_eq!(stage.log.lines(), [""; 0], "a tool ran");
        }
        // Twice at most, and then history stays.
        let stage = Stage::new("text fine\n\ntext here").threshold(100);
        stage.script.summary("call a echo");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!(lines[1], "notice auto error \"compaction failed: the model wrote no whole answer\"");
        assert_eq!((questions(&stage).len(), lines.last().unwrap().as_str()), (2, "terminal completed"));
        assert_eq!(stage.history().len(), 4);
        // A block of the vendor's in an answer is no cut either.
        let stage = Stage::new("other {\"type\":\"compaction\",\"content\":null}\ntext ok\n\ntext here");
        stage.play("one").await;
        stage.play("two").await;
        expect(
            &stage.request(2),
            r#"
            user: "one"
            assistant: other {"type":"compaction","content":null} | "ok"
            user: "two"
            "#,
        );
    });
}

#[test]
fn context_compaction_loop_d0b3c5() {
    act(async {
        let stage = Stage::new("text fine\nusage 90000 10\n\ntext here").threshold(1000);
        stage.script.summary("text Short.");
        stage.play(&words(30)).await;
        // While nobody waits, something else makes room; the count goes with the history that it counted.
        assert_eq!(compacts(&stage.compact().await), 1);
        assert!(stage.conversation.lock().tokens() < 200);
        assert_eq!(compacts(&stage.play("next").await), 0);
        assert_eq!(questions(&stage).len(), 1);
    });
    // Whatever replaces a history.
    for kind in [EpochKind::Summary, EpochKind::Filtered, EpochKind::Fresh] {
        let mut conversation = Conversation::new(kernel::Prefix::default());
        conversation.push_user(vec![Block::text("x".repeat(40))]).unwrap();
        conversation.push_assistant(vec![Block::text("y")]);
        conversation.measure(Usage { input_tokens: 90_000, ..Usage::default() });
        let draft = Draft { kind, messages: vec![Message::user("z".repeat(80)).into()] };
        conversation.open_epoch(draft, None).unwrap();
        assert_eq!(conversation.tokens(), 20);
    }
}

#[test]
fn context_compaction_loop_cff886() {
    act(async {
        let script =
            "text fine\nusage 185000 10\n\nerror transport gone\n\nerror transport gone\n\ntext here\nusage 900 10";
        let stage = with_window(script, 200_000);
        stage.script.summary("text Short.");
        stage.play(&words(30)).await;
        // Nothing has been measured since the summary: both calls fail.
        assert_eq!(compacts(&stage.play("next").await), 1);
        assert_eq!(compacts(&stage.play("again").await), 0);
        assert_eq!(compacts(&stage.play("and again").await), 0);
        assert_eq!(questions(&stage).len(), 1);
    });
}

#[test]
fn context_compaction_lost_1333fa() {
    act(async {
        let stage =
            Stage::new(&format!("call a echo {{\"text\":\"x\"}}\n\ntext A is done {}\n\ntext B it is", words(90)))
                .threshold(150);
        stage.script.summary("text A was done.");
        stage.play("do A").await;
        let lines = stage.play("question B?").await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (1, "terminal completed"));
        expect(
            &stage.request(3),
            r#"user: "The conversation so far was summarised to save room.\n\n<summary>\nA was done.\n</summary>" | "The user's newest request, verbatim:" | "question B?""#,
        );
        assert!(!stage.request(3)[0].contains("do A"));
    });
}

/// What features and queues add is no request of a person, and does not take its place.
#[test]
fn the_newest_request_outlives_two_summaries() {
    act(async {
        let turn = format!("text step\ncall c echo {{\"text\":\"{}\"}}", words(40));
        let stage =
            Stage::new(&format!("text A is done\n\n{}\n\ntext B it is", vec![turn; 12].join("\n\n"))).threshold(200);
        stage.script.summary("text Short.");
        stage.play("do A").await;
        let lines = stage.play("question B?").await;
        assert!(compacts(&lines) >= 2, "{lines:#?}");
        let last = stage.script.turns().pop().unwrap().messages;
        assert!(last[0].contains("question B?") && !last[0].contains("do A"), "{}", last[0]);
    });
}

#[test]
fn context_early_trigger_c6a1a7() {
    act(async {
        let policy = Policy { threshold: Some(200_000), window: Some(1_000_000), ..Policy::default() };
        for (summary, count) in [("text Short.", 1), ("error overloaded", 0), ("call a echo", 0)] {
            let mut stage = Stage::new("text fine\nusage 230000 10\n\ntext here").policy(policy.clone());
            stage.retries = 0;
            stage.script.summary(summary);
            stage.play(&words(60)).await;
            let lines = stage.play("next").await;
            assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (count, "terminal completed"), "{lines:#?}");
            assert!(lines.contains(&"assistant \"here\"".to_owned()), "{lines:#?}");
        }
    });
}

#[test]
fn context_estimate_bcfbad() {
    act(async {
        // 90,000 tokens; the request for the summary is too long as well then, and the next one is not.
        let call = format!("call a echo {{\"text\":\"{}\"}}", words(45_000));
        let stage = with_window(&format!("{call}\nusage 150000 10\n\ntext done"), 200_000);
        stage.script.summary("error overflow");
        stage.script.summary_again("text It was long.");
        let lines = stage.play("go").await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (1, "terminal completed"), "{lines:#?}");
        let order = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
        assert!(order("tool_result a") < order("compact auto") && order("compact auto") < order("turn_start 2"));
        for sent in stage.script.turns() {
            assert!(sent.messages.iter().map(String::len).sum::<usize>() / 4 < 100_000);
        }
        assert!(stage.conversation.lock().tokens() < 1000);
        assert_sendable(&stage.conversation.lock().history());
    });
}

#[test]
fn retry_overflow_6a3b98() {
    act(async {
        // Far from the window a summary would not help: the refusal is shown.
        let stage = with_window("text fine\nusage 9000 10\n\nerror too_large no word\n\ntext here", 200_000);
        stage.script.summary("text Short.");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        expect(
            &lines[2..],
            r#"
            notice model error "no word" {"kind":"too_large","transient":false}
            terminal error
            "#,
        );
        assert_eq!(questions(&stage).len(), 0);
        // Near it, it is taken for an overflow, once.
        let refused = "error too_large no word";
        let stage = with_window(&format!("text fine\nusage 140000 10\n\n{refused}\n\ntext here"), 200_000);
        stage.script.summary("text Short.");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (1, "terminal completed"), "{lines:#?}");
        let stage = with_window(&format!("text fine\nusage 140000 10\n\n{refused}\n\n{refused}\n\ntext no"), 200_000);
        stage.script.summary("text Short.");
        stage.play(&words(60)).await;
        let lines = stage.play("next").await;
        assert_eq!((compacts(&lines), lines.last().unwrap().as_str()), (1, "terminal error"), "{lines:#?}");
    });
}
