//! Owns the moment of permission: what is asked, what an answer does, what nobody can answer.

use kernel::{Answer, Gate, Judgement, Mode, Origin, Rules};

use crate::notation::{self, expect};
use crate::stage::{Stage, act};

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let parse = |list: &[&str]| list.iter().map(|text| crate::cast::rule(text, Origin::User)).collect::<Vec<_>>();
    Rules { allow: parse(allow), ask: parse(ask), deny: parse(deny) }
}

/// The lines about tools alone.
fn tools(lines: &[String]) -> Vec<String> {
    let about = |line: &&String| line.starts_with("tool_") || line.starts_with("permission_");
    lines.iter().filter(about).cloned().collect()
}

#[test]
fn once_is_asked_again() {
    act(async {
        let stage = Stage::asking(
            "call a write {\"text\":\"1\"}\ncall b write {\"text\":\"2\"}\n\ntext done",
            &[Answer::Once, Answer::Once],
        );
        expect(
            &tools(&stage.play("go").await),
            r#"
            permission_request q1 a write {"text":"1"} "it writes" ["write"]
            tool_start a write {"text":"1"} →
            tool_result a write ok "1"
            permission_request q2 b write {"text":"2"} "it writes" ["write"]
            tool_start b write {"text":"2"} →
            tool_result b write ok "2"
            "#,
        );
    });
}

#[test]
fn always_spares_the_next_question() {
    act(async {
        let stage = Stage::asking(
            "call a write {\"text\":\"1\"}\ncall b write {\"text\":\"2\"}\n\ntext done\n\ncall c write\n\ntext done",
            &[Answer::Always(vec![crate::cast::rule("write", Origin::Session)])],
        );
        expect(
            &tools(&stage.play("go").await),
            r#"
            permission_request q1 a write {"text":"1"} "it writes" ["write"]
            tool_start a write {"text":"1"} →
            tool_result a write ok "1"
            tool_start b write {"text":"2"} →
            tool_result b write ok "2"
            "#,
        );
        assert_eq!(stage.gate.rules().allow, [crate::cast::rule("write", Origin::Session)]);
        let lines = stage.play("again").await;
        assert!(!lines.iter().any(|line| line.starts_with("permission")), "{lines:#?}");
    });
}

