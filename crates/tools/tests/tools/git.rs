//! `Bash` and the configuration of repositories, with the real git.

use std::path::Path;
use std::process::Command;

use kernel::{Effect, Place, Rules};
use serde_json::json;

use crate::support::{World, text, tool};

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@example.com"]).args(args).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(command.status().unwrap().success(), "git {args:?}");
}

fn repository() -> World {
    let world = World::new();
    world.file("a.txt", "a\n");
    git(&world.root, &["init", "-q"]);
    git(&world.root, &["add", "-A"]);
    git(&world.root, &["commit", "-q", "-m", "one"]);
    world
}

/// What a command line is said to do, and why.
fn judged(world: &World, command: &str) -> (Effect, String) {
    let judgement = world.judge("Bash", &json!({"command": command}), &[], &[]);
    (judgement.effect, judgement.reason)
}

const READS: [&str; 5] = [
    "git status",
    "git diff HEAD --stat | head",
    "git log --oneline -3 && git branch -a",
    "git show HEAD",
    "git blame a.txt",
];

#[test]
fn git_reads_unasked_where_its_configuration_is_clean() {
    for world in [repository(), World::new()] {
        let root = world.root.display();
        let there = format!("cd {root} && git log --oneline -3");
        for command in READS.into_iter().chain([there.as_str()]) {
            assert_eq!(judged(&world, command), (Effect::ReadOnly, "it only reads".into()), "{command}");
        }
    }
}

#[test]
fn a_configuration_that_names_programs_is_asked_about_and_named() {
    let world = repository();
    git(&world.root, &["config", "diff.external", "./x"]);
    let reason = "`git` runs programs that the configuration of its folder names (.git/config sets diff.external)";
    for command in READS {
        assert_eq!(judged(&world, command), (Effect::Other, reason.into()), "{command}");
    }
    let both = "`git` runs programs that the configuration of its folder names (.git/config sets diff.external); \
                `rm` is not on the read-only list";
    assert_eq!(judged(&world, "git status; rm a"), (Effect::Other, both.into()));
    // What git would not do anyway is not its fault.
    assert_eq!(judged(&world, "rm a; ls git").1, "`rm` is not on the read-only list");
}

/// The verdict about one folder says nothing of others.
#[test]
fn other_folders_are_not_vouched_for() {
    let world = repository();
    git(&world.root, &["init", "-q", "sub"]);
    git(&world.root.join("sub"), &["config", "diff.external", "./x"]);
    for command in [
        "cd sub && git diff",
        "git -C sub diff",
        "git --git-dir=sub/.git diff",
        "GIT_DIR=sub/.git git diff",
        "export GIT_DIR=sub/.git; git diff",
        "git --work-tree=sub diff",
        "pushd sub; git diff",
        "cd $X && git diff",
        "(cd sub; git diff)",
        "env -C sub git diff",
        "GIT_CONFIG_GLOBAL=x git diff",
        "HOME=$PWD git diff",
    ] {
        assert_eq!(judged(&world, command).0, Effect::Other, "{command}");
    }
}

/// Hooks and monitors that the look leaves aside do not run in what only reads; those of a commit do.
#[tokio::test]
async fn what_only_reads_runs_no_hook_and_no_monitor() {
    let world = repository();
    for name in ["post-index-change", "pre-commit", "monitor"] {
        let hook =
            world.file(&format!("hooks/{name}"), &format!("#!/bin/sh\ntouch '{}/ran-{name}'\n", world.root.display()));
        assert!(Command::new("chmod").arg("+x").arg(hook).status().unwrap().success());
    }
    git(&world.root, &["config", "core.hooksPath", "hooks"]);
    world.file("a.txt", "b\n");
    let ran = || {
        let ran = |name: &&str| world.root.join(format!("ran-{name}")).exists();
        ["post-index-change", "pre-commit", "monitor"].into_iter().filter(ran).collect::<Vec<_>>()
    };
    for command in READS {
        assert_eq!(judged(&world, command).0, Effect::ReadOnly, "{command}");
        let output = world.call("Bash", json!({"command": command})).await;
        assert!(!output.is_error, "{}", text(&output));
    }
    let bare = world.call("Bash", json!({"command": "git config --get safe.bareRepository"})).await;
    assert_eq!((text(&bare), ran()), ("explicit".into(), vec![]));
    git(&world.root, &["config", "core.fsmonitor", "hooks/monitor"]);
    let commit = "git -c user.name=n -c user.email=e@example.com commit -qam two && git status --short";
    let output = world.call("Bash", json!({"command": commit})).await;
    assert!(!output.is_error, "{}", text(&output));
    assert_eq!(ran(), ["post-index-change", "pre-commit"]);
}

#[test]
fn git_is_asked_in_a_folder_that_nobody_trusts() {
    let world = repository();
    let place = Place { trusted: false, ..world.place() };
    let judged = |command: &str| {
        let judgement = tool("Bash").judge(&json!({"command": command}), &Rules::default(), &place);
        (judgement.effect, judgement.reason)
    };
    let reason = "`git` runs programs that the configuration of its folder names (the folder is not trusted)";
    assert_eq!(judged("git status"), (Effect::Other, reason.into()));
    assert_eq!(judged("ls"), (Effect::ReadOnly, "it only reads".into()));
}
