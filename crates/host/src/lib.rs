//! How anything is started or opened on this machine.
//!
//! Owns child processes and their sandbox, bounded reading, atomic writing, the meaning of a path and of a git
//! configuration. Must not know
//! models, sessions, tools or terminals. There is no global state: working folder, home folder and
//! environment arrive through arguments.

pub mod files;
pub mod git;
pub mod paths;
pub mod process;
#[cfg(unix)]
pub mod sandbox;
