//! Owns the OpenAI Chat Completions dialect: the bytes of a request, and what the chunks of an answer
//! say, with what servers are known to do differently. Must not know HTTP.

mod calls;
mod count;
mod decode;
mod details;
mod history;
mod ids;
mod parts;
mod request;
mod said;
mod schema;
mod think;
mod ways;

pub(crate) use decode::Decoder;
pub use request::body;
