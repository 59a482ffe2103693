//! Deny and allow rules against texts.

use serde::Deserialize;
use shell::matching::{Pattern, all_covered, denies, may_match, suggestions};

use super::{analyse, table};

#[derive(Deserialize)]
struct Deny {
    rule: String,
    text: String,
    /// `yes`, `no`, or `maybe` where it cannot be excluded.
    denies: String,
}

#[test]
fn deny_rules_follow_the_table() {
    for case in table::<Deny>(include_str!("deny.jsonl")) {
        let pattern = Pattern::from_rule(&case.rule).unwrap();
        let analysis = analyse(&case.text);
        let given = if denies(&pattern, &analysis) {
            "yes"
        } else if may_match(&pattern, &analysis).is_some() {
            "maybe"
        } else {
            "no"
        };
        assert_eq!(given, case.denies, "{} on {:?}", case.rule, case.text);
    }
}

#[derive(Deserialize)]
struct Allow {
    rules: Vec<String>,
    text: String,
    covers: bool,
}

#[test]
fn allow_rules_follow_the_table() {
    for case in table::<Allow>(include_str!("allow.jsonl")) {
        let patterns: Vec<Pattern> = case.rules.iter().map(|rule| Pattern::from_rule(rule).unwrap()).collect();
        let analysis = analyse(&case.text);
        assert_eq!(all_covered(&patterns, &analysis), case.covers, "{:?} {:?}", case.rules, case.text);
    }
}

#[test]
fn suggestions_cover_the_text_exactly() {
    let cases: [(&str, &[&str]); 10] = [
        ("npm test", &["Bash(npm test)"]),
        ("cd src && npm  'test' | head", &["Bash(npm test)"]),
        ("git add -A; git commit -m 'a b'", &["Bash(git add -A)", "Bash(git commit -m a b)"]),
        ("npm test; npm test", &["Bash(npm test)"]),
        ("timeout 5 npm test", &["Bash(npm test)"]),
        ("sudo npm test", &[]),
        ("npm test > out", &[]),
        ("npm test $(ls)", &[]),
        ("npm run 'build:*'", &[]),
        ("ls", &[]),
    ];
    for (text, expected) in cases {
        let analysis = analyse(text);
        let rules = suggestions(&[], &analysis);
        assert_eq!(rules, expected, "{text}");
        let patterns: Vec<Pattern> = rules.iter().filter_map(|rule| Pattern::from_rule(rule)).collect();
        assert_eq!(all_covered(&patterns, &analysis), !rules.is_empty() || text == "ls", "{text}");
    }
}

#[test]
fn suggestions_add_to_the_rules_in_force() {
    let analysis = analyse("npm test && touch x");
    let patterns = [Pattern::new("npm test")];
    assert_eq!(suggestions(&patterns, &analysis), ["Bash(touch x)"]);
}

#[test]
fn a_rule_about_everything_covers_what_cannot_be_read() {
    let analysis = analyse("touch 'x");
    assert!(all_covered(&[Pattern::new("*")], &analysis));
    assert!(!all_covered(&[Pattern::new("touch *")], &analysis));
}
