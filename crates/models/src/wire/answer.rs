//! Owns what kind of body an answer has: a stream of events, one whole message although a stream
//! was asked for, or something that no model sent. Must not know HTTP clients or what events say.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{ErrorKind, ModelError, ModelEvent};
use serde_json::Value;

use super::{Decoder, Site, error};
use crate::json;
use crate::sse::{BOM, MAX_EVENT, SseReader};

/// Turns the body of a successful response into events. After an error, or after
/// [`ModelEvent::Stop`], it gives nothing more.
#[derive(Debug)]
pub struct Answer {
    site: Arc<Site>,
    content_type: String,
    body: Body,
    decoder: Decoder,
}

#[derive(Debug)]
enum Body {
    /// Nothing but blanks has come. The header alone does not tell: gateways get it wrong.
    Unknown(Vec<u8>),
    Events(SseReader),
    /// One JSON value, to be read when it is whole.
    Json(Vec<u8>),
}

impl Answer {
    /// The answer to a call of `model`, about to arrive.
    pub fn new(site: Arc<Site>, model: &str, content_type: &str) -> Self {
        let decoder = site.dialect.decoder(site.clone(), model);
        Self { site, content_type: content_type.to_owned(), body: Body::Unknown(Vec::new()), decoder }
    }

    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match &mut self.body {
            Body::Events(reader) => {
                reader.push(bytes);
                drain(reader, &mut self.decoder, &self.site, out)
            }
            Body::Json(text) => keep(text, bytes, &self.site),
            Body::Unknown(start) => {
                start.extend_from_slice(bytes);
                let text = front(start);
                match text.first() {
                    // Blank lines may come for as long as a server is busy.
                    None => {
                        start.clear();
                        Ok(())
                    }
                    Some(_) if BOM.starts_with(text) => Ok(()),
                    Some(b'{') => {
                        self.body = Body::Json(text.to_vec());
                        Ok(())
                    }
                    // Without a header, the first letter of a field or a comment tells.
                    Some(first) if says_events(&self.content_type) || b"edir:".contains(first) => {
                        let text = text.to_vec();
                        self.body = Body::Events(SseReader::new());
                        self.push(&text, out)
                    }
                    Some(_) => Err(error::no_model(&self.site, &self.content_type)),
                }
            }
        }
    }

    /// Whether the end may come now.
    pub fn is_complete(&self) -> bool {
        self.decoder.has_stop_reason()
    }

    /// The body has ended. Gives [`ModelEvent::Stop`], or says why the answer cannot be used.
    pub fn finish(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match &mut self.body {
            Body::Events(reader) => {
                if let Some(event) = reader.finish() {
                    let taken = self.decoder.event(&event, out);
                    // Once the model has said why it stopped, nothing that matters is missing.
                    if !self.decoder.has_stop_reason() {
                        taken?;
                    }
                }
                match self.decoder.has_begun() || says_events(&self.content_type) {
                    true => self.decoder.end(out),
                    false => Err(error::no_model(&self.site, &self.content_type)),
                }
            }
            Body::Json(text) => match json::from_str::<Value>(&String::from_utf8_lossy(text)) {
                Ok(message) => self.decoder.whole(message, &self.content_type, out),
                Err(_) => Err(error::cut(&self.site, Some("its JSON is incomplete"))),
            },
            Body::Unknown(_) if says_events(&self.content_type) => self.decoder.end(out),
            Body::Unknown(_) => Err(error::cut(&self.site, Some("it is empty"))),
        }
    }
}

/// What comes after blanks and byte order marks.
fn front(bytes: &[u8]) -> &[u8] {
    let mut text = bytes.trim_ascii_start();
    while let Some(after) = text.strip_prefix(BOM) {
        text = after.trim_ascii_start();
    }
    text
}

fn says_events(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().contains("text/event-stream")
}

fn keep(text: &mut Vec<u8>, bytes: &[u8], site: &Site) -> Result<(), ModelError> {
    if text.len() + bytes.len() > MAX_EVENT {
        let text = format!("{} sent an answer of more than 16 MiB", error::place(site));
        return Err(ModelError::new(ErrorKind::Invalid, text));
    }
    text.extend_from_slice(bytes);
    Ok(())
}

fn drain(
    reader: &mut SseReader,
    decoder: &mut Decoder,
    site: &Site,
    out: &mut VecDeque<ModelEvent>,
) -> Result<(), ModelError> {
    loop {
        let event = reader.next_event().map_err(|fault| {
            let text = format!("the answer of {} cannot be read: {fault}", error::place(site));
            ModelError::new(ErrorKind::Invalid, text)
        })?;
        match event {
            Some(event) => decoder.event(&event, out)?,
            None => return Ok(()),
        }
    }
}
