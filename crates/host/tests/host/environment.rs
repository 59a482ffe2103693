//! What real children see of our environment, and what they cannot be made to run by it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use host::process::{Command, End, git_settings, inherited, run};
use tempfile::{TempDir, tempdir};
use tokio_util::sync::CancellationToken;

/// Runs a script of Bash in a folder, with our own environment and more.
async fn script(folder: &Path, more: &[(&str, &str)], only_reads: bool, text: &str) -> (End, String) {
    let given = more.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let own = std::env::vars_os().filter(|(name, _)| !more.iter().any(|(other, _)| name == other));
    let mut env = inherited(own.chain(given).collect(), &[]);
    env.extend(git_settings(only_reads));
    let command = Command {
        program: "/bin/bash".into(),
        args: vec!["-c".into(), text.into()],
        cwd: folder.into(),
        env,
        timeout: None,
        output_limit: 100_000,
        sandbox: None,
        grant: host::sandbox::Grant::Nothing,
    };
    let finished = run(command, &CancellationToken::new(), |_| {}).await.unwrap();
    (finished.end, finished.output)
}

/// A program that leaves a mark in its folder when it runs.
fn mark(folder: &TempDir) -> String {
    let path = folder.path().join("mark");
    std::fs::write(&path, format!("#!/bin/sh\ntouch '{}/ran'\n", folder.path().display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_child_sees_no_secret_and_no_code() {
    let folder = tempdir().unwrap();
    let hostile = [
        ("ANTHROPIC_API_KEY", "value-a"),
        ("MY_TOKEN", "value-b"),
        ("DATABASE_URL", "postgres://me:value-c@host/db"),
        ("AWS_SESSION_TOKEN", "value-d"),
        ("LD_PRELOAD", "/value-e.so"),
        ("BASH_FUNC_true%%", "() { echo value-f; }"),
        ("GIT_SSH_COMMAND", "value-g"),
        ("PLAIN", "seen"),
    ];
    let (end, output) =
        script(folder.path(), &hostile, false, "true; env; cat /proc/$$/environ | tr '\\0' '\\n'").await;
    let found: Vec<&str> = output.lines().filter(|line| line.contains("value-")).collect();
    assert_eq!((end, found), (End::Code(0), vec![]));
    assert_eq!(output.lines().filter(|line| *line == "PLAIN=seen").count(), 2, "{output}");
}

#[tokio::test]
async fn variables_make_nothing_run() {
    let folder = tempdir().unwrap();
    let mark = mark(&folder);
    std::fs::copy(&mark, folder.path().join("ls")).unwrap();
    let path = format!(":.:{}", std::env::var("PATH").unwrap());
    let pre = folder.path().join("rg");
    std::fs::write(&pre, format!("--pre={mark}\n")).unwrap();
    let hostile = [
        ("BASH_ENV", mark.as_str()),
        ("SHELLOPTS", "xtrace"),
        ("PS4", "$(./mark)"),
        ("GIT_PAGER", &mark),
        ("GIT_EXTERNAL_DIFF", &mark),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "diff.external"),
        ("GIT_CONFIG_VALUE_0", &mark),
        ("LESSOPEN", "|./mark %s"),
        ("TAR_OPTIONS", "--to-command=./mark"),
        ("PERL5OPT", "-e `./mark`"),
        ("RIPGREP_CONFIG_PATH", pre.to_str().unwrap()),
        ("PATH", &path),
    ];
    let text = "git init -q . && echo a > a && git add a && echo b > a && git diff && ls && tar cf t a && tar xf t -O > b && \
                if command -v rg > rg-is; then rg a; fi";
    let (end, output) = script(folder.path(), &hostile, false, text).await;
    assert_eq!((end, folder.path().join("ran").exists()), (End::Code(0), false), "{output}");
}

#[tokio::test]
async fn git_runs_no_monitor_and_reads_without_hooks() {
    let folder = tempdir().unwrap();
    let mark = mark(&folder);
    let ran = || std::fs::remove_file(folder.path().join("ran")).is_ok();
    let prepare = format!(
        "git init -q repo && cd repo && echo a > a && git add a && git config core.fsmonitor '{mark}' && \
         mkdir hooks && cp '{mark}' hooks/post-index-change && git config core.hooksPath hooks && touch a"
    );
    let (end, output) = script(folder.path(), &[], false, &prepare).await;
    assert_eq!((end, ran()), (End::Code(0), false), "{output}");
    let repository = folder.path().join("repo");
    for (only_reads, text, expected) in [
        (true, "git status --short", false),
        (
            true,
            "GIT_OPTIONAL_LOCKS=1 git update-index --refresh --really-refresh; touch a; git update-index --refresh",
            false,
        ),
        (false, "git status --short", false),
        (false, "echo b > a; git add a", true),
    ] {
        let (end, output) = script(&repository, &[], only_reads, text).await;
        assert_eq!((end, ran()), (End::Code(0), expected), "{text}: {output}");
    }
    let (end, _) = script(folder.path(), &[], false, "git init -q --bare bare").await;
    assert_eq!(end, End::Code(0));
    for (only_reads, code) in [(true, 128), (false, 0)] {
        let (end, output) = script(&folder.path().join("bare"), &[], only_reads, "git branch").await;
        assert_eq!(end, End::Code(code), "{output}");
    }
}

/// What people work with is there, whatever was taken away.
#[tokio::test]
async fn toolchains_work() {
    let folder = tempdir().unwrap();
    let (end, output) = script(folder.path(), &[], false, "cargo --version && rustc --version").await;
    assert_eq!(end, End::Code(0), "{output}");
    // A virtual environment is a variable and a folder at the front of PATH.
    let bin = folder.path().join("venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/echo", bin.join("python")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let venv = folder.path().join("venv").display().to_string();
    let more = [("VIRTUAL_ENV", venv.as_str()), ("PATH", &path)];
    let found = script(folder.path(), &more, false, "python $VIRTUAL_ENV").await;
    assert_eq!(found, (End::Code(0), format!("{venv}\n")));
}
