//! Owns the list of dialects: what each makes of a request and of the events that come back.
//! Must not know connections.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{ModelError, ModelEvent, ModelRequest};
use serde::Deserialize;
use serde_json::Value;

use super::Site;
use crate::sse::Event;
use crate::table::Shape;
use crate::{anthropic, openai};

/// More tokens than any call has. What is beyond is no count, and its sums would overflow.
const MOST_TOKENS: u64 = 1 << 40;

/// A count of tokens as a server reports it; 0 where it reports none.
pub(crate) fn tokens(reported: &Value) -> u64 {
    reported.as_u64().filter(|count| *count <= MOST_TOKENS).unwrap_or(0)
}

/// How a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Anthropic Messages.
    #[default]
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAi,
}

impl Dialect {
    /// The dialect of that name, as it stands in settings.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            _ => None,
        }
    }

    /// The path of the endpoint. What is before it, up to a version, may be part of a base URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::OpenAi => "/v1/chat/completions",
        }
    }

    /// The path less its version.
    pub(super) fn endpoint(self) -> &'static str {
        self.path().trim_start_matches("/v1")
    }

    /// The whole body of a streaming request.
    pub fn body(self, request: &ModelRequest, shape: &Shape) -> Vec<u8> {
        match self {
            Self::Anthropic => anthropic::body(request, shape),
            Self::OpenAi => openai::body(request, shape),
        }
    }

    pub(super) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi => &[],
        }
    }

    pub(super) fn decoder(self, site: Arc<Site>, model: &str) -> Decoder {
        match self {
            Self::Anthropic => Decoder::Anthropic(Box::new(anthropic::Decoder::new(site, model))),
            Self::OpenAi => Decoder::OpenAi(Box::new(openai::Decoder::new(site, model))),
        }
    }
}

/// The state of one answer in its dialect.
#[derive(Debug)]
pub(crate) enum Decoder {
    Anthropic(Box<anthropic::Decoder>),
    OpenAi(Box<openai::Decoder>),
}

impl Decoder {
    /// Takes one event of the stream.
    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match self {
            Self::Anthropic(decoder) => decoder.event(event, out),
            Self::OpenAi(decoder) => decoder.event(event, out),
        }
    }

    /// Takes a whole message that came in place of a stream.
    pub(super) fn whole(
        &mut self,
        message: Value,
        content_type: &str,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Anthropic(decoder) => decoder.whole(message, content_type, out),
            Self::OpenAi(decoder) => decoder.whole(message, content_type, out),
        }
    }

    /// The stream has ended, with or without its last event.
    pub(super) fn end(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match self {
            Self::Anthropic(decoder) => decoder.end(out),
            Self::OpenAi(decoder) => decoder.end(out),
        }
    }

    /// Whether an event of a model has come.
    pub(super) fn has_begun(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.has_begun(),
            Self::OpenAi(decoder) => decoder.has_begun(),
        }
    }

    /// Whether the model has said why it stopped, so that nothing that matters is missing.
    pub(super) fn has_stop_reason(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.has_stop_reason(),
            Self::OpenAi(decoder) => decoder.has_stop_reason(),
        }
    }
}
