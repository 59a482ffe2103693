//! How anything is started or opened on this machine.
//!
//! Owns child processes and their sandbox, bounded reading, atomic writing and the meaning of a path. Must not know
//! models, sessions, tools or terminals. There is no global state: working folder, home folder and
//! environment arrive through arguments.

pub mod files;
pub mod paths;
pub mod process;
pub mod sandbox;
