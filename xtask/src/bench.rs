//! Owns the benchmarks: which there are, and the one of start-up: wall time of whole runs of the release
//! binary, side by side with the cheapest process there is, so that a noisy machine shows as such.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::step;

const RUNS: usize = 200;

/// Runs the benchmark of that name, or all of them.
pub fn run(root: &Path, name: Option<&str>) -> Result<(), String> {
    let of_turns = |arguments: &[&str]| {
        step(root, &[&["bench", "--quiet", "--package", "models", "--bench", "turn", "--"], arguments].concat())
    };
    match name {
        Some("start") => start_up(root),
        Some("turn") => of_turns(&[]),
        Some("early") => of_turns(&["early"]),
        None => start_up(root).and_then(|()| of_turns(&[])).and_then(|()| of_turns(&["early"])),
        Some(other) => Err(format!("there is no benchmark {other}; there are start, turn, early")),
    }
}

/// Prints median and 95th percentile of each command.
fn start_up(root: &Path) -> Result<(), String> {
    step(root, &["build", "--release", "--package", "cli"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let binary = target.join("release").join("rsagent");
    let binary = binary.to_string_lossy().into_owned();
    let commands: [(&str, &[&str]); 3] = [
        ("/bin/true", &["/bin/true"]),
        ("rsagent --version", &[&binary, "--version"]),
        ("rsagent -p, mock reads a file", &[&binary, "--provider", "mock", "-p", "read Cargo.toml"]),
    ];
    println!("{:32} {:>10} {:>10}   ({RUNS} runs each, interleaved)", "", "median", "p95");
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); commands.len()];
    for _ in 0..RUNS {
        for ((_, command), times) in commands.iter().zip(&mut times) {
            times.push(time(root, command)?);
        }
    }
    for ((name, _), times) in commands.iter().zip(&mut times) {
        times.sort();
        let ms = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1000.0;
        println!("{name:32} {:>7.2} ms {:>7.2} ms", ms(50), ms(95));
    }
    Ok(())
}

fn time(root: &Path, command: &[&str]) -> Result<Duration, String> {
    let started = Instant::now();
    let status = Command::new(command[0])
        .args(&command[1..])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|fault| format!("cannot run {}: {fault}", command[0]))?;
    match status.success() {
        true => Ok(started.elapsed()),
        false => Err(format!("{} ended with {status}", command.join(" "))),
    }
}
