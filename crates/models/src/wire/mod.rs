//! Owns calls over HTTP, whatever the dialect: who is called, the call, what kind of body came back,
//! and what a failure means. Must not know why a call is made.

mod answer;
mod call;
mod dialect;
pub(crate) mod error;
mod heard;
mod probe;
mod site;

pub use answer::Answer;
pub use call::Remote;
pub use dialect::Dialect;
pub(crate) use dialect::{Decoder, tokens};
pub use probe::probe;
pub use site::{Auth, Secret, Site};
