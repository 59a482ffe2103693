//! Tests of the crate as a whole: dialects against a server that speaks the real wire format, the
//! registry, and the mock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "models/answer.rs"]
mod answer;
#[path = "models/cache.rs"]
mod cache;
#[path = "models/cases_content.rs"]
mod cases_content;
#[path = "models/cases_stream.rs"]
mod cases_stream;
#[path = "models/decoding.rs"]
mod decoding;
#[path = "models/errors.rs"]
mod errors;
#[path = "models/fallback.rs"]
mod fallback;
#[path = "models/mock.rs"]
mod mock;
#[path = "models/openai_answer.rs"]
mod openai_answer;
#[path = "models/openai_calls.rs"]
mod openai_calls;
#[path = "models/openai_request.rs"]
mod openai_request;
#[path = "models/openai_support.rs"]
mod openai_support;
#[path = "models/openai_wire.rs"]
mod openai_wire;
#[path = "models/record.rs"]
mod record;
#[path = "models/registry.rs"]
mod registry;
#[path = "models/request.rs"]
mod request;
#[path = "models/retry.rs"]
mod retry;
#[path = "models/script.rs"]
mod script;
#[path = "models/server.rs"]
mod server;
#[path = "models/sse.rs"]
mod sse;
#[path = "models/support.rs"]
mod support;
#[path = "models/turns.rs"]
mod turns;
#[path = "models/watchdog.rs"]
mod watchdog;
