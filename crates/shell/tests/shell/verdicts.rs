//! Texts that only read, and texts that may do more.

use serde::Deserialize;
use shell::{SimpleCommand, Verdict, Word};

use super::{analyse, table};

#[derive(Deserialize)]
struct Case {
    text: String,
    reads: bool,
}

#[test]
fn texts_get_the_verdict_of_the_table() {
    let cases: Vec<Case> = table(include_str!("verdicts.jsonl"));
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| analyse(&case.text).verdict.is_read_only() != case.reads)
        .map(|case| format!("{:?}: {:?}", case.text, analyse(&case.text).verdict))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
    assert!(cases.len() > 200);
}

#[test]
fn reasons_are_words_for_people() {
    let cases = [
        ("ls; touch x", "`touch` is not on the read-only list"),
        ("ls > out.txt", "it writes to out.txt"),
        ("$X y", "the command `$X` is only known when it runs"),
        ("sort -uoF a", "`sort` writes to F"),
        ("sort $F", "`$F` may become an option of `sort` when it runs"),
        ("git push", "`git push` is not on the read-only list"),
        ("PATH=. ls", "it sets `PATH` for a command"),
        ("PATH=.", "it sets the variable `PATH`"),
        ("./cat x", "`./cat` need not be the program of that name"),
        ("ls() { rm x; }; ls", "it defines the function `ls`"),
        ("ls 'a", "it cannot be read as Bash: a single quote is not closed"),
        ("l\u{200b}s", "it holds a character that cannot be seen, U+200B"),
        ("# nothing", "there is no command in it"),
        ("echo $((x))", "it evaluates names as arithmetic, which can run commands"),
        ("cd x; git status", "`git` runs programs that the configuration of its folder names"),
        ("sed -n 'w x' a", "the `w` in the script of `sed` may write or run"),
    ];
    for (text, reason) in cases {
        let expected = Verdict::NotReadOnly { reason: reason.into() };
        assert_eq!(analyse(text).verdict, expected, "{text}");
    }
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(Word::shown).collect()
}

#[test]
fn wrappers_are_taken_off_and_kept() {
    let analysis = analyse("sudo -n env A=1 timeout 5 rm -f x");
    let [command] = analysis.commands.as_slice() else {
        panic!("{:?}", analysis.commands);
    };
    assert_eq!(texts(&command.words), ["rm", "-f", "x"]);
    assert_eq!(command.assignments, ["A"]);
    let wrappers: Vec<(&str, usize)> =
        command.wrappers.iter().map(|wrapper| (wrapper.name.as_str(), wrapper.words.len())).collect();
    assert_eq!(wrappers, [("sudo", 9), ("env", 7), ("timeout", 5)]);
    assert_eq!(command.uncoverable.as_deref(), Some("it runs under `sudo`"));
}

#[test]
fn every_nesting_is_reached() {
    let text = "a $(b) <(c) \"`d`\" > $(e) <<X ${v:-$(f)}\n$(g)\nX\n\
        eval 'h; i'; bash -c 'j'; find . -exec k {} \\; ; ls | xargs l; trap 'm' EXIT\n\
        fun() { n; }; case $(o) in $(p)) q;; esac; [[ $(r) ]]; (( $(s) )); x=$(t)";
    let mut names: Vec<String> = analyse(text)
        .commands
        .iter()
        .filter_map(|command: &SimpleCommand| command.words.first().map(Word::shown))
        .filter(|name| name.len() == 1)
        .collect();
    names.sort();
    let expected: Vec<String> = ('a'..='t').map(String::from).collect();
    assert_eq!(names, expected);
}

/// What a repository's configuration names would run with git.
#[test]
fn git_reads_only_where_the_configuration_was_looked_at() {
    let unknown = shell::Place { clean: false, ..crate::place() };
    for text in ["git status", "git log | head", "git --version"] {
        assert!(matches!(shell::analyse(text, &unknown).verdict, shell::Verdict::NotReadOnly { .. }), "{text}");
    }
    assert_eq!(crate::analyse("git status").verdict, shell::Verdict::ReadOnly);
}
