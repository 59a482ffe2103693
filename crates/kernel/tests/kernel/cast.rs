//! Owns the scripted tools, and the signals and the log by which a test sees what they do.
//! Must not decide anything: each tool plays one part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kernel::ToolContext;
use kernel::{Effect, Judgement, Origin, Place, ResultContent, Rule, Rules, SubagentSpec, Tool, ToolOutput};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Named flags that are raised once and can be awaited: no test sleeps.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<HashMap<String, watch::Sender<bool>>>>);

impl Signals {
    fn flag(&self, name: &str) -> watch::Sender<bool> {
        self.0.lock().unwrap().entry(name.to_owned()).or_default().clone()
    }

    pub fn raise(&self, name: &str) {
        self.flag(name).send_replace(true);
    }

    pub fn is_raised(&self, name: &str) -> bool {
        *self.flag(name).borrow()
    }

    pub async fn wait(&self, name: &str) {
        self.flag(name).subscribe().wait_for(|raised| *raised).await.unwrap();
    }
}

/// What happened, in the order in which it did.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// The parts, by name:
///
/// - `echo` returns its `text`; `rich` its `content` blocks with a detail; `silent` nothing
/// - `slow` raises `begun:GATE`, then waits for `GATE`; ends at once when it is cancelled
/// - `deaf` is `slow` that ignores cancellation; `chatty` also shows progress while it is torn down
/// - `flood` shows `pieces` pieces of progress, each begun with its `mark`, then raises `flooded`
/// - `write` is not safe beside others and may do anything; `secret` is denied by a rule of its own
/// - `boom`, `boom_judge`, `boom_check`, `boom_safe` panic in the place they are named after
/// - `agent` runs a child: `prompt` (numbered where it ends in `#`), `read_only`
pub const PARTS: [&str; 15] = [
    "echo",
    "rich",
    "silent",
    "look",
    "slow",
    "deaf",
    "chatty",
    "flood",
    "write",
    "secret",
    "boom",
    "boom_judge",
    "boom_check",
    "boom_safe",
    "agent",
];

/// Panics without the noise of the panic hook, which the output of a failing property would drown in.
pub fn break_down(text: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

pub struct Player {
    pub name: &'static str,
    pub signals: Signals,
    pub log: Log,
}

/// Every part.
pub fn cast(signals: &Signals, log: &Log) -> Vec<Arc<dyn Tool>> {
    let player = |name| Player { name, signals: signals.clone(), log: log.clone() };
    PARTS.into_iter().map(|name| Arc::new(player(name)) as Arc<dyn Tool>).collect()
}

#[async_trait]
impl Tool for Player {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "plays a part"
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        if self.name == "boom_check" {
            break_down("cannot read");
        }
        match input.get("bad") {
            Some(_) => Err("field `bad` is not allowed".into()),
            None => Ok(()),
        }
    }

    fn is_concurrency_safe(&self, input: &Value) -> bool {
        if self.name == "boom_safe" {
            break_down("cannot tell");
        }
        match self.name {
            "write" => false,
            "agent" => input["read_only"] == true,
            _ => true,
        }
    }

    fn may_start_early(&self, _input: &Value) -> bool {
        self.name == "look" || self.name == "write"
    }

    fn judge(&self, _input: &Value, _rules: &Rules, _place: &Place) -> Judgement {
        if self.name == "boom_judge" {
            break_down("cannot judge");
        }
        let read_only = Judgement { effect: Effect::ReadOnly, reason: "it only reads".into(), ..Judgement::unjudged() };
        match self.name {
            "write" => Judgement {
                reason: "it writes".into(),
                suggestions: vec![rule("write", Origin::Session)],
                ..Judgement::unjudged()
            },
            "secret" => Judgement { deny: Some(rule("secret(*.key)", Origin::User)), ..read_only },
            _ => read_only,
        }
    }

    async fn call(&self, input: Value, context: &ToolContext) -> ToolOutput {
        let id = || context.id().map_or("early".to_owned(), ToString::to_string);
        self.log.add(format!("begin {}", id()));
        let output = self.act(&input, context).await;
        self.log.add(format!("end {}", id()));
        output
    }
}

impl Player {
    async fn act(&self, input: &Value, context: &ToolContext) -> ToolOutput {
        let word = |field: &str| input[field].as_str().unwrap_or_default().to_owned();
        match self.name {
            "rich" => ToolOutput {
                content: ResultContent::Blocks(input["content"].as_array().unwrap().clone()),
                is_error: false,
                detail: json!({"count": 1}),
            },
            "silent" => ToolOutput::ok(""),
            // Takes as many milliseconds as it is told to.
            "look" => {
                let pause = Duration::from_millis(input["ms"].as_u64().unwrap_or(0));
                tokio::time::sleep(pause).await;
                context.progress("looked");
                ToolOutput::ok(word("text"))
            }
            "slow" => {
                let gate = word("gate");
                self.signals.raise(&format!("begun:{gate}"));
                tokio::select! {
                    () = self.signals.wait(&gate) => ToolOutput::ok(format!("{gate} opened")),
                    () = context.cancel.cancelled() => ToolOutput::error("told to stop"),
                }
            }
            "deaf" | "chatty" => {
                let _last_word = (self.name == "chatty").then(|| LastWord(context));
                let gate = word("gate");
                self.signals.raise(&format!("begun:{gate}"));
                self.signals.wait(&gate).await;
                ToolOutput::ok(format!("{gate} opened"))
            }
            "flood" => {
                let pieces = input["pieces"].as_u64().unwrap_or(1);
                for number in 0..pieces {
                    context.progress(&format!("{}{number:>7}\n", word("mark")));
                }
                self.signals.raise("flooded");
                ToolOutput::ok("flooded")
            }
            "boom" => break_down("the tool broke"),
            "agent" => {
                let mut prompt = word("prompt");
                if prompt.ends_with('#') {
                    // By its number a child's requests are told apart from another's.
                    prompt.push_str(&self.log.lines().len().to_string());
                }
                let spec = SubagentSpec {
                    prompt,
                    system: "You are a child.".into(),
                    tools: |_| true,
                    read_only: input["read_only"] == true,
                };
                match context.subagent(spec).await {
                    Ok(report) => ToolOutput {
                        is_error: report.error.is_some(),
                        ..ToolOutput::ok(format!(
                            "{:?} after {}: {}",
                            report.reason,
                            report.turns,
                            report.error.unwrap_or(report.text)
                        ))
                    },
                    Err(fault) => ToolOutput::error(fault),
                }
            }
            _ => ToolOutput::ok(word("text")),
        }
    }
}

/// Shows progress at the very end, when the task of a tool is torn down.
struct LastWord<'a>(&'a ToolContext);

impl Drop for LastWord<'_> {
    fn drop(&mut self) {
        self.0.progress("last word");
    }
}

/// A rule as it is written.
pub fn rule(text: &str, origin: Origin) -> Rule {
    let (tool, pattern) = text.split_once('(').unwrap_or((text, ")"));
    let pattern = pattern.strip_suffix(')').filter(|pattern| !pattern.is_empty());
    Rule { tool: tool.into(), pattern: pattern.map(str::to_owned), origin }
}
