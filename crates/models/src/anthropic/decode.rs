//! Owns what the events of a Messages stream say: order, usage, stop reasons, errors in between.
//! Must not know framing or connections. Events and fields that are new are ignored.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{ErrorKind, ModelError, ModelEvent, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocks::{Blocks, Delta, Ending};
use crate::json;
use crate::sse::Event;
use crate::wire::{Site, error, tokens};

/// The state of one answer. Blocks leave in order of their index, each once, and only whole.
#[derive(Debug)]
pub(crate) struct Decoder {
    site: Arc<Site>,
    model: String,
    blocks: Blocks,
    usage: Usage,
    /// The reason to stop, with what is said of it.
    stop: Option<(String, Value)>,
    begun: bool,
    over: bool,
}

/// Any event, every field of every type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(rename = "type")]
    kind: String,
    index: usize,
    delta: Option<Delta>,
    content_block: Value,
    message: Value,
    usage: Value,
    error: Value,
}

const KNOWN: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

impl Decoder {
    pub(crate) fn new(site: Arc<Site>, model: &str) -> Self {
        Self {
            site,
            model: model.to_owned(),
            blocks: Blocks::default(),
            usage: Usage::default(),
            stop: None,
            begun: false,
            over: false,
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(crate) fn has_stop_reason(&self) -> bool {
        self.stop.is_some()
    }

    /// Takes one event of the stream.
    pub(crate) fn event(&mut self, event: &Event<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.over || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let wire = match json::from_str::<Wire>(data) {
            Ok(wire) => wire,
            Err(_) => {
                let value: Value = json::from_str(data).map_err(|fault| {
                    let text = format!("{} sent an event that is not JSON ({fault})", error::place(&self.site));
                    ModelError::new(ErrorKind::Transport, text)
                })?;
                let kind = value["type"].as_str().unwrap_or(&event.name);
                if KNOWN.contains(&kind) {
                    let text = format!("{} sent a malformed {kind} event", error::place(&self.site));
                    return Err(ModelError::new(ErrorKind::Transport, text));
                }
                return Ok(());
            }
        };
        self.begun = true;
        let kind = match wire.kind.as_str() {
            // Gateways answer an error in the shape of another vendor, without a type.
            "" if !wire.error.is_null() => "error",
            "" => &event.name,
            kind => kind,
        };
        match kind {
            "message_start" => self.count(&wire.message["usage"], out),
            "content_block_start" => {
                self.start(wire.index, wire.content_block, out)?;
            }
            "content_block_delta" => {
                let delta = wire.delta.unwrap_or_default();
                self.blocks.grow(wire.index, &delta).map_err(|_| self.malformed())?;
                let Delta { text, thinking, partial_json, .. } = delta;
                out.extend(partial_json.filter(|piece| !piece.is_empty()).map(|_| ModelEvent::InputDelta));
                say(text, thinking, out);
            }
            "content_block_stop" => {
                self.blocks.stop(wire.index);
                self.release(out);
            }
            "message_delta" => {
                let delta = wire.delta.unwrap_or_default();
                if let Some(reason) = delta.stop_reason.filter(|reason| !reason.is_empty()) {
                    let details = delta.stop_details.unwrap_or_default();
                    self.stop = Some((reason, details));
                }
                self.count(&wire.usage, out);
            }
            "message_stop" => self.conclude(out),
            "error" => {
                let value = json!({"error": wire.error, "message": wire.message});
                return Err(error::of_event(&self.site, &self.model, &value));
            }
            _ => {}
        }
        Ok(())
    }

    /// The stream has ended, with or without its last event.
    pub(crate) fn end(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if !self.over && self.stop.is_none() {
            return Err(error::cut(&self.site, None));
        }
        self.conclude(out);
        Ok(())
    }

    /// Takes a whole message that came in place of a stream.
    pub(crate) fn whole(
        &mut self,
        mut message: Value,
        content_type: &str,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if message["type"] == "error" || message.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error::of_event(&self.site, &self.model, &message));
        }
        let Value::Array(content) = message["content"].take() else {
            return Err(error::no_model(&self.site, content_type));
        };
        for (index, block) in content.into_iter().enumerate() {
            self.start(index, block, out)?;
            self.blocks.stop(index);
            self.release(out);
        }
        self.count(&message["usage"], out);
        let reason = message["stop_reason"].as_str().unwrap_or("").to_owned();
        self.stop = Some((reason, message["stop_details"].take()));
        self.conclude(out);
        Ok(())
    }

