//! Owns the Anthropic Messages dialect: the bytes of a request, and what the events of an answer say.
//! Must not know HTTP.

mod blocks;
mod decode;
mod request;

pub(crate) use decode::Decoder;
pub use request::{CACHE_MARK, body};

/// The names under which messages keep the bytes of this dialect, media included and left out.
pub const DIALECT: [&str; 2] = ["anthropic", "anthropic, text alone"];
