//! Owns the framing of server-sent events (WHATWG HTML §9.2.6), on bytes.
//! Must not know what the events mean.

use std::borrow::Cow;
use std::ops::Range;

use thiserror::Error;

/// The most bytes that one event may have. A proxy can send a line without end.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// The byte order mark, which may stand before everything.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// One dispatched event. It has at least one `data` field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// The last `event` field, empty where there was none.
    pub name: Cow<'a, str>,
    /// All `data` fields, joined by line feeds. Bytes that are not UTF-8 are replaced.
    pub data: Cow<'a, str>,
    /// The last `id` field, where there was one.
    pub id: Option<Cow<'a, str>>,
}

/// Why a stream of events cannot be read on. The reader stays at the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SseError {
    /// An event is longer than any real one.
    #[error("an event of the stream is longer than 16 MiB")]
    TooLong,
}

/// Reads events from bytes as they come: however they are split, the events are the same. Bytes
/// are copied once, into the buffer; an event borrows from it.
#[derive(Debug, Default)]
pub struct SseReader {
    buffer: Vec<u8>,
    /// Where the event begins that is not complete yet. Everything before it is done with.
    event: usize,
    /// Where the line begins that is not complete yet.
    line: usize,
    /// Everything before it has been searched for an end of line.
    searched: usize,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The byte order mark has been looked for.
    begun: bool,
}

impl SseReader {
    /// A reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more bytes. Read the events that they complete before the next call.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.event);
        self.line -= self.event;
        self.searched -= self.event;
        self.event = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, or `None` when more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, SseError> {
        let range = self.find()?;
        Ok(range.and_then(|range| parse(&self.buffer[range])))
    }

    /// What is left when the stream has ended. The standard drops an event without its blank line;
    /// servers of models forget that line, so it counts if it has data.
    pub fn finish(&mut self) -> Option<Event<'_>> {
        let rest = self.event..self.buffer.len();
        self.event = rest.end;
        self.line = rest.end;
        self.searched = rest.end;
        parse(&self.buffer[rest])
    }

    fn find(&mut self) -> Result<Option<Range<usize>>, SseError> {
        if !self.begun {
            if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
                return Ok(None);
            }
            self.begun = true;
            if self.buffer.starts_with(BOM) {
                (self.event, self.line, self.searched) = (BOM.len(), BOM.len(), BOM.len());
            }
        }
        loop {
            if self.after_cr && self.searched < self.buffer.len() {
                self.after_cr = false;
                if self.buffer[self.searched] == b'\n' {
                    if self.event == self.line {
                        self.event += 1;
                    }
                    self.line += 1;
                    self.searched += 1;
                }
            }
            let unsearched = &self.buffer[self.searched..];
            let Some(length) = unsearched.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.searched = self.buffer.len();
                let pending = self.searched - self.event;
                return if pending > MAX_EVENT { Err(SseError::TooLong) } else { Ok(None) };
            };
            let line = self.line..self.searched + length;
            let event = self.event..line.end;
            if event.len() > MAX_EVENT {
                return Err(SseError::TooLong);
            }
            self.after_cr = self.buffer[line.end] == b'\r';
            self.searched = line.end + 1;
            self.line = self.searched;
            if line.is_empty() {
                self.event = self.searched;
                if has_data(&self.buffer[event.clone()]) {
                    return Ok(Some(event));
                }
            } else if line.start == event.start && self.buffer[line.start] == b':' {
                // Comments are how a server says that it is alive; they must not pile up.
                self.event = self.searched;
            }
        }
    }
}

fn has_data(mut lines: &[u8]) -> bool {
    while !lines.is_empty() {
        let (line, rest) = split_line(lines);
        if split_field(line).0 == b"data" {
            return true;
        }
        lines = rest;
    }
    false
}

/// The event that these lines make, `None` without data.
fn parse(mut lines: &[u8]) -> Option<Event<'_>> {
    let (mut name, mut data, mut id) = (Cow::Borrowed(""), None, None);
    while !lines.is_empty() {
        let (line, rest) = split_line(lines);
        lines = rest;
        let (field, value) = split_field(line);
        match field {
            b"event" => name = String::from_utf8_lossy(value),
            b"id" if !value.contains(&0) => id = Some(String::from_utf8_lossy(value)),
            b"data" => {
                let value = String::from_utf8_lossy(value);
                data = Some(match data {
                    None => value,
                    Some(before) => Cow::Owned(format!("{before}\n{value}")),
                });
            }
            _ => {}
        }
    }
    data.map(|data| Event { name, data, id })
}

fn split_line(lines: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = lines.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
        return (lines, &[]);
    };
    let terminator = if lines[end..].starts_with(b"\r\n") { 2 } else { 1 };
    (&lines[..end], &lines[end + terminator..])
}

fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return (line, &[]) };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}
