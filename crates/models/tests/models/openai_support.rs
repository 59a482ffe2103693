//! Owns what the tests of the Chat Completions dialect share: chunks as servers send them, and what
//! comes of them.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Block, Conversation, ModelError, ModelEvent, StopReason};
use models::wire::{Answer, Auth, Dialect, Site};
use serde_json::{Map, Value, json};

use crate::support::prefix;

pub const DONE: &str = "data: [DONE]\n\n";

pub fn site(provider: &str) -> Arc<Site> {
    Arc::new(Site {
        provider: provider.into(),
        dialect: Dialect::OpenAi,
        url: "http://models.test/v1/chat/completions".parse().unwrap(),
        auth: Auth::Nothing,
        key_hint: "Set KEY".into(),
        models: Vec::new(),
    })
}

pub fn data(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

pub fn chunk(delta: Value) -> String {
    data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "local",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

pub fn content(text: &str) -> String {
    chunk(json!({"content": text}))
}

pub fn function(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Fragments of calls, one chunk each.
pub fn fragments(all: &[Value]) -> String {
    all.iter().map(|fragment| chunk(json!({"tool_calls": [fragment]}))).collect()
}

pub fn finish(reason: &str) -> String {
    data(&json!({"object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

/// A stream of these chunks with a reason to stop and the last line.
pub fn stream(chunks: &str, reason: &str) -> String {
    format!("{chunks}{}{DONE}", finish(reason))
}

pub fn decode_as(content_type: &str, body: &str) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut answer = Answer::new(site("local"), "local", content_type);
    let mut out = VecDeque::new();
    let ended = answer.push(body.as_bytes(), &mut out).and_then(|()| answer.finish(&mut out));
    (out.into(), ended.err())
}

pub fn decode(body: &str) -> (Vec<ModelEvent>, Option<ModelError>) {
    decode_as("text/event-stream", body)
}

/// The blocks of an answer that must be whole, and its end.
pub fn blocks(body: &str) -> (Vec<Block>, StopReason) {
    let (events, fault) = decode(body);
    assert_eq!(fault, None);
    let (last, rest) = events.split_last().unwrap();
    let ModelEvent::Stop(reason) = last else { panic!("no stop in {events:?}") };
    let block = |event: &ModelEvent| match event {
        ModelEvent::Block(block) => Some(block.clone()),
        _ => None,
    };
    (rest.iter().filter_map(block).collect(), reason.clone())
}

pub fn fault(body: &str) -> ModelError {
    decode(body).1.unwrap()
}

pub fn thought(text: &str) -> Block {
    Block::Thinking { thinking: text.into(), signature: None, extra: Map::new() }
}

/// The ids that a conversation gives to the calls of an answer.
pub fn ids(blocks: Vec<Block>) -> Vec<String> {
    let mut conversation = Conversation::new(prefix());
    conversation.push_user(vec![Block::text("go")]).unwrap();
    let message = conversation.push_assistant(blocks).unwrap();
    message.tool_uses().map(|(id, _, _)| id.0.clone()).collect()
}
