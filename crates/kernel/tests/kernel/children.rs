//! Owns subagents: their own conversation under their parent's rules, their events passed up, and
//! always a result.

use kernel::event::Init;
use kernel::{AgentEvent, Answer, Gate, Mode, Rules};

use crate::notation::{self, expect};
use crate::stage::{Stage, act};
use crate::valid::assert_sendable;

#[test]
fn a_child_has_its_own_conversation_and_its_events_pass_up() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"count\"}

            call a echo {\"text\":\"3\"}
            usage 5 5

            text three
            usage 6 6

            text It counted three
            usage 7 7",
        );
        expect(
            &stage.play("go").await,
            r#"
            user person: "go"
            turn_start 1
            assistant call a agent {"prompt":"count"}
            tool_start a agent {"prompt":"count"} →
            a> init bypassPermissions of 15
            a> user agent: "count"
            a> turn_start 1
            a> assistant call a echo {"text":"3"}
            a> usage 5+0/5 of 5+0/5
            a> tool_start a echo {"text":"3"} →
            a> tool_result a echo ok "3"
            a> turn_start 2
            a> text_delta "three"
            a> assistant "three"
            a> usage 6+0/6 of 11+0/11
            a> terminal completed
            tool_result a agent ok "Completed after 2: three"
            turn_start 2
            text_delta "It counted three"
            assistant "It counted three"
            usage 7+0/7 of 18+0/18
            terminal completed
            "#,
        );
        expect(&stage.request(2), "user: \"count\"");
        expect(
            &stage.request(4),
            r#"
            user: "go"
            assistant: call a agent {"prompt":"count"}
            user: result a ok "Completed after 2: three"
            "#,
        );
        let prefix = &stage.script.sent()[1].prefix;
        assert_eq!(prefix["system"], serde_json::json!(["You are a child.", "The weather is fine."]));
        assert_eq!(prefix["tools"].as_array().unwrap().len(), crate::cast::PARTS.len());
    });
}

#[test]
fn a_childs_question_reaches_the_person_and_its_grant_holds_for_all() {
    act(async {
        let stage = Stage::asking(
            "call a agent {\"prompt\":\"write\"}

            call b write

            text written

            call c write

            text done",
            &[Answer::Always(vec![crate::cast::rule("write", kernel::Origin::Session)])],
        );
        let lines = stage.play("go").await;
        let about: Vec<String> =
            lines.into_iter().filter(|line| line.contains("permission") || line.contains(" write ")).collect();
        expect(
            &about,
            r#"
            a> assistant call b write {}
            a> permission_request q1 b write {} "it writes" ["write"]
            a> tool_start b write {} →
            a> tool_result b write ok "(no output)"
            assistant call c write {}
            tool_start c write {} →
            tool_result c write ok "(no output)"
            "#,
        );
    });
}

#[test]
fn a_child_that_only_reads_is_denied_the_rest_in_every_mode_and_never_asks() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::BypassPermissions] {
        act(async {
            let script = "call a agent {\"prompt\":\"look\",\"read_only\":true}

                call b write
                call c echo {\"text\":\"seen\"}

                text looked

                text done";
            let stage = Stage::with_gate(script, mode, Rules::default());
            let lines = stage.play("go").await;
            let about: Vec<String> =
                lines.into_iter().filter(|line| line.contains(" b write") || line.contains(" c echo")).collect();
            expect(
                &about[1..],
                r#"
                a> permission_denied b write "plan mode only reads: it writes"
                a> tool_start c echo {"text":"seen"} →
                a> tool_result c echo ok "seen"
                "#,
            );
            assert_eq!(stage.gate.mode(), mode, "the parent's mode is its own");
        });
    }
}

#[test]
fn what_would_be_asked_of_a_reading_child_is_denied() {
    act(async {
        let ask = crate::cast::rule("echo", kernel::Origin::User);
        let stage = Stage::with_gate(
            "call a agent {\"prompt\":\"look\",\"read_only\":true}\n\ncall b echo\n\ntext looked\n\ntext done",
            Mode::BypassPermissions,
            Rules { ask: vec![ask], ..Rules::default() },
        );
        let lines = stage.play("go").await;
        assert!(lines.contains(
            &r#"a> permission_denied b echo "needs permission, and nobody can be asked: rule echo (user settings) asks""#
                .to_owned()
        ), "{lines:#?}");
    });
}

#[test]
fn reading_children_run_side_by_side() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"one\",\"read_only\":true}
            call b agent {\"prompt\":\"two\",\"read_only\":true}
            call c agent {\"prompt\":\"three\"}

            call s slow {\"gate\":\"g\"}

            call s slow {\"gate\":\"g\"}

            text x

            text y

            text z

            text done",
        );
        let mut stream = stage.prompt("go");
        let mut events = stage.until(&mut stream, "a> tool_start s").await;
        if !notation::lines(&events).iter().any(|line| line.starts_with("b> tool_start s")) {
            events.extend(stage.until(&mut stream, "b> tool_start s").await);
        }
        stage.signals.raise("g");
        events.extend(stage.rest(stream).await);
        let lines = notation::lines(&events);
        let starts: Vec<String> = lines.iter().filter(|line| line.starts_with("tool_start")).cloned().collect();
        expect(
            &starts,
            r#"
            tool_start a agent {"prompt":"one","read_only":true} ∥
            tool_start b agent {"prompt":"two","read_only":true} ∥
            tool_start c agent {"prompt":"three"} →
            "#,
        );
        assert_eq!(lines.last().unwrap(), "terminal completed");
    });
}

