//! Owns the list of dialects that the double speaks: one row each, so that a test that is written for
//! a row holds for every dialect. Content and stop reasons are given as the Messages API has them.

use serde_json::{Value, json};

use crate::{chat, reply, validate};

/// One dialect.
#[derive(Debug)]
pub struct Wire {
    /// Its name in settings.
    pub name: &'static str,
    /// The end of its endpoint's path.
    path: &'static str,
    /// The stream of an answer: content, stop reason, tokens in and out.
    pub stream: fn(&[Value], &str, u64, u64) -> String,
    /// The same answer in one piece, as servers send it that do not stream.
    pub whole: fn(&[Value], &str) -> Value,
    /// The body of an error: its type and text.
    pub error: fn(&str, &str) -> Value,
    /// The same error as an event of a stream.
    pub error_event: fn(&str, &str) -> String,
    /// Whether a request is one that the vendor would take.
    pub validate: fn(&Value) -> Result<(), String>,
}

/// Every dialect.
pub const WIRES: [&Wire; 2] = [&ANTHROPIC, &OPENAI];

/// Anthropic Messages.
pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    path: "/messages",
    stream: reply::sse,
    whole: |content, stop_reason| {
        json!({"id": "msg_test", "type": "message", "role": "assistant", "model": "test", "content": content,
            "stop_reason": stop_reason, "usage": {"input_tokens": 1000, "output_tokens": 20}})
    },
    error: messages_error,
    error_event: |kind, text| format!("event: error\ndata: {}\n\n", messages_error(kind, text)),
    validate: validate::request,
};

fn messages_error(kind: &str, text: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_test"})
}

/// OpenAI Chat Completions.
pub const OPENAI: Wire = Wire {
    name: "openai",
    path: "/chat/completions",
    stream: chat::sse,
    whole: |content, stop_reason| {
        let usage = json!({"prompt_tokens": 1000, "completion_tokens": 20});
        let choice = json!({"index": 0, "message": chat::message(content), "finish_reason": chat::reason(stop_reason)});
        json!({"id": "chatcmpl-test", "object": "chat.completion", "choices": [choice], "usage": usage})
    },
    error: chat_error,
    error_event: |kind, text| format!("data: {}\n\n", chat_error(kind, text)),
    validate: |body| chat::request(body, chat::Strict::default()),
};

fn chat_error(kind: &str, text: &str) -> Value {
    json!({"error": {"message": text, "type": kind, "param": null, "code": null}})
}

/// The dialect of a request line.
pub(crate) fn at(line: &str) -> &'static Wire {
    WIRES.iter().find(|wire| line.ends_with(wire.path)).unwrap_or(&WIRES[0])
}
