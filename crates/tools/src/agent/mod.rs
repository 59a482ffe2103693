//! Owns the `Agent` tool: which kinds of child agents there are and what their reports look like.
//! Must not know how an agent runs.

use async_trait::async_trait;
use kernel::{
    Effect, Judgement, Origin, Outcome, Place, Rule, Rules, SubagentSpec, TerminalReason, ToolContext, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::typed::TypedTool;

/// Starts child agents.
pub struct Agent;

/// The input of `Agent`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What kind of agent.
    subagent_type: Kind,
    /// The whole task.
    prompt: String,
    /// The task in a few words, for people.
    #[expect(dead_code, reason = "whoever shows the call reads it there")]
    description: String,
}

// Comments on the variants would go into the schema, where the tool's description says it already.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    General,
    Explore,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Explore => "explore",
        }
    }

    fn spec(self, prompt: String) -> SubagentSpec {
        match self {
            Self::General => SubagentSpec {
                prompt,
                system: include_str!("general.md").trim_end().to_owned(),
                tools: |name| name != Agent::NAME,
                read_only: false,
            },
            // Two lines of defence: nothing that writes in the pool, and a gate that only reads.
            Self::Explore => SubagentSpec {
                prompt,
                system: include_str!("explore.md").trim_end().to_owned(),
                tools: |name| matches!(name, "Read" | "Bash" | "Glob" | "Grep"),
                read_only: true,
            },
        }
    }
}

#[async_trait]
impl TypedTool for Agent {
    type Input = Input;
    const NAME: &'static str = "Agent";
    const DESCRIPTION: &'static str = include_str!("agent.md");

    fn is_concurrency_safe(&self, input: &Input) -> bool {
        match input.subagent_type {
            Kind::General => false,
            Kind::Explore => true,
        }
    }

    /// Starting an agent changes nothing; each of its calls is judged for itself. `Agent(explore)`
    /// speaks of a kind.
    fn judge(&self, input: &Input, rules: &Rules, _place: &Place) -> Judgement {
        let kind = input.subagent_type.name();
        let of_kind = |list: &[Rule]| {
            let mut rules = list.iter().filter(|rule| rule.tool == Self::NAME);
            rules.find(|rule| rule.pattern.as_deref() == Some(kind)).cloned()
        };
        Judgement {
            deny: of_kind(&rules.deny),
            ask: of_kind(&rules.ask),
            covered: of_kind(&rules.allow).is_some(),
            effect: Effect::ReadOnly,
            reason: format!("it starts a {kind} agent, whose calls are judged one by one"),
            suggestions: vec![Rule { tool: Self::NAME.into(), pattern: Some(kind.into()), origin: Origin::Session }],
            ..Judgement::unjudged()
        }
    }

    async fn call(&self, input: Input, context: &ToolContext) -> ToolOutput {
        let kind = input.subagent_type;
        match context.subagent(kind.spec(input.prompt)).await {
            Ok(report) => show(kind, &report),
            Err(fault) => ToolOutput::error(fault),
        }
    }
}

fn show(kind: Kind, report: &Outcome) -> ToolOutput {
    let trouble = match report.reason {
        TerminalReason::Completed => None,
        TerminalReason::MaxTurns => Some("it reached its limit of turns"),
        TerminalReason::Aborted => Some("it was interrupted"),
        TerminalReason::Error => Some("it failed"),
        TerminalReason::Budget => Some("the spending limit was reached"),
        TerminalReason::Refused => Some("the model refused"),
    };
    let said = report.text.trim();
    let output = match trouble {
        None if said.is_empty() => ToolOutput::ok("The agent ended without a report."),
        None => ToolOutput::ok(said),
        Some(trouble) => {
            let cause = report.error.iter().map(|error| format!(": {error}"));
            let words = (!said.is_empty()).then(|| format!("\nIts last words:\n{said}"));
            let rest: String = cause.chain(words).collect();
            ToolOutput::error(format!("the agent did not finish; {trouble}{rest}"))
        }
    };
    let detail = json!({"agent_type": kind.name(), "turns": report.turns, "reason": report.reason});
    ToolOutput { detail, ..output }
}
