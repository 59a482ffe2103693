//! Owns `-p`: one prompt in, an answer, a result object or events out. Nothing but that goes to
//! standard output. Must not know the terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use futures::StreamExt;
use harness::Session;
use kernel::{AgentEvent, Level, TerminalReason};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::args::OutputFormat;
use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::signals::Signals;

/// Runs a prompt to its end.
pub async fn run(
    session: &mut Session,
    prompt: &str,
    format: OutputFormat,
    signals: &mut Signals,
) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let mut record = Record::default();
    let mut out = tokio::io::stdout();
    let mut signalled = None;
    let mut events = session.prompt(prompt);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            signal = signals.next() => {
                // The stream still ends with `terminal`, after every running tool has ended.
                if signalled.replace(signal).is_some() {
                    return Ok(signal.exit());
                }
                session.interrupter().cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        if format == OutputFormat::Events {
            let mut line = serde_json::to_vec(&event)?;
            line.push(b'\n');
            // A reader that has stopped reading must not keep a signal from being obeyed.
            let writing = write(&mut out, &line);
            tokio::pin!(writing);
            let written = loop {
                tokio::select! {
                    written = &mut writing => break written,
                    signal = signals.next() => {
                        if signalled.replace(signal).is_some() {
                            return Ok(signal.exit());
                        }
                        session.interrupter().cancel();
                    }
                }
            };
            written?;
        } else {
            explain(&event);
        }
        record.take(event);
    }
    let exit = signalled.map_or_else(|| record.exit(), |signal| signal.exit());
    let text = match format {
        OutputFormat::Events => String::new(),
        OutputFormat::Text if record.answer.is_empty() => String::new(),
        // A terminal would obey control characters; a pipe gets the bytes.
        OutputFormat::Text if io::stdout().is_terminal() => format!("{}\n", sanitize(&record.answer)),
        OutputFormat::Text => format!("{}\n", record.answer),
        OutputFormat::Json => {
            format!("{}\n", record.result(session, started.elapsed().as_millis()))
        }
    };
    write(&mut out, text.as_bytes()).await?;
    Ok(exit)
}

async fn write(out: &mut tokio::io::Stdout, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).await?;
    out.flush().await
}

/// Says on standard error what a person who waits wants to know.
fn explain(event: &AgentEvent) {
    match event {
        AgentEvent::Notice { level: Level::Warning | Level::Error, text, .. } => {
            say(text);
        }
        AgentEvent::Retry { reason, attempt, delay_ms, .. } => {
            say(&format!("{reason}; retry {attempt} in {:.1} s", *delay_ms as f64 / 1000.0));
        }
        AgentEvent::PermissionDenied { name, reason, .. } => say(&format!("{name} denied: {reason}")),
        AgentEvent::Terminal { reason: TerminalReason::MaxTurns, .. } => {
            say("stopped: the limit of turns is reached (--max-turns)");
        }
        AgentEvent::Subagent { event, .. } => explain(event),
        _ => {}
    }
}

fn say(text: &str) {
    // Nobody may be listening to standard error either.
    let _ = writeln!(io::stderr(), "rsagent: {}", sanitize(text));
}

/// What the result object is made of.
#[derive(Default)]
struct Record {
    /// The last words; an answer of nothing but calls does not take their place.
    answer: String,
    error: Option<String>,
    /// Whether the error passes.
    transient: bool,
    turns: u32,
    calls: Vec<(kernel::ToolUseId, Value)>,
    denials: Vec<Value>,
    end: Option<TerminalReason>,
}

impl Record {
    fn take(&mut self, event: AgentEvent) {
        match event {
            // A turn may begin twice, with another history.
            AgentEvent::TurnStart { turn } => self.turns = turn,
            AgentEvent::Assistant { message } => {
                let words = message.text();
                if !words.trim().is_empty() {
                    self.answer = words;
                }
                self.calls = message.tool_uses().map(|(id, _, input)| (id.clone(), input.clone())).collect();
            }
            AgentEvent::PermissionDenied { id, name, .. } => {
                let input = self.calls.iter().find(|(call, _)| *call == id).map(|(_, input)| input);
                self.denials.push(json!({"tool_name": name, "tool_use_id": id, "tool_input": input}));
            }
            AgentEvent::Notice { level: Level::Error, text, data, .. } => {
                self.transient = data["transient"] == true;
                self.error = Some(text);
            }
            AgentEvent::Terminal { reason, .. } => self.end = Some(reason),
            _ => {}
        }
    }

    fn exit(&self) -> Exit {
        match self.end {
            Some(TerminalReason::Completed) => Exit::Success,
            Some(TerminalReason::Aborted) => Exit::Interrupted,
            Some(TerminalReason::Error) if self.transient => Exit::Temporary,
            Some(
                TerminalReason::Error | TerminalReason::Refused | TerminalReason::MaxTurns | TerminalReason::Budget,
            )
            | None => Exit::Failure,
        }
    }

    fn result(&self, session: &Session, duration_ms: u128) -> Value {
        let subtype = match self.end {
            Some(TerminalReason::Completed) => "success",
            Some(TerminalReason::MaxTurns) => "error_max_turns",
            Some(TerminalReason::Budget) => "error_max_budget_usd",
            Some(TerminalReason::Error | TerminalReason::Refused | TerminalReason::Aborted) | None => {
                "error_during_execution"
            }
        };
        let is_error = subtype != "success";
        // What was said before the budget ended is what there is of an answer.
        let kept = self.end == Some(TerminalReason::Budget) && !self.answer.is_empty();
        let result = match &self.error {
            Some(error) if is_error && !kept => error,
            Some(_) | None => &self.answer,
        };
        let mut object = not_started(result);
        for (key, value) in [
            ("subtype", json!(subtype)),
            ("is_error", json!(is_error)),
            ("session_id", json!(session.id())),
            ("num_turns", json!(self.turns)),
            ("duration_ms", json!(u64::try_from(duration_ms).unwrap_or(u64::MAX))),
            ("usage", json!(session.usage())),
            ("total_cost_usd", json!(session.usage().cost)),
            ("permission_denials", json!(self.denials)),
        ] {
            object[key] = value;
        }
        object
    }
}

/// The result object of a run that never began.
pub fn not_started(fault: &str) -> Value {
    json!({
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": true,
        "result": fault,
        "session_id": null,
        "num_turns": 0,
        "duration_ms": 0,
        "usage": kernel::Usage::default(),
        "total_cost_usd": null,
        "permission_denials": [],
    })
}
