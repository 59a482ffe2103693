//! Owns the command line. Must not know what the flags lead to.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use kernel::Mode;

/// A coding agent. Without -p it talks in the terminal.
#[derive(Debug, Parser)]
#[command(name = "rsagent", version, about, disable_help_subcommand = true)]
pub struct Args {
    /// What to do. With -p, text piped to standard input is appended.
    pub prompt: Option<String>,

    /// Answer the prompt, print the answer and exit.
    #[arg(short, long)]
    pub print: bool,

    /// What -p prints: the answer, one result object, or one event a line.
    #[arg(long, value_enum, default_value = "text")]
    pub output_format: OutputFormat,

    /// Permission mode: default, acceptEdits, plan or bypassPermissions.
    #[arg(long, visible_alias = "permission-mode", default_value = "default", value_parser = mode)]
    pub mode: Mode,

    /// Run everything that no deny or ask rule stops; the same as --mode bypassPermissions.
    #[arg(long, conflicts_with = "mode")]
    pub dangerously_skip_permissions: bool,

    /// Model id; otherwise RSAGENT_MODEL, else the provider's default.
    #[arg(long)]
    pub model: Option<String>,

    /// Provider: anthropic, deepseek, mock, or one from ~/.rsagent/settings.json.
    #[arg(long)]
    pub provider: Option<String>,

    /// Stop after this many model calls.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop before a call that would make the session cost more than this many US dollars.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_budget_usd: Option<f64>,

    /// Rules for what runs without a question, such as `Bash(git log *),Write`.
    #[arg(long, visible_alias = "allowedTools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,

    /// Rules for what never runs.
    #[arg(long, visible_alias = "disallowedTools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,

    /// Text to add after the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// A further folder of the workspace.
    #[arg(long, value_name = "FOLDER")]
    pub add_dir: Vec<PathBuf>,

    /// Print the system prompt, with the cache boundary marked, and exit.
    #[arg(long)]
    pub show_system: bool,

    /// Talk, even when standard input is no terminal: one prompt a line.
    #[arg(long, conflicts_with = "print")]
    pub interactive: bool,
}

/// What `-p` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer alone.
    Text,
    /// One result object.
    Json,
    /// One event a line.
    Events,
}

impl Args {
    /// Whether it talks with a person, or answers one prompt and ends.
    pub fn talks(&self, stdin_is_terminal: bool) -> bool {
        self.interactive || !(self.print || self.show_system) && stdin_is_terminal
    }

    /// The permission mode of the session.
    pub fn mode(&self) -> Mode {
        if self.dangerously_skip_permissions { Mode::BypassPermissions } else { self.mode }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| format!("`{text}` is no amount of US dollars; write a number such as 0.50"))
}

/// Reads the name of a mode.
pub fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|_| format!("unknown mode `{text}`; use default, acceptEdits, plan or bypassPermissions"))
}
