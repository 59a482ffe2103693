//! Owns what a recording must not hold: keys, tokens and passwords. Their shapes are in `secrets.json`.
//! Must not know what a recording looks like.

use std::ops::Range;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

const SHAPES: &str = include_str!("secrets.json");
/// Stands where a secret was.
const MARK: &str = "[redacted]";
/// What is shorter occurs everywhere and is no secret, such as a key that a local server ignores.
const SHORTEST: usize = 4;

#[derive(Deserialize)]
struct Shapes {
    /// The first group of a pattern that matched is the secret, else the whole match.
    texts: Vec<String>,
    /// Keys of JSON objects whose text is a secret.
    keys: String,
}

/// Finds secrets in text, by their shape or because they are known.
pub(super) struct Redactor {
    texts: Vec<Regex>,
    keys: Regex,
}

impl Redactor {
    /// Knows `secrets` beside the shapes. The error is a fault of the shapes.
    pub fn new(secrets: &[String]) -> Result<Self, String> {
        let shapes: Shapes = serde_json::from_str(SHAPES).map_err(|fault| fault.to_string())?;
        let known = secrets.iter().map(|secret| secret.trim()).filter(|secret| secret.chars().count() >= SHORTEST);
        let texts = known.map(regex::escape).chain(shapes.texts);
        let regex = |pattern: &str| Regex::new(pattern).map_err(|fault| fault.to_string());
        Ok(Self { texts: texts.map(|text| regex(&text)).collect::<Result<_, _>>()?, keys: regex(&shapes.keys)? })
    }

    /// Replaces what is secret in every text of `value`, keys included.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(mut text) => {
                self.pieces(&mut [&mut text]);
                Value::String(text)
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => Value::Object(map.into_iter().map(|(key, item)| self.entry(key, item)).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    fn entry(&self, mut key: String, item: Value) -> (String, Value) {
        let item = match item {
            Value::String(_) if self.keys.is_match(&key) => Value::String(MARK.to_owned()),
            item => self.value(item),
        };
        self.pieces(&mut [&mut key]);
        (key, item)
    }

    /// Replaces what is secret in one text that came in pieces. The mark stands in the piece in which
    /// the secret began; their number stays the same.
    pub fn pieces(&self, pieces: &mut [&mut String]) {
        let whole: String = pieces.iter().map(|piece| piece.as_str()).collect();
        let secrets = self.secrets(&whole);
        if secrets.is_empty() {
            return;
        }
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.len();
            let mut kept = String::new();
            let mut at = start;
            for secret in secrets.iter().filter(|secret| secret.start < end && secret.end > start) {
                kept.push_str(&whole[at..secret.start.max(at)]);
                if secret.start >= start {
                    kept.push_str(MARK);
                }
                at = secret.end.min(end);
            }
            kept.push_str(&whole[at..end]);
            **piece = kept;
            start = end;
        }
    }

    /// Where secrets are, in order and apart.
    fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.texts.iter().flat_map(|shape| shape.captures_iter(text));
        let secret = found.filter_map(|found| found.iter().skip(1).flatten().next().or(found.get(0)));
        let mut all: Vec<Range<usize>> = secret.map(|secret| secret.range()).collect();
        all.sort_by_key(|range| range.start);
        all.dedup_by(|next, last| {
            let joined = next.start < last.end;
            if joined {
                last.end = last.end.max(next.end);
            }
            joined
        });
        all
    }
}