    fn malformed(&self) -> ModelError {
        ModelError::new(ErrorKind::Transport, format!("{} sent a malformed content block", error::place(&self.site)))
    }

    fn start(&mut self, index: usize, block: Value, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let given = |key: &str| block[key].as_str().map(str::to_owned);
        match block["type"].as_str() {
            Some("text") => say(given("text"), None, out),
            Some("thinking") => say(None, given("thinking"), out),
            _ => {}
        }
        self.blocks.start(index, block).map_err(|_| self.malformed())?;
        self.release(out);
        Ok(())
    }

    fn release(&mut self, out: &mut VecDeque<ModelEvent>) {
        while let Some(block) = self.blocks.next_whole() {
            out.push_back(ModelEvent::Block(block));
        }
    }

    /// Counts are cumulative: the last one holds. Some gateways send zeros, or leave fields out, in
    /// a later count, and some report cache writes only by lifetime.
    fn count(&mut self, usage: &Value, out: &mut VecDeque<ModelEvent>) {
        if !usage.is_object() {
            return;
        }
        let by_lifetime = &usage["cache_creation"];
        let written = tokens(&usage["cache_creation_input_tokens"])
            .max(tokens(&by_lifetime["ephemeral_5m_input_tokens"]) + tokens(&by_lifetime["ephemeral_1h_input_tokens"]));
        let counts = &mut self.usage;
        for (count, reported) in [
            (&mut counts.input_tokens, tokens(&usage["input_tokens"])),
            (&mut counts.cache_creation_input_tokens, written),
            (&mut counts.cache_read_input_tokens, tokens(&usage["cache_read_input_tokens"])),
            (&mut counts.ephemeral_1h_input_tokens, tokens(&by_lifetime["ephemeral_1h_input_tokens"])),
            (&mut counts.output_tokens, tokens(&usage["output_tokens"])),
        ] {
            if reported > 0 {
                *count = reported;
            }
        }
        out.push_back(ModelEvent::Usage(self.usage));
    }

    fn conclude(&mut self, out: &mut VecDeque<ModelEvent>) {
        if self.over {
            return;
        }
        self.over = true;
        let (reason, details) = self.stop.take().unwrap_or_default();
        let reason = match reason.as_str() {
            // Without a reason the content tells what is to be done.
            "end_turn" | "tool_use" | "stop_sequence" | "" => StopReason::EndTurn,
            "max_tokens" => StopReason::MaxTokens,
            "model_context_window_exceeded" => StopReason::ContextWindow,
            "pause_turn" => StopReason::PauseTurn,
            "refusal" => {
                let said = |key: &str| details[key].as_str().map(str::to_owned);
                StopReason::Refusal(said("explanation").or_else(|| said("category")))
            }
            _ => StopReason::Other(reason),
        };
        let ending = match &reason {
            StopReason::EndTurn | StopReason::PauseTurn => Ending::Whole,
            StopReason::MaxTokens
            | StopReason::ContextWindow
            | StopReason::HalfCall
            | StopReason::Refusal(_)
            | StopReason::Other(_) => Ending::Truncated,
        };
        out.extend(self.blocks.rest(ending).into_iter().map(ModelEvent::Block));
        out.push_back(ModelEvent::Stop(reason));
    }
}

fn say(text: Option<String>, thinking: Option<String>, out: &mut VecDeque<ModelEvent>) {
    let filled = |said: Option<String>| said.filter(|said| !said.is_empty());
    out.extend(filled(text).map(ModelEvent::TextDelta));
    out.extend(filled(thinking).map(ModelEvent::ThinkingDelta));
}
