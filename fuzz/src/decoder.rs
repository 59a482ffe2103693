//! Owns what holds for the decoder of every dialect, whatever bytes come: it never panics, gives nothing
//! after the end, gives the same however the bytes are split, and never gives half a call.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Block, ModelError, ModelEvent};
use models::wire::{Answer, Auth, Dialect, Site};

use crate::split;

/// The flag of the input tells whether the header says what comes.
pub fn check(dialect: Dialect, input: &[u8]) {
    let Some((says_events, bytes, pieces)) = split::split(input) else { return };
    let content_type = if says_events { "text/event-stream" } else { "" };
    let (events, fault) = decode(dialect, content_type, &[bytes]);
    let (split, split_fault) = decode(dialect, content_type, &pieces);
    assert_eq!(split, events, "split");
    assert_eq!(split_fault, fault, "split");
    let stop = events.iter().position(|event| matches!(event, ModelEvent::Stop(_)));
    match stop {
        Some(at) => assert_eq!(at, events.len() - 1, "something came after the end: {events:?}"),
        None => assert!(fault.is_some(), "neither an end nor an error"),
    }
    for event in &events {
        match event {
            ModelEvent::Block(Block::ToolUse { name, input, .. }) => {
                assert!(!name.is_empty() && name.len() <= 64, "a name that cannot be sent: {name:?}");
                assert!(input.is_object(), "half a call: {input}");
            }
            ModelEvent::Block(Block::Other(value)) => {
                let kind = value["type"].as_str().expect("a block without a type");
                assert!(!["text", "thinking", "tool_use", "tool_result"].contains(&kind), "half a block: {value}");
            }
            _ => {}
        }
    }
}

/// What came until the end or the first error, as a call reads it.
fn decode(dialect: Dialect, content_type: &str, pieces: &[&[u8]]) -> (Vec<ModelEvent>, Option<ModelError>) {
    let site = Site {
        provider: "double".into(),
        dialect,
        url: format!("http://127.0.0.1{}", dialect.path()).parse().unwrap(),
        auth: Auth::Nothing,
        key_hint: String::new(),
        models: Vec::new(),
    };
    let mut answer = Answer::new(Arc::new(site), "m", content_type);
    let mut out = VecDeque::new();
    for piece in pieces {
        if let Err(fault) = answer.push(piece, &mut out) {
            return (out.into(), Some(fault));
        }
        if matches!(out.back(), Some(ModelEvent::Stop(_))) {
            break;
        }
    }
    let ended = match out.back() {
        Some(ModelEvent::Stop(_)) => Ok(()),
        _ => answer.finish(&mut out),
    };
    (out.into(), ended.err())
}
