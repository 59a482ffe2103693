//! How work is done: the tools that a model can call, over `host` and `shell`.
//!
//! Owns each tool's input, prompt text and judgement, and what permission patterns mean for files
//! and commands. Must not know models, sessions or terminals.
//!
//! A new tool is one file beside the others that implements [`TypedTool`], its prompt text as
//! Markdown, and one line in [`builtin`]; ARCHITECTURE.md has the recipe.

mod agent;
pub mod bash;
mod media;
mod read;
pub mod rules;
pub mod sandbox;
mod typed;
mod write;

use std::ffi::OsString;
use std::sync::Arc;

use kernel::Tool;
use serde::Deserialize;

pub use typed::{FilePath, Typed, TypedTool};

/// The built-in tools, in the order in which the model is told of them. `env` is the environment
/// that commands get, less secrets, what puts code into programs, and the names that `withheld` has patterns
/// for (`*` is any text; behind a `!`, names that are let through all the same; the last that fits decides).
/// `jail` is where they run.
pub fn builtin(env: Vec<(OsString, OsString)>, withheld: &[String], jail: &sandbox::Jail) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Typed(read::Read)),
        Arc::new(Typed(write::Write)),
        Arc::new(Typed(bash::Bash::new(env, withheld, jail.clone()))),
        Arc::new(Typed(agent::Agent)),
    ]
}

/// The deny rules that hold unless the user's settings replace them: `builtin-deny.json`, where
/// each has its reason.
pub fn builtin_deny() -> Vec<&'static str> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        rule: &'a str,
    }
    let entries: Result<Vec<Entry<'static>>, _> = serde_json::from_str(include_str!("builtin-deny.json"));
    // A list that cannot be read protects from nothing, so everything that it could speak of stops.
    entries.map_or_else(|_| vec!["Bash"], |entries| entries.into_iter().map(|entry| entry.rule).collect())
}
