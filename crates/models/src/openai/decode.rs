//! Owns what the chunks of a Chat Completions stream say. Must not know framing or connections.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{ModelError, ModelEvent};
use serde_json::Value;

use crate::sse::Event;
use crate::wire::Site;

/// The state of one answer.
#[derive(Debug)]
pub(crate) struct Decoder;

impl Decoder {
    pub(crate) fn new(_site: Arc<Site>, _model: &str) -> Self {
        Self
    }

    pub(crate) fn has_begun(&self) -> bool {
        false
    }

    pub(crate) fn has_stop_reason(&self) -> bool {
        false
    }

    pub(crate) fn event(&mut self, _event: &Event<'_>, _out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        Ok(())
    }

    pub(crate) fn end(&mut self, _out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        Ok(())
    }

    pub(crate) fn whole(
        &mut self,
        _message: Value,
        _content_type: &str,
        _out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        Ok(())
    }
}
