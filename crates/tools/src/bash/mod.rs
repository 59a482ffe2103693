//! Owns the `Bash` tool: one command line, run to its end. Must not know how a process is started
//! nor what a command line means.

mod confined;
mod explain;
mod git;
mod judge;

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use host::git::Probe;
use host::process::{Command, End, Finished, OUTPUT_LIMIT, git_settings, inherited, run, signal_name};
use host::sandbox::Grant;
use kernel::{Judgement, Place, ResultContent, Rules, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::sandbox::{Confinement, Jail};
use crate::typed::TypedTool;
use confined::{Blocked, Way};

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
    jail: Jail,
}

impl Bash {
    /// A tool whose commands get `env`, less secrets, what `withheld` names, and what puts code into programs,
    /// and run in `jail`.
    pub fn new(env: Vec<(OsString, OsString)>, withheld: &[String], jail: Jail) -> Self {
        Self { env: inherited(env, withheld), git: Probe::default(), jail }
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
    /// Runs it outside the sandbox, and asks the person. Only after the sandbox kept it from what it must do.
    #[serde(rename = "dangerouslyDisableSandbox")]
    leave: Option<bool>,
}

impl Input {
    /// Where it runs, if there is a sandbox.
    fn way(&self, confinement: &Confinement, place: &Place) -> Way {
        let here = shell::Place { cwd: place.cwd.clone(), home: place.home.clone(), clean: false };
        let analysis = shell::analyse(&self.command, &here);
        confined::way(confinement, &analysis, self.leave.unwrap_or(false))
    }
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
        let judgement = judge::judge(&input.command, rules, place, &self.git);
        let Some(confinement) = self.jail.now() else { return judgement };
        match input.way(&confinement, place) {
            // What only reads is covered elsewhere; out here it takes a rule for every part.
            Way::Outside => {
                let covered = judge::covered_by_rules(&input.command, rules, place);
                confined::adjust(Judgement { covered, ..judgement }, Way::Outside, &confinement)
            }
            way => confined::adjust(judgement, way, &confinement),
        }
    }

    async fn call(&self, input: Input, context: &ToolContext) -> ToolOutput {
        let timeout = input.timeout.map_or(DEFAULT_TIMEOUT, NonZeroU64::get).min(MAX_TIMEOUT);
        let confinement = self.jail.now();
        let way = confinement.as_ref().map(|confinement| input.way(confinement, &context.place));
        let (sandbox, grant) = match (&confinement, way) {
            (_, Some(Way::Refused)) => return ToolOutput::error(confined::REFUSED),
            (Some(confinement), Some(Way::Inside(grant))) => (Some(confinement), grant),
            (_, Some(Way::Outside | Way::Excluded)) | (None, _) | (_, None) => (None, Grant::Nothing),
        };
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
            sandbox: sandbox.map(|confinement| confinement.sandbox.clone()),
            grant,
        };
        match run(command, &context.cancel, |text| context.progress(text)).await {
            Ok(finished) => show(&finished, timeout, sandbox.map(AsRef::as_ref)),
            Err(fault) => ToolOutput::error(fault),
        }
    }
}

fn show(finished: &Finished, timeout: u64, confinement: Option<&Confinement>) -> ToolOutput {
    let blocked = confinement.and_then(|confinement| Some((confinement, Blocked::seen_in(finished)?)));
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
    // Said before the output, where a person sees it too.
    let trouble = match (trouble, blocked) {
        (Some(trouble), Some((confinement, blocked))) => Some(format!("{trouble}\n{}", blocked.line(confinement))),
        (trouble, _) => trouble,
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
    let mut detail = json!({
        "exitCode": exit_code,
        "signal": signal,
        "timedOut": finished.end == End::TimedOut,
        "interrupted": finished.end == End::Cancelled,
        "droppedBytes": finished.dropped,
    });
    if let Some(confinement) = confinement {
        detail["sandbox"] = json!(confinement.sandbox.level());
        detail["blocked"] = json!(blocked.map(|(_, blocked)| blocked.name()));
    }
    ToolOutput { content: ResultContent::Text(text), is_error: trouble.is_some(), detail }
}
