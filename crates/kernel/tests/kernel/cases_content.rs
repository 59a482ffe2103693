//! Known failures of content and of answers that were cut, as the loop sees them, each by the id of
//! its case.
//!
//! Policy: an answer without words is asked for once more, and a person is told where that did not help.

use std::sync::Arc;

use kernel::{Tool, ToolPool, query};

use crate::cast::Player;
use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

const NUDGE: &str = "user nudge: \"Your last message had no answer in it. Go on.\"";
const ENDED: &str = "notice model warning \"the model ended without an answer\"";

#[test]
fn content_empty_message_69a69e() {
    act(async {
        // Interrupted before the first token, three times.
        let stage = Stage::new("stall\n\nthink hm\nstall\n\nusage 3 0\nstall\n\ntext hi");
        for text in ["one", "two", "three"] {
            let mut stream = stage.prompt(text);
            stage.until(&mut stream, "turn_start").await;
            Stage::idle().await;
            stage.cancel();
            stage.rest(stream).await;
        }
        stage.play("four").await;
        // One message of the user on the wire: a dialect joins them (its test has the same name).
        expect(&stage.request(4), "user: \"one\"\nuser: \"two\"\nuser: \"three\"\nuser: \"four\"");
        assert_sendable(&stage.conversation.lock().history());
    });
}

/// On the way to every dialect: what is blank is not in the history.
#[test]
fn content_empty_text_cef2ac() {
    act(async {
        for blank in ["", "text \\s\n", "text \\n\n"] {
            let stage = Stage::new(&format!("{blank}call a echo {{\"text\":\"x\"}}\n{blank}\ntext done"));
            stage.play("go").await;
            expect(
                &stage.request(2)[1..],
                r#"
                assistant: call a echo {"text":"x"}
                user: result a ok "x"
                "#,
            );
        }
    });
}

#[test]
fn content_empty_text_ad1efe() {
    act(async {
        for blank in ["\\n\\n\\s", "\\s", "\u{3000}\u{a0}", "\\n"] {
            let stage = Stage::new(&format!("text {blank}\n\ntext fine\n\ntext here"));
            let lines = stage.play("go").await;
            assert!(lines.contains(&NUDGE.to_owned()), "{lines:#?}");
            stage.play("more").await;
            expect(
                &stage.request(3),
                r#"
                user: "go"
                user: "Your last message had no answer in it. Go on."
                assistant: "fine"
                user: "more"
                "#,
            );
        }
    });
}

#[test]
fn content_empty_text_b2e2a5() {
    act(async {
        let stage = Stage::new("text \\s\\s\\n\ncall a echo {\"text\":\"x\"}\ntext \\n\n\ntext done\\s\\n");
        stage.play("go").await;
        expect(
            &stage.history(),
            r#"
            user: "go"
            assistant: call a echo {"text":"x"}
            user: result a ok "x"
            assistant: "done \n"
            "#,
        );
    });
}

#[test]
fn content_thinking_only_c87bc2() {
    act(async {
        let hidden = r#"other {"type":"redacted_thinking","data":"AAEC"}"#;
        let unknown = r#"other {"type":"fallback","from":"m1"}"#;
        for silent in ["think hm", hidden, &format!("think hm\n{hidden}"), "think hm\ntext \\n", unknown] {
            // Once more, and it works.
            let stage = Stage::new(&format!("{silent}\n\ntext here"));
            let lines = stage.play("go").await;
            assert!(lines.contains(&NUDGE.to_owned()), "{silent}: {lines:#?}");
            assert_eq!(lines[lines.len() - 2..], ["assistant \"here\"", "terminal completed"]);
            // Once more only, and then a person is told.
            let stage = Stage::new(&format!("{silent}\n\n{silent}\n\ntext never"));
            let lines = stage.play("go").await;
            assert_eq!(lines[lines.len() - 2..], [ENDED, "terminal completed"], "{silent}");
            assert_eq!(stage.script.sent().len(), 2);
            assert_sendable(&stage.conversation.lock().history());
        }
    });
}

#[test]
fn content_tool_name_8bfb35() {
    act(async {
        let names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
        let calls: Vec<String> =
            names.iter().map(|name| format!("call {name} {name} {{\"text\":\"{name}\"}}")).collect();
        let script = format!("{}\ncall x valueOf\n\ntext done", calls.join("\n"));
        let stage = Stage::new(&script);
        let part = |name| Arc::new(Player { name, signals: stage.signals.clone(), log: stage.log.clone() });
        let mut params = stage.params("go");
        params.tools = ToolPool::new(names.map(|name| part(name) as Arc<dyn Tool>));
        let lines = notation::lines(&stage.rest(query(params)).await);
        assert_eq!(lines.last().unwrap(), "terminal completed");
        expect(
            &stage.request(2)[2..],
            r#"user: result constructor ok "constructor" | result __proto__ ok "__proto__" | result toString ok "toString" | result hasOwnProperty ok "hasOwnProperty" | result x error "Error: there is no tool `valueOf`; the tools are: constructor, __proto__, toString, hasOwnProperty""#,
        );
    });
}
