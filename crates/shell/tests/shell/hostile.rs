//! Text made to break the reader: it has to come back, and to trust nothing.

use proptest::prelude::*;
use shell::matching::{Pattern, denies, may_match, suggestions};

use super::analyse;

fn deep() -> Vec<(&'static str, String)> {
    let n = 100_000;
    vec![
        ("parentheses", "(".repeat(1 << 20)),
        ("substitutions", "$(".repeat(n)),
        ("braces", "{(".repeat(n)),
        ("groups", "{ ".repeat(n)),
        ("parameters", "${x:-".repeat(n)),
        ("backquotes", "`(".repeat(n)),
        ("escaped backquotes", "`\\`\\\\`".repeat(n)),
        ("quotes", "'\"".repeat(n)),
        ("quoted substitutions", "\"$(".repeat(n)),
        ("arithmetic", "$((".repeat(n)),
        ("here-documents", "<<a ".repeat(n)),
        ("here-documents in lines", "cat <<a\n".repeat(n)),
        ("conditions", "if ".repeat(n)),
        ("loops", "while case x in x) [[ ".repeat(n)),
        ("indices", "a[$(".repeat(n)),
        ("processes", "<(".repeat(n)),
        ("functions", "f() { ".repeat(n)),
    ]
}

#[test]
fn deep_and_long_text_comes_back() {
    for (name, text) in deep() {
        for length in [text.len(), 60_000, 4_000, 300] {
            let part = text.get(..length).unwrap_or(&text);
            let analysis = analyse(part);
            assert!(!analysis.verdict.is_read_only(), "{name} {length}");
            // Quotes that close make one long word, which is a command like any other.
            let readable = name == "quotes" && analysis.opaque.is_none();
            if readable {
                continue;
            }
            assert!(analysis.opaque.is_some(), "{name} {length}");
            assert!(may_match(&Pattern::new("rm *"), &analysis).is_some(), "{name} {length}");
            assert_eq!(suggestions(&[], &analysis), Vec::<String>::new(), "{name} {length}");
        }
    }
}

#[test]
fn many_commands_running_one_another_come_back() {
    for word in ["xargs ", "sudo ", "eval ", "env ", "nice ", "watch ", "find . -exec "] {
        let text = word.repeat(60_000 / word.len()) + "rm x";
        let analysis = analyse(&text);
        assert!(!analysis.verdict.is_read_only(), "{word}");
        let pattern = Pattern::new("rm *");
        assert!(denies(&pattern, &analysis) || may_match(&pattern, &analysis).is_some(), "{word}");
    }
}

#[test]
fn a_deny_rule_sees_the_end_of_a_long_list() {
    let text = ":;".repeat(30_000) + "rm x";
    assert!(denies(&Pattern::new("rm *"), &analyse(&text)));
}

#[test]
fn a_deny_rule_sees_text_that_cannot_be_read() {
    let long = "true; ".repeat(200_000) + "rm x";
    for text in ["rm x &&", "ls; rm x; echo 'a", "sh -c 'rm x", "echo $((a) ; rm x", "sudo rm x )", &long] {
        assert!(denies(&Pattern::new("rm *"), &analyse(text)), "{text:.40}");
    }
}

const FRAGMENTS: [&str; 62] = [
    "'",
    "\"",
    "$(",
    ")",
    "`",
    "${x:-",
    "}",
    "rm",
    " ",
    " ",
    ";",
    "\n",
    "<<E",
    "\nE\n",
    "\\",
    "#",
    "echo ",
    "$'",
    "((",
    "))",
    "[[ ",
    " ]]",
    "case x in ",
    " esac",
    "x) ",
    ";; ",
    "{ ",
    "; }",
    "<(",
    ">(",
    "&",
    "|",
    ">",
    "f",
    "a=(",
    "$((",
    "[",
    " =~ ",
    "if true; then ",
    "; fi",
    " do ",
    " done",
    "for i in ",
    "while ",
    "! ",
    "\\\n",
    "x=",
    "~",
    "*",
    "<<<",
    "cat ",
    "${#x}",
    "$",
    "find . -exec ",
    "xargs ",
    "eval ",
    "bash -c ",
    "sed ",
    "awk ",
    "git ",
    "-",
    "é\u{200b}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fragments_never_panic_and_never_differ(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..40)) {
        let text: String = picks.iter().map(|&pick| FRAGMENTS[pick]).collect();
        let first = analyse(&text);
        prop_assert_eq!(&first, &analyse(&text));
        let pattern = Pattern::new("rm *");
        let again = analyse(&text);
        prop_assert_eq!(denies(&pattern, &first), denies(&pattern, &again));
        prop_assert_eq!(may_match(&pattern, &first), may_match(&pattern, &again));
        prop_assert_eq!(suggestions(&[], &first), suggestions(&[], &again));
    }

    #[test]
    fn any_text_comes_back(text in any::<String>()) {
        prop_assert_eq!(analyse(&text), analyse(&text));
    }

    #[test]
    fn a_command_with_something_to_run_is_never_read_only(
        before in prop::sample::select(vec!["", "ls; ", "true && ", "! ", "time ", "{ ls; }; ", "LC_ALL=C ", "cat <<E\nx\nE\n"]),
        wrap in prop::sample::select(vec![
            "%", "echo $(%)", "echo \"`%`\"", "(%)", "{ %; }", "cat <(%)", "if %; then :; fi", "for i in a; do %; done",
            "case a in a) %;; esac", "eval '%'", "bash -c '%'", "xargs %", "timeout 3 %", "env %", "echo ${x:-$(%)}", "cat <<E\n$(%)\nE",
            "[[ -n $(%) ]]", "x=$(%)", "ls > $(%)", "find . -exec % \\;",
        ]),
        command in prop::sample::select(vec!["rm x", "$X", "touch y", "./ls", "git push", "sort -o a b", "sed -i p a"]),
    ) {
        let text = format!("{before}{}", wrap.replace('%', command));
        prop_assert!(!analyse(&text).verdict.is_read_only(), "{}", text);
    }
}
