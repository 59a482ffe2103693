//! What a text is said to do, seen from outside: tables of texts, rules and files, and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "shell/against_bash.rs"]
mod against_bash;
#[path = "shell/agreement.rs"]
mod agreement;
#[path = "shell/files.rs"]
mod files;
#[path = "shell/hostile.rs"]
mod hostile;
#[cfg(target_os = "linux")]
#[path = "shell/jail/mod.rs"]
mod jail;
#[path = "shell/rules.rs"]
mod rules;
#[path = "shell/verdicts.rs"]
mod verdicts;

use shell::{Analysis, Place};

/// The place in which every test analyses.
fn place() -> Place {
    Place { cwd: "/proj".into(), home: Some("/home/me".into()), clean: true }
}

fn analyse(text: &str) -> Analysis {
    shell::analyse(text, &place())
}

/// The lines of a table, parsed.
fn table<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}
