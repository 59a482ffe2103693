//! Sessions in a sandbox: what is said of it, what is asked, and what a refusal looks like.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Reply, Server};

use super::super::screen::Screen;
use super::super::support::{Events, Place};

const WRITE: [&str; 2] = ["--sandbox", "workspace-write"];
const LEVEL: &str = "workspace-write (bubblewrap)";

fn bash(id: &str, command: &str) -> Reply {
    Reply::call(id, "Bash", json!({"command": command}))
}

fn outside(id: &str, command: &str) -> Reply {
    Reply::call(id, "Bash", json!({"command": command, "dangerouslyDisableSandbox": true}))
}

/// A session in which these calls are made, one after the other.
struct Played {
    place: Place,
    events: Events,
}

impl Played {
    fn new(settings: &str, flags: &[&str], calls: Vec<Reply>) -> Self {
        Self::at(Place::below(Path::new("/var/tmp")), settings, flags, calls)
    }

    fn at(place: Place, settings: &str, flags: &[&str], mut calls: Vec<Reply>) -> Self {
        calls.push(Reply::text("Done."));
        let server = Server::script(calls);
        let place = place.env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", &server.url());
        let place = if settings.is_empty() { place } else { place.settings(settings) };
        let events = place.events(flags, "go");
        Self { place, events }
    }

    fn sandbox(&self) -> &Value {
        &self.events.of("init").next().unwrap()["sandbox"]
    }

    /// What became of each call: the result's text, or why it was denied.
    fn results(&self) -> Vec<String> {
        let text = |event: &Value| match event["type"].as_str() {
            Some("tool_result") => Some(event["content"].as_str().unwrap().to_owned()),
            Some("permission_denied") => Some(format!("denied: {}", event["reason"].as_str().unwrap())),
            _ => None,
        };
        self.events.events.iter().filter_map(text).collect()
    }
}

