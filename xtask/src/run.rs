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

/// One cargo command, its output shown.
pub fn step(root: &Path, arguments: &[&str]) -> Result<(), String> {
    println!("==> cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|fault| format!("cannot start cargo: {fault}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cargo {} failed", arguments.join(" "))),
    }
}
