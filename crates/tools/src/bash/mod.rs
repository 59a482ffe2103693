//! Owns the `Bash` tool: one command line, run to its end. Must not know how a process is started
//! nor what a command line means.

mod explain;
mod judge;

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use host::git::Probe;
use host::process::{Command, End, Finished, OUTPUT_LIMIT, git_settings, inherited, run, signal_name};
use kernel::{Judgement, Place, ResultContent, Rules, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::typed::TypedTool;

pub use explain::{Explanation, File, Part, explain};

/// In milliseconds.
const DEFAULT_TIMEOUT: u64 = 120_000;
/// In milliseconds.
const MAX_TIMEOUT: u64 = 600_000;
/// What a command is written for, and what every Unix has.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// Runs command lines in an environment that is fixed and holds no secrets.
pub struct Bash {
    env: Vec<(OsString, OsString)>,
    git: Probe,
}

impl Bash {
    /// A tool whose commands get `env`, less secrets, what `withheld` names, and what puts code into programs.
    pub fn new(env: Vec<(OsString, OsString)>, withheld: &[String]) -> Self {
        Self { env: inherited(env, withheld), git: Probe::default() }
    }
}

/// The input of `Bash`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The command line.
    command: String,
    /// Milliseconds after which it is ended.
    timeout: Option<NonZeroU64>,
    /// What it does, in a few words, for the person who is asked.
    #[expect(dead_code, reason = "whoever shows the call reads it there")]
    description: Option<String>,
}

#[async_trait]
impl TypedTool for Bash {
    type Input = Input;
    const NAME: &'static str = "Bash";
    const DESCRIPTION: &'static str = include_str!("bash.md");

    fn is_concurrency_safe(&self, input: &Input) -> bool {
        judge::only_reads(&input.command)
    }

    /// The gate sees to it that only what reads begins early.
    fn may_start_early(&self, _input: &Input) -> bool {
        true
    }

    fn judge(&self, input: &Input, rules: &Rules, place: &Place) -> Judgement {
        judge::judge(&input.command, rules, place, &self.git)
    }

    async fn call(&self, input: Input, context: &ToolContext) -> ToolOutput {
        let timeout = input.timeout.map_or(DEFAULT_TIMEOUT, NonZeroU64::get).min(MAX_TIMEOUT);
        let shell = SHELLS.into_iter().find(|shell| Path::new(shell).exists());
        let mut env = self.env.clone();
        env.extend(git_settings(judge::only_reads_in(&input.command, &context.place, &self.git)));
        let command = Command {
            program: shell.unwrap_or("/bin/sh").into(),
            args: vec!["-c".into(), input.command.into()],
            cwd: context.place.cwd.clone(),
            env,
            timeout: Some(Duration::from_millis(timeout)),
            output_limit: OUTPUT_LIMIT,
        };
        match run(command, &context.cancel, |text| context.progress(text)).await {
            Ok(finished) => show(&finished, timeout),
            Err(fault) => ToolOutput::error(fault),
        }
    }
}

fn show(finished: &Finished, timeout: u64) -> ToolOutput {
    let signal = match finished.end {
        End::Signal(number) => Some(signal_name(number)),
        End::Code(_) | End::TimedOut | End::Cancelled => None,
    };
    let trouble = match finished.end {
        End::Code(0) => None,
        End::Code(code) => Some(format!("Exit code {code}")),
        End::Signal(_) => signal.as_ref().map(|name| format!("Ended by signal {name}")),
        End::TimedOut => {
            Some(format!("Error: timed out after {timeout} ms; the command and what it started were ended"))
        }
        End::Cancelled => Some("Error: interrupted; the command and what it started were ended".to_owned()),
    };
    let output = finished.output.trim_end_matches('\n');
    let text = match (&trouble, output) {
        (None, "") => "(no output)".to_owned(),
        (None, output) => output.to_owned(),
        (Some(trouble), "") => trouble.clone(),
        (Some(trouble), output) => format!("{trouble}\n{output}"),
    };
    let exit_code = match finished.end {
        End::Code(code) => Some(code),
        End::Signal(_) | End::TimedOut | End::Cancelled => None,
    };
    ToolOutput {
        content: ResultContent::Text(text),
        is_error: trouble.is_some(),
        detail: json!({
            "exitCode": exit_code,
            "signal": signal,
            "timedOut": finished.end == End::TimedOut,
            "interrupted": finished.end == End::Cancelled,
            "droppedBytes": finished.dropped,
        }),
    }
}
