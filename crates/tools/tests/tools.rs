//! The tools against real files, real processes and the kernel's own loop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

#[path = "tools/agent.rs"]
mod agent;
#[path = "tools/bash.rs"]
mod bash;
#[path = "tools/files.rs"]
mod files;
#[path = "tools/git.rs"]
mod git;
#[path = "tools/images.rs"]
mod images;
#[path = "tools/rules.rs"]
mod rules;
#[path = "tools/schema.rs"]
mod schema;
#[path = "tools/support.rs"]
mod support;
