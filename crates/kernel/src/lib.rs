//! The agent loop, and nothing that it does not need.
//!
//! An agent is one loop: assemble messages, call the model, parse the stream, run tools, feed the
//! results back, go round. This crate owns that loop and the rules that make it safe to build on:
//! what a conversation is, when a tool may run, how events leave. It knows no I/O, no terminal, no
//! environment, no vendor: everything arrives through [`QueryParams`].
//!
//! Read in this order: [`message`], [`conversation`], [`model`], [`permission`], [`tool`],
//! [`extension`], [`event`], [`query`](mod@query), `answer`, `orchestrate`, `early`, [`gate`], [`outlet`],
//! then the rest.

mod answer;
pub mod conversation;
mod early;
pub mod event;
pub mod extension;
pub mod gate;
pub mod message;
pub mod model;
mod orchestrate;
pub mod outlet;
pub mod permission;
pub mod query;
pub mod retry;
pub mod subagent;
pub mod tool;
pub mod trouble;

// One vocabulary: what is public in a module is public here; the rest is known within the crate.
use self::{answer::*, early::*, orchestrate::*};
pub use self::{conversation::*, event::*, extension::*, gate::*, message::*, model::*, outlet::*};
pub use self::{permission::*, query::*, retry::*, subagent::*, tool::*, trouble::*};

/// Locks for a moment. What the lock guards is whole even if somebody panicked while holding it.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
