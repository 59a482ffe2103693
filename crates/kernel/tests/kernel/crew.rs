//! Owns the scripted features: one that writes down what it is told, slowly where asked to, and one
//! whose every hook is a function.

use async_trait::async_trait;
use kernel::{Act, AgentEvent, At, Block, Call, Case, Extension, Remedy, ToolOutput, Trouble};

use crate::cast::{Log, Signals};
use crate::notation;

/// Logs `seen LINE` when it has finished with an event.
#[derive(Default)]
pub struct Scribe {
    pub log: Log,
    pub signals: Signals,
    /// At an event whose line starts with the first, raises `held` and waits for the second.
    pub hold: Option<(&'static str, &'static str)>,
}

#[async_trait]
impl Extension for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    async fn on_event(&self, event: &AgentEvent) {
        let line = notation::line(event);
        // Gives everything else a chance to go on too early.
        for _ in 0..7 {
            tokio::task::yield_now().await;
        }
        if let Some((_, gate)) = self.hold.filter(|(start, _)| line.starts_with(start)) {
            self.signals.raise("held");
            self.signals.wait(gate).await;
        }
        self.log.add(format!("seen {line}"));
        if line.starts_with("terminal") {
            self.signals.raise("over");
        }
    }
}

/// A feature by its hooks.
pub struct Feature {
    pub name: &'static str,
    pub pins: Vec<String>,
    pub before_model: fn(At) -> Vec<Block>,
    pub remedy: fn(At, Trouble<'_>) -> Option<Act>,
    pub before_tool: fn(&Call) -> Option<String>,
    pub after_tool: fn(&Call, &ToolOutput) -> Vec<Block>,
    pub before_stop: fn(At) -> Option<String>,
    pub on_event: fn(&AgentEvent),
}

impl Default for Feature {
    fn default() -> Self {
        Self {
            name: "feature",
            pins: Vec::new(),
            before_model: |_| Vec::new(),
            remedy: |_, _| None,
            before_tool: |_| None,
            after_tool: |_, _| Vec::new(),
            before_stop: |_| None,
            on_event: |_| {},
        }
    }
}

#[async_trait]
impl Extension for Feature {
    fn name(&self) -> &str {
        self.name
    }

    fn pins(&self) -> Vec<String> {
        self.pins.clone()
    }

    async fn before_model(&self, at: At) -> Vec<Block> {
        (self.before_model)(at)
    }

    async fn remedy(&self, case: &Case<'_>) -> Option<Remedy> {
        (self.remedy)(case.at, case.trouble).map(|act| Remedy { name: self.name, act })
    }

    async fn before_tool(&self, call: &Call) -> Option<String> {
        (self.before_tool)(call)
    }

    async fn after_tool(&self, call: &Call, output: &ToolOutput) -> Vec<Block> {
        (self.after_tool)(call, output)
    }

    async fn before_stop(&self, at: At) -> Option<String> {
        (self.before_stop)(at)
    }

    async fn on_event(&self, event: &AgentEvent) {
        (self.on_event)(event);
    }
}
