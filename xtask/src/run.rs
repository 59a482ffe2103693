//! Owns how the tests are run: the same by hand and in CI.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs every test. `cargo nextest` where it is installed, else `cargo test`: the same tests.
pub fn test(root: &Path) -> Result<(), String> {
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    match nextest {
        true => step(root, &["nextest", "run", "--workspace", "--no-fail-fast"]),
        false => step(root, &["test", "--workspace", "--no-fail-fast"]),
    }
}

/// The long run of chaos: so many sessions from a seed on, a thousand from the first by default.
pub fn chaos(root: &Path, arguments: &[String]) -> Result<(), String> {
    let number = |at: usize, usual| arguments.get(at).map_or(usual, String::as_str);
    let variables = [("RSAGENT_CHAOS_SESSIONS", number(0, "1000")), ("RSAGENT_CHAOS_SEED", number(1, "1"))];
    let test = "tests::chaos::as_many_sessions_as_asked_for";
    let exact = ["test", "--package", "cli", "--test", "cli", "--", test, "--exact", "--ignored", "--nocapture"];
    step_with(root, &exact, &variables)
}

/// One cargo command, its output shown.
pub fn step(root: &Path, arguments: &[&str]) -> Result<(), String> {
    step_with(root, arguments, &[])
}

/// The same with these variables.
pub fn step_with(root: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    println!("==> cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root)
        .status()
        .map_err(|fault| format!("cannot start cargo: {fault}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cargo {} failed", arguments.join(" "))),
    }
}
