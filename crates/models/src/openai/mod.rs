//! Owns the OpenAI Chat Completions dialect: the bytes of a request, and what the chunks of an answer
//! say, with what servers are known to do differently. Must not know HTTP.

mod decode;
mod request;

pub(crate) use decode::Decoder;
pub use request::body;
