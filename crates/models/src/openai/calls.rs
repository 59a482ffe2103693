//! Owns how tool calls grow from fragments, and which of them may leave when. Servers disagree on
//! everything: indices that are always 0, ids that are missing, empty, repeated or change in between.
//! Must not know the rest of an answer.

use kernel::{Block, ToolUseId};
use serde_json::{Map, Value, json};

use crate::names;

/// The calls of an answer, in order of their start.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    /// So many have left.
    gone: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Whether there was any.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes a fragment: `{"index", "id", "function": {"name", "arguments"}}`, or less.
    pub(super) fn add(&mut self, fragment: &Value) {
        let function = if fragment["function"].is_object() { &fragment["function"] } else { fragment };
        let filled = |value: &'_ Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (index, id, name) = (fragment["index"].as_u64(), filled(&fragment["id"]), filled(&function["name"]));
        let (arguments, whole) = match &function["arguments"] {
            Value::String(text) => (text.clone(), false),
            value @ (Value::Object(_) | Value::Array(_)) => (value.to_string(), true),
            _ => (String::new(), false),
        };
        let at = self.place(index, id.as_deref(), name.as_deref(), &arguments);
        let Some(call) = at.and_then(|at| self.all.get_mut(at)) else {
            let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
            self.all.push(Call { index, id, name, arguments });
            return;
        };
        if call.id.is_empty() {
            call.id = id.unwrap_or_default();
        }
        call.take_name(name.as_deref().unwrap_or(""));
        match whole {
            true => call.arguments = arguments,
            // What was said twice was said once.
            false if call.is_complete() && arguments == call.arguments => {}
            false => call.arguments.push_str(&arguments),
        }
    }

    /// The call that a fragment belongs to; `None` where it begins another.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Option<usize> {
        let last = self.all.len().checked_sub(1);
        let by_id = id.and_then(|id| self.all.iter().rposition(|call| call.id == id));
        let by_index = index.and_then(|index| self.all.iter().rposition(|call| call.index == Some(index)));
        // A fragment without a name of its own goes on with something.
        let by_order = last.filter(|last| name.is_none() && (id.is_none() || !self.all[*last].is_complete()));
        let unnumbered = last.filter(|_| index.is_none() && id.is_none());
        let at = by_id.or(by_index).or(unnumbered).or(by_order)?;
        let call = &self.all[at];
        let another = match id {
            Some(id) if !call.id.is_empty() && call.id != id => name.is_some() || call.is_complete(),
            _ => {
                let repeated =
                    name == Some(call.name.as_str()) && (arguments.trim().is_empty() || arguments == call.arguments);
                name.is_some() && call.is_complete() && !repeated
            }
        };
        (!another).then_some(at)
    }

    /// The next call in order, if another has begun and this one is certain to be whole.
    pub(super) fn next_whole(&mut self) -> Option<Block> {
        let call = self.all.get(self.gone).filter(|call| self.gone + 1 < self.all.len() && call.is_complete())?;
        let block = call.block();
        self.gone += 1;
        Some(block)
    }

    /// Whether a call is left that is only half there.
    pub(super) fn has_half(&self) -> bool {
        self.all[self.gone..].iter().any(|call| !call.is_complete() && !call.has_no_arguments())
    }

    /// The calls that are left at the end. Where the answer was cut, half a call is dropped, never mended
    /// and never run; a call that is whole but not JSON is kept, so that the tool's schema answers it.
    pub(super) fn rest(&mut self, cut: bool) -> Vec<Block> {
        let last = self.all.len().saturating_sub(1);
        let kept = |(at, call): (usize, &Call)| {
            let is_whole = call.is_complete() || (call.has_no_arguments() && at < last);
            (is_whole || !cut).then(|| call.block())
        };
        let blocks = self.all.iter().enumerate().skip(self.gone).filter_map(kept).collect();
        self.gone = self.all.len();
        blocks
    }
}

impl Call {
    /// The first name holds. Names come in pieces only before any argument.
    fn take_name(&mut self, name: &str) {
        if name.is_empty() || name == self.name {
        } else if self.name.is_empty() {
            name.clone_into(&mut self.name);
        } else if self.arguments.is_empty() {
            match name.starts_with(self.name.as_str()) {
                true => name.clone_into(&mut self.name),
                false => self.name.push_str(name),
            }
        }
    }

    fn has_no_arguments(&self) -> bool {
        matches!(self.arguments.trim(), "" | "null" | "\"\"")
    }

    fn is_complete(&self) -> bool {
        parse(&self.arguments).is_some()
    }

    fn block(&self) -> Block {
        let input = match self.has_no_arguments() {
            true => Value::Object(Map::new()),
            false => parse(&self.arguments).unwrap_or_else(|| json!({"INVALID_JSON": self.arguments})),
        };
        // The conversation gives an id to a call without one.
        let (id, name) = (ToolUseId(self.id.clone()), names::sendable(&self.name).into_owned());
        Block::ToolUse { id, name, input, extra: Map::new() }
    }
}

/// The input of a call: an object, or a text that holds one, since some servers encode it twice.
fn parse(arguments: &str) -> Option<Value> {
    let value = match crate::json::from_str(arguments).ok()? {
        Value::String(text) => crate::json::from_str(&text).ok()?,
        value => value,
    };
    Some(value).filter(Value::is_object)
}
