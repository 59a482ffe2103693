//! The host against real processes and real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

#[path = "host/environment.rs"]
mod environment;
#[path = "host/files.rs"]
mod files;
#[path = "host/git.rs"]
mod git;
#[path = "host/paths.rs"]
mod paths;
#[path = "host/process.rs"]
mod process;
