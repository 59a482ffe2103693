//! `rsagent`: how a person or a program talks to the agent. Reads the command line, opens a session
//! and hands it to the terminal or to `-p`. Must not know how the loop works.

mod args;
mod exit;
mod headless;
mod permissions;
mod providers;
mod repl;
mod sandbox;
mod sanitize;
mod signals;
mod terminal;
mod texts;

use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use harness::settings::FlagRules;
use harness::{Choices, Environment, Session, SessionConfig, SessionError};

use crate::args::{Args, Command, OutputFormat, Permissions};
use crate::exit::Exit;
use crate::signals::Signals;

/// The most that is taken from a pipe as part of a prompt, in bytes.
const STDIN_LIMIT: u64 = 10 * 1024 * 1024;
/// How long a pipe may stay open before it is said that it is waited for.
const STDIN_PATIENCE: Duration = Duration::from_secs(3);

/// Nothing was asked.
#[derive(Debug)]
struct NoPrompt;

impl std::fmt::Display for NoPrompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is no prompt. Give one: rsagent -p \"…\", or pipe text to it")
    }
}

impl std::error::Error for NoPrompt {}

fn main() -> ExitCode {
    keep_memory_private();
    // Inside a sandbox this program is its own helper; nothing else of it has a place there.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == harness::sandbox::HELPER) {
        return harness::sandbox::help(arguments).into();
    }
    let args = Args::parse();
    let stdin_is_terminal = io::stdin().is_terminal();
    let interactive = args.talks(stdin_is_terminal);
    let wants_object = !interactive && args.output_format == OutputFormat::Json;
    match run(args, stdin_is_terminal, interactive) {
        Ok(exit) => exit.into(),
        Err(fault) if is_broken_pipe(&fault) => Exit::BrokenPipe.into(),
        Err(fault) => {
            let _ = writeln!(io::stderr(), "rsagent: {fault:#}");
            if wants_object {
                let _ = writeln!(io::stdout(), "{}", headless::not_started(&format!("{fault:#}")));
            }
            let usage =
                fault.downcast_ref::<SessionError>().is_some_and(SessionError::is_usage) || fault.is::<NoPrompt>();
            if usage { Exit::Usage.into() } else { Exit::Failure.into() }
        }
    }
}

/// The keys that this process was given stay its own: without this, any program of the same user, a command that a
/// model wrote among them, could read them from `/proc/PID/environ`.
#[cfg(target_os = "linux")]
fn keep_memory_private() {
    // Where it cannot be had, nothing is lost that was there before.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
fn keep_memory_private() {}

/// Whoever read our output is gone (`| head -1`): no failure of ours, and nobody is left to be told.
fn is_broken_pipe(fault: &anyhow::Error) -> bool {
    fault.downcast_ref::<io::Error>().is_some_and(|fault| fault.kind() == io::ErrorKind::BrokenPipe)
}

fn run(args: Args, stdin_is_terminal: bool, interactive: bool) -> anyhow::Result<Exit> {
    let environment = Environment::of_process();
    match &args.command {
        Some(Command::Providers) => return providers::run(&environment),
        Some(Command::Permissions(Permissions::Test(test))) => return permissions::run(&environment, test),
        Some(Command::Sandbox(args)) => return sandbox::run(args, &environment),
        None => {}
    }
    let mut session = Session::open(SessionConfig {
        environment: environment.clone(),
        cwd: std::env::current_dir().context("the working folder is gone; go to one that exists")?,
        add_dirs: args.add_dir.clone(),
        provider: args.provider.clone(),
        model: args.model.clone(),
        fallback_model: args.fallback_model.clone(),
        effort: args.effort,
        thinking: args.thinking,
        record: args.record.clone(),
        replay: args.replay.clone(),
        mode: args.mode(),
        choices: Choices { settings: args.settings.clone(), sources: args.setting_sources, trust: args.trust },
        rules: FlagRules { allow: args.allowed_tools.clone(), deny: args.disallowed_tools.clone() },
        tools: args.tools.clone(),
        sandbox: args.sandbox,
        helper: std::env::current_exe().ok(),
        max_turns: args.max_turns,
        max_budget: args.max_budget_usd,
        append_system: args.append_system_prompt.clone(),
        can_ask: interactive,
        report_messages: args.output_format == OutputFormat::Events,
    })?;
    if args.show_system {
        io::stdout().write_all(session.system().as_bytes())?;
        return Ok(Exit::Success);
    }
    // Read while Ctrl-C still ends the process: a pipe may stay open for ever.
    let piped = match interactive || stdin_is_terminal {
        true => String::new(),
        false => read_stdin()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let mut signals = Signals::new()?;
        if interactive {
            return repl::run(session, &environment, args.prompt, stdin_is_terminal, signals).await;
        }
        for notice in session.notices() {
            let _ = writeln!(io::stderr(), "rsagent: {notice}");
        }
        let prompt = join(args.prompt.as_deref().unwrap_or(""), &piped).ok_or(NoPrompt)?;
        headless::run(&mut session, &prompt, args.output_format, &mut signals).await
    });
    // A write that nobody reads must not hold the process back.
    runtime.shutdown_background();
    exit
}

/// Prompt and piped text; `None` when both are blank.
fn join(prompt: &str, piped: &str) -> Option<String> {
    match (prompt.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => None,
        (false, true) => Some(prompt.to_owned()),
        (true, false) => Some(piped.to_owned()),
        (false, false) => Some(format!("{prompt}\n\n{piped}")),
    }
}

fn read_stdin() -> anyhow::Result<String> {
    // Dropped when everything was read; until then somebody may wonder why nothing happens.
    let (_done, waiting) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if waiting.recv_timeout(STDIN_PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = writeln!(
                io::stderr(),
                "rsagent: waiting for the end of standard input; `</dev/null` where there is none"
            );
        }
    });
    let mut bytes = Vec::new();
    let length = io::stdin().take(STDIN_LIMIT + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if length as u64 > STDIN_LIMIT {
        anyhow::bail!("standard input is longer than {STDIN_LIMIT} bytes. Put it into a file and name the file");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn piped_text_comes_after_the_prompt() {
        assert_eq!(join("a", "b"), Some("a\n\nb".into()));
        assert_eq!(join("a", " \n"), Some("a".into()));
        assert_eq!(join("", "b"), Some("b".into()));
        assert_eq!(join(" ", ""), None);
    }
}
