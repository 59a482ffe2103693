//! Owns what is looked for in the events of a session. Must not know the server.

use std::collections::HashMap;

use kernel::{AgentEvent, Level, TerminalReason};

use super::may_end;

/// What has been seen.
#[derive(Debug, Default)]
pub struct Watch {
    /// Commands that were begun.
    commands: Vec<String>,
    /// Results that are still to come, by agent and call.
    open: HashMap<String, usize>,
    /// What was said of failures in this prompt.
    errors: Vec<String>,
    terminal: Option<TerminalReason>,
    fault: Option<String>,
}

impl Watch {
    pub fn see(&mut self, event: &AgentEvent) {
        if self.terminal.is_some() {
            self.fault = Some(format!("something came after the end: {event:?}"));
        }
        self.look(event, "");
    }

    fn look(&mut self, event: &AgentEvent, agent: &str) {
        match event {
            AgentEvent::Subagent { agent_id, event } => self.look(event, &format!("{agent}/{agent_id}")),
            AgentEvent::ToolStart { id, input, .. } => {
                self.commands.extend(input["command"].as_str().map(str::to_owned));
                let open = self.open.entry(format!("{agent}/{id}")).or_default();
                *open += 1;
                if *open > 1 {
                    self.fault = Some(format!("{agent}/{id} began twice"));
                }
            }
            AgentEvent::ToolResult { id, .. } => drop(self.open.remove(&format!("{agent}/{id}"))),
            AgentEvent::Notice { level: Level::Error, text, .. } => self.errors.push(text.clone()),
            AgentEvent::Terminal { reason, .. } if agent.is_empty() => self.terminal = Some(*reason),
            _ => {}
        }
    }

    /// The prompt's stream is over. Gives how it ended, or what must not be.
    pub fn ended(&mut self, interrupted: bool) -> Result<String, String> {
        let errors = std::mem::take(&mut self.errors);
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let Some(reason) = self.terminal.take() else { return Err("there was no end".to_owned()) };
        if !may_end(reason, interrupted) {
            return Err(format!("it ended with {reason:?}"));
        }
        if matches!(reason, TerminalReason::Error | TerminalReason::Refused) && errors.is_empty() {
            return Err(format!("it ended with {reason:?} and nobody said why"));
        }
        if let Some(inside) = errors.iter().find(|text| text.contains("failed inside")) {
            return Err(inside.clone());
        }
        if !self.open.is_empty() {
            return Err(format!("calls without a result: {:?}", self.open));
        }
        Ok(format!("{reason:?}"))
    }

    /// What was said of failures in this prompt so far.
    pub fn errors(&self) -> String {
        self.errors.join("; ")
    }

    /// How often a command with this word in it was begun.
    pub fn started(&self, token: &str) -> usize {
        self.commands.iter().filter(|command| command.contains(token)).count()
    }
}
