//! Owns the keys that people have in their files for Claude Code and that have no meaning here,
//! `known.json`, and the names of its tools. Both are kept in silence, so that a file can be shared.
//! Must not know our own keys and tools.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A key that is kept.
#[derive(Debug, Deserialize)]
pub(super) struct Known {
    /// Its type, in the words of JSON Schema.
    #[serde(rename = "type")]
    pub(super) kind: Value,
    /// What it means to Claude Code.
    pub(super) about: String,
}

/// The keys, each with the key above it before a dot. The file is part of the program; a test reads it.
pub(super) fn known() -> BTreeMap<String, Known> {
    serde_json::from_str(include_str!("known.json")).unwrap_or_default()
}

/// Tools of Claude Code. A rule for one that is not here is no misspelling.
const TOOLS: [&str; 30] = [
    "AskUserQuestion",
    "BashOutput",
    "Cd",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskOutput",
    "TaskStop",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
];

/// Whether Claude Code has a tool of this name.
pub fn is_known_tool(name: &str) -> bool {
    let family = ["mcp__", "Cron", "Task"].iter().any(|start| name.starts_with(start));
    family || TOOLS.contains(&name)
}
