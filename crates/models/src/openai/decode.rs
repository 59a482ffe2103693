//! Owns what the chunks of a Chat Completions stream say: words, calls, counts, why it ended, errors in
//! between. Must not know framing or connections. Fields that are new are ignored, those that are missing
//! are missed only where nothing can be done without them.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{ErrorKind, ModelError, ModelEvent, StopReason, Usage};
use serde_json::{Value, json};

use super::calls::Calls;
use super::count;
use super::said::Said;
use crate::json;
use crate::sse::Event;
use crate::wire::{Site, error};

/// The state of one answer. Blocks leave in order, each once, and only whole.
#[derive(Debug)]
pub(crate) struct Decoder {
    site: Arc<Site>,
    model: String,
    said: Said,
    calls: Calls,
    refusal: String,
    usage: Usage,
    /// Why it stopped, in the server's words.
    finish: Option<String>,
    begun: bool,
    over: bool,
}

impl Decoder {
    pub(crate) fn new(site: Arc<Site>, model: &str) -> Self {
        Self {
            site,
            model: model.to_owned(),
            said: Said::default(),
            calls: Calls::default(),
            refusal: String::new(),
            usage: Usage::default(),
            finish: None,
            begun: false,
            over: false,
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(crate) fn has_stop_reason(&self) -> bool {
        self.over || self.finish.is_some()
    }

    /// Takes one event of the stream.
    pub(crate) fn event(&mut self, event: &Event<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.over || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.done(out);
        }
        match json::from_str::<Value>(data) {
            Ok(chunk) if event.name == "error" && chunk["error"].is_null() => {
                Err(self.failed(&json!({"error": chunk})))
            }
            Ok(chunk) => self.chunk(&chunk, out),
            Err(_) if self.finish.is_some() => Ok(()),
            Err(fault) => {
                let text = format!("{} sent an event that is not JSON ({fault})", error::place(&self.site));
                Err(ModelError::new(ErrorKind::Transport, text))
            }
        }
    }

    /// Takes a whole message that came in place of a stream.
    pub(crate) fn whole(
        &mut self,
        message: Value,
        content_type: &str,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.chunk(&message, out)?;
        if !message["choices"][0].is_object() {
            return Err(error::no_model(&self.site, content_type));
        }
        self.done(out)
    }

    /// The stream has ended without its last event.
    pub(crate) fn end(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.over {
            return Ok(());
        }
        if self.finish.is_none() {
            return Err(error::cut(&self.site, None));
        }
        self.conclude(out);
        Ok(())
    }

    fn failed(&self, value: &Value) -> ModelError {
        error::of_event(&self.site, &self.model, value)
    }

    fn chunk(&mut self, chunk: &Value, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let choice = &chunk["choices"][0];
        let is_error = |value: &Value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => false,
        };
        if is_error(&chunk["error"]) || chunk["object"] == "error" {
            return Err(self.failed(chunk));
        }
        if is_error(&choice["error"]) {
            return Err(self.failed(choice));
        }
        self.begun |= chunk.get("choices").is_some() || chunk["object"] == "chat.completion.chunk";
        if let Some(usage) = count::find(chunk) {
            let before = self.usage;
            count::add(&mut self.usage, usage);
            if self.usage != before {
                out.push_back(ModelEvent::Usage(self.usage));
            }
        }
        // Some gateways repeat the whole message at the end of the stream.
        match &choice["delta"] {
            Value::Object(delta) if !delta.is_empty() => self.delta(&choice["delta"], out),
            _ if self.said.is_empty() && self.calls.is_empty() => self.delta(&choice["message"], out),
            _ => {}
        }
        let reason = choice["finish_reason"].as_str().filter(|reason| !matches!(*reason, "" | "null"));
        if let Some(reason) = reason {
            if ends(reason) == End::Failed {
                let text = format!("the answer ended in an error ({reason})");
                return Err(self.failed(&json!({"error": {"message": text}})));
            }
            // A cut is not undone by a later word.
            if self.finish.as_deref().is_none_or(|before| ends(before) == End::Done) {
                self.finish = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut VecDeque<ModelEvent>) {
        self.said.add(delta, out);
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or(""));
        let listed = delta["tool_calls"].as_array().into_iter().flatten();
        let alone = [&delta["tool_calls"], &delta["function_call"]].into_iter();
        for fragment in listed.chain(alone).filter(|fragment| fragment.is_object()) {
            self.calls.add(fragment);
            out.push_back(ModelEvent::InputDelta);
            if self.said.before_call(out) {
                out.extend(std::iter::from_fn(|| self.calls.next_whole()).map(ModelEvent::Block));
            }
        }
    }

    /// The server says that nothing follows.
    fn done(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.finish.is_none() {
            let nothing = self.said.is_empty() && self.calls.is_empty() && self.refusal.is_empty();
            if nothing || self.calls.has_half() {
                return Err(error::cut(&self.site, None));
            }
            let text = format!("{} ended its answer without saying why; it may be cut", error::place(&self.site));
            out.push_back(ModelEvent::Notice(text));
        }
        self.conclude(out);
        Ok(())
    }

    fn conclude(&mut self, out: &mut VecDeque<ModelEvent>) {
        self.over = true;
        let reason = self.finish.take();
        let end = reason.as_deref().map_or(End::Done, ends);
        self.said.leave(!self.calls.is_empty(), out);
        let cut = end != End::Done || !self.refusal.is_empty();
        out.extend(self.calls.rest(cut).into_iter().map(ModelEvent::Block));
        let refusal = Some(std::mem::take(&mut self.refusal)).filter(|text| !text.trim().is_empty());
        out.push_back(ModelEvent::Stop(match end {
            _ if refusal.is_some() => StopReason::Refusal(refusal),
            End::Done if self.calls.is_empty() && self.said.ends_in_half_a_call() => StopReason::HalfCall,
            End::Done => StopReason::EndTurn,
            End::Length => StopReason::MaxTokens,
            End::Window => StopReason::ContextWindow,
            End::Refused => StopReason::Refusal(reason),
            End::Failed | End::Strange => StopReason::Other(reason.unwrap_or_default()),
        }));
    }
}

/// What a reason to stop means for what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Length,
    Window,
    Refused,
    Failed,
    Strange,
}

/// The contract's words and those of servers that say it in others.
fn ends(reason: &str) -> End {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "stop_sequence" | "eos" => End::Done,
        "length" | "max_tokens" | "max_output_tokens" => End::Length,
        "model_length" | "model_context_window_exceeded" => End::Window,
        "content_filter" | "refusal" | "sensitive" | "safety" => End::Refused,
        "error" | "network_error" | "insufficient_system_resource" | "abort" => End::Failed,
        _ => End::Strange,
    }
}
