//! Owns the mock: a model that needs no key and no network, and does what it is told in a few words
//! of Chinese or English. Deterministic. Must not know any real model or tool.

mod grammar;
mod plan;
mod words;

use std::collections::VecDeque;
use std::time::Duration;

use futures::stream;
use kernel::{Block, Message, Model, ModelEvent, ModelEvents, ModelRequest, Role, StopReason, Usage};

pub use grammar::{Lang, Step};

/// Characters of a delta: about a token.
const DELTA: usize = 4;

/// How the mock behaves. The default is as fast as it can.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MockConfig {
    /// Tokens a second; `None` does not wait at all.
    pub rate: Option<f64>,
}

/// Answers from the request alone: the same request gets the same answer.
#[derive(Debug, Clone, Copy)]
pub struct Mock(MockConfig);

impl Mock {
    /// A mock that behaves like this.
    pub fn new(config: MockConfig) -> Self {
        Self(config)
    }
}

impl Model for Mock {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let blocks = plan::answer(&request);
        let read: usize = request.messages.iter().chain(&request.extra).map(|m| m.weight()).sum();
        let said = Message::new(Role::Assistant, blocks.clone()).weight();
        let usage = Usage {
            input_tokens: request.prefix.tokens() + (read / 4) as u64,
            output_tokens: said.div_ceil(4) as u64,
            ..Usage::default()
        };
        let mut events = VecDeque::new();
        for block in blocks {
            if let Block::Text { text, .. } = &block {
                events.extend(deltas(text).map(|delta| ModelEvent::TextDelta(delta.to_owned())));
            }
            events.push_back(ModelEvent::Block(block));
        }
        events.push_back(ModelEvent::Usage(usage));
        events.push_back(ModelEvent::Stop(StopReason::EndTurn));
        let rate = self.0.rate;
        Box::pin(stream::unfold(events, move |mut events| async move {
            let event = events.pop_front()?;
            if let (Some(rate), ModelEvent::TextDelta(text)) = (rate, &event) {
                let tokens = text.len() as f64 / 4.0;
                let pause = Duration::try_from_secs_f64(tokens / rate).unwrap_or_default();
                tokio::time::sleep(pause).await;
            }
            Some((Ok(event), events))
        }))
    }
}

/// Pieces of a few characters. What is drawn over the character before it stays with it.
fn deltas(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut before = ' ';
        let cut = rest.char_indices().enumerate().find_map(|(count, (at, c))| {
            let joined = joins(c) || before == '\u{200d}';
            before = c;
            (count >= DELTA && !joined).then_some(at)
        });
        let (delta, after) = rest.split_at(cut.unwrap_or(rest.len()));
        rest = after;
        (!delta.is_empty()).then_some(delta)
    })
}

/// Combining marks, variation selectors, skin tones, and the joiner between emoji.
fn joins(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{3099}'..='\u{309a}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}
