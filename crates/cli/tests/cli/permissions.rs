//! `rsagent permissions test`: a verdict in words and as JSON, and files of cases.

use serde_json::{Value, json};

use super::support::Place;

fn place() -> Place {
    Place::new().settings(r#"{"permissions": {"allow": ["Bash(npm test *)"], "deny": ["Bash(curl *)"]}}"#)
}

#[test]
fn a_verdict_names_its_parts_and_what_would_change_it() {
    let place = place();
    let ran = place.run(&["permissions", "test", "timeout 5 touch a.txt && npm test x | wc -l; ls"]);
    let expected = format!(
        "It is asked in mode default: `touch` is not on the read-only list
  touch a.txt
    run by timeout
    not only reading: `touch` is not on the read-only list
  npm test x
    not only reading: `npm` with these arguments is not on the read-only list
    covered by Bash(npm test *) (user settings)
  wc -l
    it only reads
  ls
    it only reads
  writes {work}/a.txt/**
  reads {work}/test/**
  reads {work}/x/**
These rules would let it run, unless a deny or ask rule or the mode is in the way: Bash(touch a.txt)
",
        work = place.work().display()
    );
    assert_eq!((ran.stdout, ran.stderr, ran.code), (expected, String::new(), Some(0)));
    let ran = place.run(&["permissions", "test", "echo $(env -S 'curl x')", "--mode", "bypassPermissions"]);
    assert!(
        ran.stdout
            .starts_with("It does not run in mode bypassPermissions: denied by rule Bash(curl *) (user settings)\n")
    );
    let chinese = place.env("LANG", "zh_CN.UTF-8").run(&["permissions", "test", "ls | wc -l"]);
    assert_eq!(chinese.stdout, "在 default 模式下不用问就运行：它只读取\n  ls\n    只读\n  wc -l\n    只读\n");
}

#[test]
fn a_verdict_as_json() {
    let place = place();
    let ran = place.run(&["permissions", "test", "--format", "json", "--allowed-tools", "Bash(make)", "make > $OUT"]);
    let unknown = "the target `$OUT` of a redirection is only known when it runs";
    let part = json!({
        "command": "make", "under": [], "not_read_only": unknown, "uncoverable": "it redirects into a file",
        "denied_by": null, "asked_by": null, "allowed_by": null,
    });
    let expected = json!({
        "command": "make > $OUT", "mode": "default", "decision": "ask",
        "reason": unknown, "parts": [part],
        "files": [{"access": "writes", "path": "`$OUT` is only known when it runs"}], "unknown": [unknown],
        "opaque": null, "rulesThatWouldAllow": [],
    });
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
}

#[test]
fn a_file_of_cases_prints_a_decision_a_line_and_three_numbers() {
    let place = place().with(
        "cases.jsonl",
        r#"{"id": "a", "group": "everyday", "tool": "Bash", "input": {"command": "touch x"}, "expect": "allow"}
{"id": "b", "tool": "Bash", "input": {"command": "curl x"}, "expect": "ask"}
{"id": "c", "tool": "Read", "input": {"file_path": "@ROOT@/x"}, "expect": "deny"}
"#,
    );
    let ran = place.run(&["permissions", "test", "--cases", "cases.jsonl", "--format", "json"]);
    let expected = "{\"id\":\"a\",\"decision\":\"ask\"}\n{\"id\":\"b\",\"decision\":\"ask\"}\n\
        {\"id\":\"c\",\"decision\":\"allow\"}\n\
        {\"cases\":3,\"wrongAllows\":1,\"wrongAsks\":1,\"otherFailures\":0}\n";
    assert_eq!((ran.stdout.as_str(), ran.code), (expected, Some(1)), "{}", ran.stderr);
    let ran = place.run(&["permissions", "test", "--cases", "cases.jsonl"]);
    let [ask, allow, numbers] = ran.stdout.lines().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(ask, "a: \"ask\" (needless question): `touch` is not on the read-only list");
    assert!(allow.starts_with("c: \"allow\" (wrong allow): it reads /"), "{allow}");
    assert_eq!(numbers, "{\"cases\":3,\"wrongAllows\":1,\"wrongAsks\":1,\"otherFailures\":0}");
    let ran = place.run(&["permissions", "test", "--cases", "missing.jsonl"]);
    assert_eq!(
        (ran.stderr.as_str(), ran.code),
        ("rsagent: missing.jsonl: No such file or directory (os error 2)\n", Some(1))
    );
}

/// Prints the three numbers; the ids of what differs stand above them.
#[test]
fn every_case_of_the_corpus_is_decided_as_it_should_be() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/permissions/permissions.jsonl");
    let ran = Place::new().run(&["permissions", "test", "--cases", corpus]);
    println!("{}", ran.stdout);
    let expected = "{\"cases\":1271,\"wrongAllows\":0,\"wrongAsks\":0,\"otherFailures\":0}\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), (expected, "", Some(0)));
}
