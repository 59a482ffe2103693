//! Owns the command line. Must not know what the flags lead to.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use harness::settings::Sources;
use harness::{Effort, Layer, Profile, Toolset};
use kernel::Mode;

/// A coding agent. Without -p it talks in the terminal.
#[derive(Debug, Parser)]
#[command(name = "rsagent", version, about, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// What to do in place of talking.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// What to do. With -p, text piped to standard input is appended.
    pub prompt: Option<String>,

    /// Answer the prompt, print the answer and exit.
    #[arg(short, long)]
    pub print: bool,

    /// What -p prints: the answer, one result object, or one event a line.
    #[arg(long, value_enum, default_value = "text")]
    pub output_format: OutputFormat,

    /// Permission mode: default, acceptEdits, plan, bypassPermissions or dontAsk.
    #[arg(long, visible_alias = "permission-mode", value_parser = mode)]
    pub mode: Option<Mode>,

    /// Run everything that no deny or ask rule stops; the same as --mode bypassPermissions.
    #[arg(long, conflicts_with = "mode")]
    pub dangerously_skip_permissions: bool,

    /// Model id; otherwise RSAGENT_MODEL, else the provider's default.
    #[arg(long)]
    pub model: Option<String>,

    /// Provider: one of `rsagent providers`, built in or from ~/.rsagent/settings.json.
    #[arg(long)]
    pub provider: Option<String>,

    /// Who answers when the model is gone or stays overloaded: MODEL or PROVIDER/MODEL.
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,

    /// How much work an answer is worth: low, medium, high, xhigh or max.
    #[arg(long, value_parser = effort)]
    pub effort: Option<Effort>,

    /// Whether the model thinks before it answers, where it can be told: adaptive or disabled.
    #[arg(long, value_parser = thinking)]
    pub thinking: Option<bool>,

    /// Write down what the model is asked and says, without keys, for a bug report.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Answer from such a file in place of the model.
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub replay: Option<PathBuf>,

    /// What commands may touch: off (as much as you), read-only or workspace-write; the latter two without
    /// network. Otherwise what the settings say, else off.
    #[arg(long, value_name = "PROFILE")]
    pub sandbox: Option<Profile>,

    /// Stop after this many model calls.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop before a call that would make the session cost more than this many US dollars.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_budget_usd: Option<f64>,

    /// Which tools there are: default, minimal (Read and Bash with a short prompt, for small models),
    /// or names such as `Read,Bash`.
    #[arg(long, value_name = "TOOLS", default_value = "default")]
    pub tools: Toolset,

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

    /// Settings over those of files: a file, or an object such as `{"model": "…"}`.
    #[arg(long, value_name = "FILE|JSON")]
    pub settings: Option<String>,

    /// Which settings files are read: user, project and local, apart by commas. Managed ones always are.
    #[arg(long, value_name = "LAYERS", default_value = "user,project,local")]
    pub setting_sources: Sources,

    /// Trust the working folder for this run: its settings do more than deny and ask.
    #[arg(long)]
    pub trust: bool,

    /// Print the system prompt, with the cache boundary marked, and exit.
    #[arg(long)]
    pub show_system: bool,

    /// Talk, even when standard input is no terminal: one prompt a line.
    #[arg(long, conflicts_with = "print")]
    pub interactive: bool,
}

/// What to do in place of talking.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// List the providers: which are set up, and which answer.
    Providers,
    /// What may run, and why.
    #[command(subcommand)]
    Permissions(Permissions),
    /// Run one command in the sandbox.
    Sandbox(SandboxArgs),
}

/// `rsagent permissions`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Permissions {
    /// Explain whether a command line may run, or decide a file of cases. Runs nothing.
    Test(PermissionTest),
}

/// `rsagent permissions test`.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct PermissionTest {
    /// The command line, in quotes.
    #[arg(required_unless_present = "cases")]
    pub command: Option<String>,

    /// Permission mode: default, acceptEdits, plan, bypassPermissions or dontAsk.
    #[arg(long, value_parser = mode)]
    pub mode: Option<Mode>,

    /// A file of cases, one JSON object a line, each with the rules and the decision that it wants.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "mode"])]
    pub cases: Option<PathBuf>,

    /// Further rules for what runs without a question.
    #[arg(long, visible_alias = "allowedTools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,

    /// Further rules for what never runs.
    #[arg(long, visible_alias = "disallowedTools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,

    /// What is printed: words or JSON.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// For people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Words.
    Text,
    /// JSON.
    Json,
}

/// `rsagent sandbox`.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct SandboxArgs {
    /// What it may touch: off, read-only or workspace-write.
    #[arg(long = "sandbox", value_name = "PROFILE", default_value_t = Profile::WorkspaceWrite)]
    pub profile: Profile,

    /// What keeps it there, in place of the best that works: bubblewrap, landlock or seatbelt.
    #[arg(long)]
    pub layer: Option<Layer>,

    /// A further folder of the workspace.
    #[arg(long, value_name = "FOLDER")]
    pub add_dir: Vec<PathBuf>,

    /// A host that it may reach, `*.` before it for all below, or `*` for the whole network.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,

    /// End it after so many milliseconds.
    #[arg(long, value_name = "MS")]
    pub timeout: Option<u64>,

    /// The command.
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
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

    /// The permission mode that was asked for.
    pub fn mode(&self) -> Option<Mode> {
        if self.dangerously_skip_permissions { Some(Mode::BypassPermissions) } else { self.mode }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| format!("`{text}` is no amount of US dollars; write a number such as 0.50"))
}

fn effort(text: &str) -> Result<Effort, String> {
    text.parse().map_err(|_| format!("unknown effort `{text}`; use low, medium, high, xhigh or max"))
}

fn thinking(text: &str) -> Result<bool, String> {
    match text {
        "adaptive" | "on" => Ok(true),
        "disabled" | "off" => Ok(false),
        _ => Err(format!("unknown value `{text}`; use adaptive or disabled")),
    }
}

/// Reads the name of a mode.
pub fn mode(text: &str) -> Result<Mode, String> {
    text.parse()
        .map_err(|_| format!("unknown mode `{text}`; use default, acceptEdits, plan, bypassPermissions or dontAsk"))
}
