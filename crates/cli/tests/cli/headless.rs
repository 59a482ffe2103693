//! `-p`: what goes to standard output, what does not, and how it ends.

use serde_json::{Value, json};

use super::support::Place;

const MOCK: [&str; 2] = ["--provider", "mock"];

#[test]
fn text_is_the_answer_alone() {
    let place = Place::new().with("a.txt", "alpha\n");
    let ran = place.run(&["-p", "read a.txt", "--provider", "mock"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let json = place.run(&["-p", "read a.txt", "--provider", "mock", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(ran.stdout, format!("{}\n", result["result"].as_str().unwrap()));
}

#[test]
fn json_is_one_result_object() {
    let place = Place::new();
    let ran = place.run(&["-p", "run touch x", "--provider", "mock", "--output-format", "json"]);
    let mut result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.stdout.lines().count(), 1);
    let object = result.as_object_mut().unwrap();
    assert!(object.remove("result").unwrap().is_string());
    assert!(object.remove("duration_ms").unwrap().is_u64());
    assert_eq!(object.remove("session_id").unwrap().as_str().unwrap().len(), 36);
    assert!(object.remove("usage").unwrap()["output_tokens"].as_u64().unwrap() > 0);
    assert_eq!(
        result,
        json!({
            "type": "result",
            "subtype": "success",
            "is_error": false,
            "num_turns": 2,
            "total_cost_usd": null,
            "permission_denials": [{
                "tool_name": "Bash",
                "tool_use_id": "mock_1",
                "tool_input": {"command": "touch x"},
            }],
        })
    );
    assert!(ran.stderr.contains("Bash denied: needs permission"), "{}", ran.stderr);
}

#[test]
fn the_limit_of_turns_ends_with_1() {
    let place = Place::new().with("a.txt", "alpha\n");
    let arguments = ["-p", "read a.txt", "--provider", "mock", "--max-turns", "1", "--output-format", "json"];
    let ran = place.run(&arguments);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, Some(1));
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_max_turns"), &json!(true)));
}

#[test]
fn piped_text_joins_the_prompt() {
    let place = Place::new().with("a.txt", "alpha\n");
    let both = place
        .run_with_stdin(&["-p", "read a.txt", "--provider", "mock", "--output-format", "events"], "some context\n");
    assert!(both.stdout.contains("read a.txt\\n\\nsome context\\n"), "{}", both.stdout);
    let alone = place.run_with_stdin(&["--provider", "mock", "-p"], "read a.txt\n");
    assert!(alone.stdout.contains("a.txt"), "{}", alone.stdout);
    let none = place.run(&["--provider", "mock", "-p"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("there is no prompt"), "{}", none.stderr);
}

#[test]
fn rules_folders_and_text_from_flags() {
    let place = Place::new();
    let removed = place.events(&["--provider", "mock", "--disallowedTools", "Bash,Agent"], "hi");
    assert_eq!(removed.of("init").next().unwrap()["tools"], json!(["Read", "Write"]));
    let work = place.work();
    std::fs::create_dir(work.parent().unwrap().join("more")).unwrap();
    let added = place.run(&["--show-system", "--add-dir", "../more", "--append-system-prompt", "Be kind."]);
    let more = work.parent().unwrap().join("more");
    assert!(added.stdout.contains(&format!("Also in the workspace: {}", more.display())));
    assert!(added.stdout.trim_end().ends_with("Be kind."));
    let edits = ["--provider", "mock", "--mode", "acceptEdits", "--add-dir", "../more"];
    let inside = place.events(&edits, "write hi to ../more/x.txt");
    assert_eq!(inside.of("tool_result").next().unwrap()["is_error"], false);
    let outside = place.events(&edits[..4], "write hi to ../more/y.txt");
    assert_eq!(outside.of("permission_denied").count(), 1);
}

#[test]
fn the_system_prompt_shows_memory_branch_and_boundary() {
    let place = Place::new().with("AGENT.md", "Use tabs.").with(".git/HEAD", "ref: refs/heads/topic\n").settings("{}");
    std::fs::write(place.home().join(".rsagent/CLAUDE.md"), "Be brief.").unwrap();
    let ran = place.run(&["--show-system"]);
    let (fixed, own) = ran.stdout.split_once("---------- cache boundary ----------").unwrap();
    assert!(fixed.starts_with("You are rsagent"));
    let work = place.work();
    assert!(!fixed.contains(&work.display().to_string()));
    let home = place.home();
    let expected = format!(
        "\n\n# Environment\nWorking folder: {work}\nPlatform: linux\n\
         Git branch at the start of the session: topic\n\n\
         # Memory from {home}/.rsagent/CLAUDE.md\nBe brief.\n\n\
         # Memory from {work}/AGENT.md\nUse tabs.\n",
        work = work.display(),
        home = home.display(),
    );
    assert_eq!(own, expected);
}

#[test]
fn version_and_wrong_usage() {
    let place = Place::new();
    let version = place.run(&["--version"]);
    assert_eq!(version.stdout, format!("rsagent {}\n", env!("CARGO_PKG_VERSION")));
    for wrong in [
        &["--no-such-flag"][..],
        &["--mode", "wild", "-p", "x"],
        &["--output-format", "xml", "-p", "x"],
        &["--max-turns", "0", "-p", "x"],
        &["--interactive", "-p", "x"],
        &["--mode", "plan", "--dangerously-skip-permissions", "-p", "x"],
    ] {
        let ran = place.run(wrong);
        assert_eq!(ran.code, Some(2), "{wrong:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure_of_ours() {
    let place = Place::new();
    // Gone before the first byte, so that no buffer can take the answer.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(&["-p", "hi", "--output-format", "events", "--provider", "mock"]);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(141));
}

/// The mock paces its answer, so that the signal meets a running command.
#[cfg(unix)]
#[test]
fn signals_end_running_commands_and_set_the_exit_code() {
    use std::io::{BufRead, BufReader};
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let place = Place::new();
        let arguments: Vec<&str> =
            ["-p", "run echo $$ > pid; sleep 300", "--output-format", "events", "--mode", "bypassPermissions"]
                .iter()
                .chain(&MOCK)
                .copied()
                .collect();
        let mut child = place.command(&arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let started = lines.any(|line| line.unwrap().contains("\"tool_start\""));
        assert!(started);
        while !place.has("pid") || place.read("pid").is_empty() {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(rest.last().unwrap().contains("\"aborted\""), "{rest:?}");
        let shell = place.read("pid");
        let alive = std::path::Path::new("/proc").join(shell.trim()).exists();
        assert!(!alive, "the command outlived {signal}");
    }
}