#[test]
fn no_reaches_the_model_with_its_reason() {
    act(async {
        let stage = Stage::asking(
            "call a write\ncall b write\n\ntext done",
            &[Answer::No(Some("use tabs".into())), Answer::No(None)],
        );
        expect(
            &tools(&stage.play("go").await),
            r#"
            permission_request q1 a write {} "it writes" ["write"]
            permission_denied a write "the user said no: use tabs"
            permission_request q2 b write {} "it writes" ["write"]
            permission_denied b write "the user said no"
            "#,
        );
        expect(
            &stage.request(2)[2..],
            r#"user: result a error "Error: permission denied: the user said no: use tabs" | result b error "Error: permission denied: the user said no""#,
        );
        assert!(stage.log.lines().is_empty());
    });
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no() {
    act(async {
        let mut stage = Stage::new("call a write\n\ntext done");
        stage.gate = Gate::new(Mode::Default, Rules::default(), None);
        expect(
            &tools(&stage.play("go").await),
            r#"permission_denied a write "needs permission, and nobody can be asked: it writes""#,
        );
    });
}

#[test]
fn a_denial_inside_a_batch_leaves_the_rest_not_parallel() {
    act(async {
        let stage = Stage::new(
            "call a echo {\"text\":\"x\"}
            call b secret
            call c nothing

            text done",
        );
        let lines = tools(&stage.play("go").await);
        expect(&lines[..1], r#"permission_denied b secret "denied by rule secret(*.key) (user settings)""#);
        expect(
            &lines[2..],
            r#"
            tool_start a echo {"text":"x"} →
            tool_result a echo ok "x"
            "#,
        );
        assert!(stage.request(2)[2].starts_with(r#"user: result a ok "x" | result b error "#));
    });
}

#[test]
fn two_of_three_that_are_permitted_are_parallel() {
    act(async {
        let stage = Stage::new("call a echo\ncall b secret\ncall c echo\n\ntext done");
        let lines = tools(&stage.play("go").await);
        assert!(lines.contains(&"tool_start a echo {} ∥".to_owned()), "{lines:#?}");
        assert!(lines.contains(&"tool_start c echo {} ∥".to_owned()), "{lines:#?}");
    });
}

/// Every mode with a rule of each kind, over a tool that writes and one that reads.
#[test]
fn rules_and_modes_in_the_loop() {
    let none: &[&str] = &[];
    let table: [(Mode, Rules, &str); 9] = [
        (Mode::Default, rules(none, none, none), "read runs, write asks"),
        (Mode::AcceptEdits, rules(none, none, none), "read runs, write asks"),
        (Mode::Plan, rules(none, none, none), "read runs, write denied"),
        (Mode::BypassPermissions, rules(none, none, none), "read runs, write runs"),
        (Mode::Default, rules(&["write"], none, none), "read runs, write runs"),
        (Mode::Plan, rules(&["write"], none, none), "read runs, write denied"),
        (Mode::BypassPermissions, rules(none, &["write"], none), "read runs, write asks"),
        (Mode::BypassPermissions, rules(&["write"], none, &["write"]), "read runs, write denied"),
        (Mode::Default, rules(none, none, &["echo"]), "read denied, write asks"),
    ];
    for (mode, rules, expected) in table {
        act(async {
            let stage = Stage::with_gate("call a echo\n\ncall b write\n\ntext done", mode, rules.clone());
            let mut stream = stage.prompt("go");
            let mut seen = Vec::new();
            let mut words = Vec::new();
            for id in ["a", "b"] {
                let word = loop {
                    seen.extend(stage.until(&mut stream, "").await);
                    let line = notation::line(seen.last().unwrap());
                    match line.split(' ').next().unwrap() {
                        "tool_start" => break "runs",
                        "permission_request" => break "asks",
                        "permission_denied" => break "denied",
                        _ => {}
                    }
                };
                words.push(format!("{} {word}", if id == "a" { "read" } else { "write" }));
            }
            assert_eq!(words.join(", "), expected, "{mode} {rules:?}");
        });
    }
}

#[test]
fn rules_for_the_whole_tool_take_nothing_from_what_the_tool_found() {
    let found = Judgement {
        covered: true,
        deny: Some(crate::cast::rule("write(x)", Origin::User)),
        ask: Some(crate::cast::rule("write(y)", Origin::User)),
        ..Judgement::unjudged()
    };
    assert_eq!(found.clone().with_whole_tool_rules("write", &Rules::default()), found);
}

#[test]
fn a_mode_that_changes_holds_from_the_next_call() {
    act(async {
        let stage = Stage::asking("call a write\ncall b write\n\ntext done", &[]);
        let mut stream = stage.prompt("go");
        stage.until(&mut stream, "permission_request q1").await;
        stage.gate.set_mode(Mode::BypassPermissions);
        assert!(stage.questions.answer("q1", Answer::Once));
        let rest = notation::lines(&stage.rest(stream).await);
        assert!(rest.contains(&"tool_start b write {} →".to_owned()), "{rest:#?}");
    });
}

#[test]
fn a_question_is_answered_at_most_once() {
    act(async {
        let stage = Stage::asking("call a write\n\ntext done", &[]);
        let mut stream = stage.prompt("go");
        stage.until(&mut stream, "permission_request q1").await;
        assert!(!stage.questions.answer("q2", Answer::Once), "no such question");
        assert!(stage.questions.answer("q1", Answer::Once));
        assert!(!stage.questions.answer("q1", Answer::Once));
        stage.rest(stream).await;
    });
}

#[test]
fn a_tool_that_panics_while_it_judges_is_asked_about() {
    act(async {
        let stage = Stage::asking("call a boom_judge\n\ntext done", &[Answer::Once]);
        expect(
            &tools(&stage.play("go").await),
            r#"
            permission_request q1 a boom_judge {} "what this does is not known before it runs" []
            tool_start a boom_judge {} →
            tool_result a boom_judge ok "(no output)"
            "#,
        );
    });
}

/// Whether the user's deny rule matches cannot be known, and a deny rule wins in every mode.
#[test]
fn a_tool_that_panics_while_it_judges_does_not_pass_a_deny_rule_in_bypass_mode() {
    act(async {
        let stage = Stage::with_gate(
            "call a boom_judge\n\ntext done",
            Mode::BypassPermissions,
            rules(&[], &[], &["boom_judge(rm *)"]),
        );
        let mut stream = stage.prompt("go");
        let line = loop {
            let events = stage.until(&mut stream, "").await;
            let line = notation::line(&events[0]);
            if line.contains(" a boom_judge") && !line.starts_with("assistant") {
                break line;
            }
        };
        assert!(line.starts_with("permission_request"), "{line}");
    });
}

/// A rule that reads well and matches nothing would be a lock that does not close.
#[test]
fn a_deny_rule_with_a_star_in_the_name_of_the_tool_works_or_is_refused() {
    act(async {
        let rule = crate::cast::rule("wri*", Origin::User);
        let rules = Rules { deny: vec![rule], ..Rules::default() };
        let stage = Stage::with_gate("call a write\n\ntext done", Mode::BypassPermissions, rules);
        let lines = stage.play("go").await;
        assert!(lines[3].starts_with("permission_denied a write"), "{lines:#?}");
    });
}
