//! The project's own chores: `cargo xtask tidy | test | bench | chaos | jail | fuzz`. Needs nothing but the
//! toolchain; what else the tests need is seen to by `bubblewrap`.

// A command-line tool: standard output is its purpose.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod bubblewrap;
mod documents;
mod run;
mod sources;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::check(&root),
        Some("test") => run::test(&root),
        Some("bench") => bench::run(&root, arguments.get(1).map(String::as_str)),
        Some("chaos") => run::chaos(&root, &arguments[1..]),
        Some("jail") => run::jail(&root, &arguments[1..]),
        Some("fuzz") => run::fuzz(&root, &arguments[1..]),
        _ => Err("usage: cargo xtask tidy | test | bench [start | turn | early] | chaos [SESSIONS] [SEED] | jail [COUNT] [SEED] | fuzz TARGET [SECONDS]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("xtask: {fault}");
            ExitCode::FAILURE
        }
    }
}
