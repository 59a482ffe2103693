//! Owns the command line of everything that is no talk: `rsagent providers`, `permissions`, `config`, `sandbox`. Must
//! not know what they lead to.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use harness::settings::Sources;
use harness::{Layer, Profile};
use kernel::Mode;

use crate::args::mode;

/// What to do in place of talking.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// List the providers: which are set up, and which answer.
    Providers,
    /// What may run, and why.
    #[command(subcommand)]
    Permissions(Permissions),
    /// Show what is set and where, publish the schema of settings, keep a key.
    #[command(subcommand)]
    Config(Config),
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

/// What to do with settings.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Config {
    /// Print each value that holds, with the file it comes from, and what has no effect and why.
    Show {
        /// As one object.
        #[arg(long)]
        json: bool,
        /// As with this flag of a session.
        #[arg(long, value_name = "FILE|JSON")]
        settings: Option<String>,
        /// As with this flag of a session.
        #[arg(long, value_name = "LAYERS", default_value = "user,project,local")]
        setting_sources: Sources,
        /// As with this flag of a session.
        #[arg(long)]
        trust: bool,
    },
    /// Print the JSON Schema of settings files.
    Schema,
    /// Keep the key of a provider in ~/.rsagent/keys.json. It is read from the terminal without an
    /// echo, or from standard input.
    SetKey {
        /// The provider.
        provider: String,
        /// Forget the key.
        #[arg(long)]
        remove: bool,
    },
}