#[test]
fn init_says_profile_and_layer() {
    let level = |settings, flags: &[&str]| Played::new(settings, flags, Vec::new()).sandbox().clone();
    assert_eq!(level("", &[]), "off");
    assert_eq!(level("", &WRITE), LEVEL);
    assert_eq!(level("", &["--sandbox", "read-only"]), "read-only (bubblewrap)");
    assert_eq!(level(r#"{"sandbox": {"enabled": true}}"#, &[]), LEVEL);
    assert_eq!(level(r#"{"sandbox": {"enabled": true}}"#, &["--sandbox", "off"]), "off");
}

#[test]
fn a_sandbox_that_is_not_to_be_had_is_no_session() {
    let place = Place::new();
    symlink("/etc", place.work().join(".vscode")).unwrap();
    let ran = place.run(&["-p", "hi", "--provider", "mock", "--sandbox", "workspace-write"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.starts_with("rsagent: the sandbox cannot be used: bubblewrap: "), "{}", ran.stderr);
    assert!(ran.stderr.contains(".vscode is a symbolic link"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("Correct that, or use `--sandbox off`\n"), "{}", ran.stderr);
    let unknown = place.run(&["-p", "hi", "--sandbox", "loose"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("use off, read-only, workspace-write"), "{}", unknown.stderr);
}

#[test]
fn a_refusal_reads_as_one_and_the_way_out_is_asked() {
    let command = "touch ../home/new";
    let flags = [WRITE.as_slice(), &["--allowedTools", "Bash(touch *)"]].concat();
    let played = Played::new("", &flags, vec![bash("t1", command), outside("t2", command)]);
    let work = played.place.work();
    let expected = format!(
        "Exit code 1\n[sandbox {LEVEL}: this may be its refusal: only {}, $TMPDIR and /tmp may be written, and names such \
         as .git, .rsagent and .vscode at the top of the workspace stay as they are; if it must, call again with \
         dangerouslyDisableSandbox: true, and the person is asked]\n\
         touch: cannot touch '../home/new': Read-only file system",
        work.display()
    );
    // A rule covers the second one.
    assert_eq!(played.results(), [expected, "(no output)".to_owned()]);
    assert!(played.place.home().join("new").exists());
    let detail = &played.events.of("tool_result").next().unwrap()["detail"];
    assert_eq!((&detail["sandbox"], &detail["blocked"]), (&json!(LEVEL), &json!("files")));

    let played = Played::new("", &WRITE, vec![outside("t1", "ls")]);
    let reason = "denied: needs permission, and nobody can be asked: it asks to run outside the sandbox: it only reads";
    assert_eq!(played.results(), [reason]);
}

#[test]
fn what_runs_inside_needs_no_question_where_that_is_set() {
    let settings = r#"{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true},
        "permissions": {"deny": ["Bash(mkdir *)"], "ask": ["Bash(cp *)"]}}"#;
    let calls = vec![
        bash("t1", "touch made"),
        bash("t2", "mkdir made.d"),
        bash("t3", "cp made other"),
        bash("t4", "git commit -m x"),
        bash("t5", "cat ~/.ssh/id"),
        outside("t6", "touch more"),
    ];
    let played = Played::new(settings, &[], calls);
    let asked = "denied: needs permission, and nobody can be asked: ";
    let expected = [
        "(no output)".to_owned(),
        "denied: denied by rule Bash(mkdir *) (user settings)".to_owned(),
        format!("{asked}rule Bash(cp *) (user settings) asks"),
        format!("{asked}`git` "),
        format!("{asked}{}/.ssh/id is protected", played.place.home().display()),
        format!("{asked}it asks to run outside the sandbox: "),
    ];
    let results = played.results();
    assert_eq!(results.len(), expected.len(), "{results:?}");
    for (result, expected) in results.iter().zip(&expected) {
        assert!(result.starts_with(expected), "{result}\n{expected}");
    }
    assert!(played.place.has("made"));
    let plan = Played::new(settings, &["--mode", "plan"], vec![bash("t1", "touch made")]);
    assert!(plan.results()[0].starts_with("denied: plan mode only reads"), "{:?}", plan.results());
    let off = Played::new(settings, &["--sandbox", "off"], vec![bash("t1", "touch made")]);
    assert!(off.results()[0].starts_with(asked), "{:?}", off.results());
}

#[test]
fn nobody_is_asked_where_commands_may_not_leave() {
    let settings = r#"{"sandbox": {"enabled": true, "allowUnsandboxedCommands": false},
        "permissions": {"allow": ["Bash(touch *)"]}}"#;
    let played = Played::new(settings, &[], vec![outside("t1", "touch ../home/new"), bash("t2", "touch ../home/new")]);
    let results = played.results();
    let refused =
        "Error: commands may not run outside the sandbox (sandbox.allowUnsandboxedCommands is false in the settings)";
    assert_eq!(results[0], refused);
    assert!(results[1].contains("; commands may not leave it]"), "{}", results[1]);
    assert!(!played.place.home().join("new").exists());
}

#[test]
fn excluded_commands_run_outside() {
    let settings = r#"{"sandbox": {"enabled": true, "excludedCommands": ["touch *"]},
        "permissions": {"allow": ["Bash(touch *)", "Bash(mkdir *)"]}}"#;
    let calls = vec![bash("t1", "touch ../home/one"), bash("t2", "touch ../home/two; mkdir ../home/three")];
    let played = Played::new(settings, &[], calls);
    let made = ["one", "two", "three"].map(|name| played.place.home().join(name).exists());
    assert_eq!(made, [true, false, false], "{:?}", played.results());
}

fn git(folder: &Path, words: &[&str]) -> String {
    let identity = [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")];
    let mut git = Command::new("git");
    git.args(words).current_dir(folder).envs(identity).env("GIT_COMMITTER_EMAIL", "a@b");
    let done = git.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn repository(place: &Place) {
    git(&place.work(), &["init", "-q"]);
    git(&place.work(), &["config", "user.name", "a"]);
    git(&place.work(), &["config", "user.email", "a@b"]);
}

/// The hook is the person's own; what it runs may be anybody's.
#[test]
fn a_commit_that_was_allowed_can_be_made_and_configures_nothing() {
    let place = Place::below(Path::new("/var/tmp")).with("a.txt", "a");
    repository(&place);
    let hook = place.work().join(".git/hooks/pre-commit");
    let script = "#!/bin/sh\nfor f in hooks/evil config commondir info/attributes config.worktree modules/x; do\n\
                  echo evil >> .git/$f && echo $f >> written\ndone\nmkdir -p .rsagent && echo {} > .rsagent/settings.json\n\
                  echo x > .envrc\nexit 0\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = place.read(".git/config");
    let flags = [WRITE.as_slice(), &["--allowedTools", "Bash(git add *),Bash(git commit *),Bash(touch *)"]].concat();
    let calls = vec![
        bash("t1", "touch b.txt && git commit -m early"),
        bash("t2", "git add -A && git commit -qm first"),
        bash("t3", "git add -A; echo x > .git/hooks/other"),
    ];
    let played = Played::at(place, "", &flags, calls);
    let results = played.results();
    assert!(results[0].contains("Read-only file system"), "{results:?}");
    assert!(!results[1].starts_with("Exit"), "{results:?}");
    let place = &played.place;
    assert_eq!(git(&place.work(), &["log", "--format=%s"]), "first\n");
    assert_eq!(git(&place.work(), &["ls-files"]), "a.txt\nb.txt\n");
    assert_eq!(place.read(".git/config"), config);
    let there =
        ["written", ".git/hooks/evil", ".git/hooks/other", ".git/commondir", ".git/modules", ".rsagent", ".envrc"];
    assert_eq!(there.map(|path| place.has(path)), [false; 7]);
}

#[test]
fn a_commit_in_a_further_working_tree_goes_to_its_repository() {
    let place = Place::below(Path::new("/var/tmp"));
    let main = place.home().join("main");
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["config", "user.name", "a"]);
    git(&main, &["config", "user.email", "a@b"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "zero"]);
    let work = place.work();
    std::fs::remove_dir(&work).unwrap();
    git(&main, &["worktree", "add", "-q", "-b", "topic", work.to_str().unwrap()]);
    place.write("a.txt", "a");
    let flags =
        [WRITE.as_slice(), &["--allowedTools", "Bash(git add *),Bash(git commit *),Bash(git switch *)"]].concat();
    let calls = vec![bash("t1", "git add a.txt && git commit -qm one"), bash("t2", "git switch -q -c other")];
    let played = Played::at(place, "", &flags, calls);
    assert_eq!(played.results(), ["(no output)", "(no output)"]);
    assert_eq!(git(&main, &["log", "--format=%s", "other"]), "one\nzero\n");
    assert_eq!(git(&played.place.work(), &["status", "--porcelain"]), "");
}

#[test]
fn a_folder_that_was_put_in_anothers_place_is_not_written() {
    let place = Place::below(Path::new("/var/tmp")).with("deep/more/a", "a");
    let flags = [WRITE.as_slice(), &["--add-dir", "deep/more", "--allowedTools", "Bash"]].concat();
    let swap = "mkdir -p elsewhere/more && mv deep old && ln -s elsewhere deep";
    let played = Played::at(place, "", &flags, vec![bash("t1", swap), bash("t2", "echo x > deep/more/evil")]);
    let results = played.results();
    assert!(results[1].contains("the sandbox could not be set up, so nothing was run"), "{results:?}");
    assert!(!played.place.has("elsewhere/more/evil"));
}

#[test]
fn the_terminal_offers_shows_and_changes_it() {
    let place = Place::below(Path::new("/var/tmp"));
    let mut screen = Screen::start(&place, &["--provider", "mock"]);
    let welcome = screen.wait_for_prompt();
    assert!(welcome.contains("/sandbox workspace-write confines them"), "{welcome}");
    screen.enter("/sandbox");
    screen.wait_for("Sandbox: off");
    screen.enter("/sandbox loose");
    screen.wait_for("unknown sandbox profile `loose`; use off, read-only, workspace-write");
    screen.enter("/sandbox read-only");
    screen.wait_for("Sandbox: read-only (bubblewrap)");
    screen.enter("run touch one");
    screen.wait_for("y = once");
    screen.enter("y");
    screen.wait_for("this may be its refusal");
    screen.wait_for_prompt();
    assert!(!place.has("one"));
    screen.enter("/sandbox off");
    screen.wait_for("Sandbox: off");
    screen.enter("/exit");
    assert_eq!(screen.exit_code(), 0);
}
