//! Owns how the tests are run: the same by hand and in CI.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::bubblewrap;

/// Runs every test. `cargo nextest` where it is installed, else `cargo test`: the same tests.
pub fn test(root: &Path) -> Result<(), String> {
    bubblewrap::require()?;
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

/// The long run of the jail: so many texts from a seed on, of which those that are called read-only are run for real;
/// a million from the first by default.
pub fn jail(root: &Path, arguments: &[String]) -> Result<(), String> {
    bubblewrap::require()?;
    let number = |at: usize, usual| arguments.get(at).map_or(usual, String::as_str);
    let variables = [("RSAGENT_JAIL_COUNT", number(0, "1000000")), ("RSAGENT_JAIL_SEED", number(1, "1"))];
    let test = "jail::as_many_texts_as_asked_for";
    let exact = ["test", "--package", "shell", "--test", "shell", "--", test, "--exact", "--ignored", "--nocapture"];
    step_with(root, &exact, &variables)
}

/// Looks for inputs that break what a target in `fuzz/` asserts, for so many seconds; a minute by default.
/// The stable compiler does it when it is told that it may.
pub fn fuzz(root: &Path, arguments: &[String]) -> Result<(), String> {
    let target = arguments.first().ok_or("usage: cargo xtask fuzz TARGET [SECONDS]")?;
    let installed = Command::new("cargo")
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        return Err("cargo-fuzz is missing; install it with `cargo install cargo-fuzz --locked`".to_owned());
    }
    let (found, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    std::fs::create_dir_all(root.join(&found)).map_err(|fault| fault.to_string())?;
    let time = format!("-max_total_time={}", arguments.get(1).map_or("60", String::as_str));
    let fuzzer = ["fuzz", "run", target, &found, &seeds, "--", &time, "-max_len=4096", "-rss_limit_mb=1024"];
    step_with(root, &fuzzer, &[("RUSTC_BOOTSTRAP", "1")])
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