#[test]
fn a_child_that_fails_returns_why_and_the_parent_goes_on() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"fail\"}

            error auth the key is wrong

            text I see",
        );
        expect(
            &stage.play("go").await[4..],
            r#"
            a> init bypassPermissions of 15
            a> user agent: "fail"
            a> turn_start 1
            a> notice model error "the key is wrong" {"kind":"auth","transient":false}
            a> terminal error
            tool_result a agent error "Error after 1: the key is wrong"
            turn_start 2
            text_delta "I see"
            assistant "I see"
            terminal completed
            "#,
        );
    });
}

#[test]
fn a_child_that_is_interrupted_returns_a_result() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"wait\"}

            text I wait
            call b slow {\"gate\":\"never\"}

            text never",
        );
        let mut stream = stage.prompt("go");
        stage.until(&mut stream, "a> tool_start b").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        expect(
            &notation::lines(&stage.rest(stream).await),
            r#"
            a> tool_result b slow error "Error: told to stop"
            a> terminal aborted
            tool_result a agent ok "Aborted after 1: I wait"
            terminal aborted
            "#,
        );
        assert_sendable(&stage.conversation.lock().history());
    });
}

/// The child's tool is given time to end; the child itself needs a little more.
#[test]
fn a_child_whose_tool_ignores_the_interruption_still_ends_in_order() {
    act(async {
        let stage = Stage::new("call a agent {\"prompt\":\"wait\"}\n\ncall b deaf {\"gate\":\"never\"}\n\ntext never");
        let mut stream = stage.prompt("go");
        stage.until(&mut stream, "a> tool_start b").await;
        stage.signals.wait("begun:never").await;
        stage.cancel();
        expect(
            &notation::lines(&stage.rest(stream).await),
            r#"
            a> tool_result b deaf error "Error: interrupted; the tool did not end by itself"
            a> terminal aborted
            tool_result a agent ok "Aborted after 1: "
            terminal aborted
            "#,
        );
    });
}

#[test]
fn nesting_ends_at_the_limit() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"1\"}

            call b agent {\"prompt\":\"2\"}

            call c agent {\"prompt\":\"3\"}

            text two

            text one

            text done",
        );
        expect(
            &stage.play("go").await[3..],
            r#"
            tool_start a agent {"prompt":"1"} →
            a> init bypassPermissions of 15
            a> user agent: "1"
            a> turn_start 1
            a> assistant call b agent {"prompt":"2"}
            a> tool_start b agent {"prompt":"2"} →
            a> b> init bypassPermissions of 15
            a> b> user agent: "2"
            a> b> turn_start 1
            a> b> assistant call c agent {"prompt":"3"}
            a> b> tool_start c agent {"prompt":"3"} →
            a> b> tool_result c agent error "Error: agents may not nest deeper than 2"
            a> b> turn_start 2
            a> b> text_delta "two"
            a> b> assistant "two"
            a> b> terminal completed
            a> tool_result b agent ok "Completed after 2: two"
            a> turn_start 2
            a> text_delta "one"
            a> assistant "one"
            a> terminal completed
            tool_result a agent ok "Completed after 2: one"
            turn_start 2
            text_delta "done"
            assistant "done"
            terminal completed
            "#,
        );
    });
}

#[test]
fn a_child_of_a_reading_child_cannot_write_either() {
    act(async {
        let stage = Stage::new(
            "call a agent {\"prompt\":\"1\",\"read_only\":true}

            call b agent {\"prompt\":\"2\"}

            call c write

            text two

            text one

            text done",
        );
        let lines = stage.play("go").await;
        assert!(
            lines.contains(&r#"a> b> permission_denied c write "plan mode only reads: it writes""#.to_owned()),
            "{lines:#?}"
        );
    });
}

/// A child's consumer needs its `init` always, whichever prompt of the session started it.
#[test]
fn a_childs_init_tells_its_own_mode_and_tools() {
    act(async {
        let stage = Stage::new("call a agent {\"prompt\":\"look\",\"read_only\":true}\n\ntext looked\n\ntext done");
        let events = stage.rest(stage.prompt("a later prompt")).await;
        let inits: Vec<&AgentEvent> = events.iter().filter(|event| notation::line(event).contains("init ")).collect();
        let own = Init { mode: Mode::Plan, tools: crate::cast::PARTS.map(str::to_owned).to_vec(), ..Stage::init() };
        let expected = AgentEvent::Subagent { agent_id: "a".into(), event: Box::new(AgentEvent::Init(own)) };
        assert_eq!(inits, [&expected]);
    });
}

#[test]
fn a_gate_without_questions_denies_its_children_too() {
    act(async {
        let mut stage = Stage::new("call a agent {\"prompt\":\"w\"}\n\ncall b write\n\ntext no\n\ntext done");
        stage.gate = Gate::new(Mode::Default, Rules::default(), None);
        let lines = stage.play("go").await;
        assert!(lines.iter().any(|line| line.starts_with("a> permission_denied b write")));
        assert_eq!(lines.last().unwrap(), "terminal completed");
    });
}
