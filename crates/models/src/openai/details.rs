//! Owns reasoning in parts (`reasoning_details`), which some models want back as it came.
//! Must not know what is in the parts beside their text.

use serde_json::{Map, Value};

/// The parts so far.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

/// Fields that grow piece by piece; of others the last value holds.
const GROWING: [&str; 3] = ["text", "summary", "data"];

impl Details {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes pieces; gives the text in them.
    pub(super) fn add(&mut self, pieces: &Value) -> String {
        let mut said = String::new();
        for piece in pieces.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let text = ["text", "summary"].iter().find_map(|key| piece.get(*key)?.as_str());
            said.push_str(text.unwrap_or(""));
            let same = |part: &&mut Map<String, Value>| {
                piece.get("index").is_some() && ["index", "type"].iter().all(|key| part.get(*key) == piece.get(*key))
            };
            match self.0.iter_mut().find(same) {
                Some(part) => grow(part, piece),
                None => self.0.push(piece.clone()),
            }
        }
        said
    }

    /// All of them, where there are any.
    pub(super) fn take(&mut self) -> Option<Value> {
        let parts = std::mem::take(&mut self.0);
        (!parts.is_empty()).then(|| parts.into_iter().map(Value::Object).collect())
    }
}

fn grow(part: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (part.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&key.as_str()) => text.push_str(more),
            _ => {
                part.insert(key.clone(), value.clone());
            }
        }
    }
}
