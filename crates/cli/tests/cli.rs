//! The real binary, run as people and programs run it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "cli/mod.rs"]
mod tests;
