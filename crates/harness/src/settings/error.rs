//! Owns why settings cannot be used, in words that say what to do. Must not know how it is found out.

use std::path::PathBuf;

use thiserror::Error;

/// Why settings could not be used. Nothing runs with half of them: what a broken file denies would
/// not be denied.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file is there and cannot be read.
    #[error("cannot read {path}: {fault}. Make it a readable file or remove it{}", hint(.shared))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        fault: String,
        /// Whether it is the project's and not the user's own.
        shared: bool,
    },
    /// The file is not what it should be.
    #[error("{path}:{line}:{column}: {fault}. Correct the file or remove it{}", hint(.shared))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        fault: String,
        /// Whether it is the project's and not the user's own.
        shared: bool,
    },
    /// The text of `--settings` is neither a file nor settings.
    #[error("--settings: {0}")]
    Flag(String),
    /// A rule cannot be read.
    #[error("{place}: {fault}")]
    Rule {
        /// The file and key, or the flag.
        place: String,
        /// What is wrong.
        fault: String,
    },
    /// A rule cannot be saved or taken away.
    #[error("{0}")]
    Edit(String),
}

/// Somebody else's file need not be corrected by whoever only wants to work.
fn hint(shared: &bool) -> &'static str {
    match shared {
        true => "; `--setting-sources user` leaves project settings out",
        false => "",
    }
}
