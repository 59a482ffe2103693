//! What tests need because it cannot be had: a vendor's cloud. It speaks the real wire format on
//! loopback and refuses what the real one would refuse. Used by tests only.

// A fault in here is a fault of the test that uses it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod cases;
pub mod chat;
pub mod faults;
pub mod reply;
pub mod server;
pub mod validate;
pub mod wire;

pub use reply::Reply;
pub use server::{Request, Server};
pub use wire::Wire;
