//! Owns decoding without a connection: bytes of an answer in, its events out.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Block, ModelError, ModelEvent, StopReason};
use models::wire::{Answer, Auth, Dialect, Site};

pub const EVENTS: &str = "text/event-stream";

pub fn site() -> Arc<Site> {
    Arc::new(Site {
        provider: "anthropic".into(),
        dialect: Dialect::Anthropic,
        url: "http://models.test/v1/messages".parse().unwrap(),
        auth: Auth::Nothing,
        key_hint: "Set KEY".into(),
        models: Vec::new(),
    })
}

/// The events of a body that arrives in these reads, and the error that it ends with.
pub fn decode_reads<T: AsRef<[u8]>>(content_type: &str, reads: &[T]) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut answer = Answer::new(site(), "claude-test", content_type);
    let mut out = VecDeque::new();
    let pushed = reads.iter().try_for_each(|read| answer.push(read.as_ref(), &mut out));
    let ended = pushed.and_then(|()| answer.finish(&mut out));
    (out.into(), ended.err())
}

pub fn decode(content_type: &str, body: &str) -> (Vec<ModelEvent>, Option<ModelError>) {
    decode_reads(content_type, &[body])
}

/// The answer of a known case.
pub fn case(id: &str) -> (Vec<ModelEvent>, Option<ModelError>) {
    decode_reads(EVENTS, &testkit::cases::chunks(id))
}

/// The blocks among events that must end the answer, and how it ended.
fn whole((events, fault): (Vec<ModelEvent>, Option<ModelError>)) -> (Vec<Block>, StopReason) {
    assert_eq!(fault, None);
    let mut blocks = Vec::new();
    for event in events {
        match event {
            ModelEvent::Block(block) => blocks.push(block),
            ModelEvent::Stop(reason) => return (blocks, reason),
            _ => {}
        }
    }
    panic!("no stop");
}

/// The blocks of a stream that must be whole, and its end.
pub fn blocks(body: &str) -> (Vec<Block>, StopReason) {
    whole(decode(EVENTS, body))
}

/// The same of a known case.
pub fn blocks_of_case(id: &str) -> (Vec<Block>, StopReason) {
    whole(case(id))
}

pub fn fault(body: &str) -> ModelError {
    decode(EVENTS, body).1.unwrap()
}
