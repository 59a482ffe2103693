//! Owns which request a model takes: what the table, the user's wishes and the provider's ways come
//! to. Must not know how a body is put together.

use std::str::FromStr;

use kernel::{Block, Message, ModelRequest};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde_json::{Map, Value, json};

use super::facts::ModelFacts;
use crate::wire::Dialect;

/// How much work a model puts into an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Quick.
    Low,
    /// In between.
    Medium,
    /// Thorough.
    High,
    /// More than that.
    Xhigh,
    /// As much as it can.
    Max,
}

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(name: &str) -> Result<Self, UnknownEffort> {
        Self::deserialize(StrDeserializer::new(name)).map_err(|_: serde::de::value::Error| UnknownEffort)
    }
}

/// No level has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEffort;

/// With more effort than this a model needs room for long thinking.
const ROOMY: Effort = Effort::High;
/// That room, in tokens of the answer.
const ROOM: u32 = 64_000;

/// What a user wants of every answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wishes {
    /// How much effort; by default the vendor's own level.
    pub effort: Option<Effort>,
    /// Whether to think; by default as the table says.
    pub thinking: Option<bool>,
}

/// What a provider does in its own way. Data of the table of providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Quirks {
    /// The bound of an answer is called `max_completion_tokens`.
    pub max_completion_tokens: bool,
    /// Ids of tool calls have exactly nine letters and digits.
    pub short_ids: bool,
    /// It refuses the model's own reasoning in a later request.
    pub no_reasoning: bool,
    /// It wants the reasoning of turns with tools back, whichever the model.
    pub echo: bool,
    /// It wants reasoning back in the form in which it came (`reasoning_details`).
    pub reasoning_details: bool,
    /// It takes documents as files.
    pub files: bool,
    /// Every property of a schema must say its type.
    pub typed_schemas: bool,
}

/// What every request to a model has beside history and tools. All of it is decided before the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Further fields of the top level.
    pub fields: Map<String, Value>,
    /// The fields where a turn with tools lacks the thinking that the vendor wants back; `None` where
    /// the vendor does not ask for it.
    pub without_thinking: Option<Map<String, Value>>,
    /// Whether the reasoning of turns with tools is sent back in a field of its own.
    pub echo: bool,
    /// Whether it can see images and documents.
    pub images: bool,
    /// Whether the bound of an answer is sent: servers know the models that nobody else does.
    pub bounded: bool,
    /// The provider's ways.
    pub quirks: Quirks,
}

impl Shape {
    /// What a model takes, and what of the wishes cannot be, in words for a person.
    pub fn new(
        model: &str,
        facts: &ModelFacts,
        dialect: Dialect,
        quirks: Quirks,
        wishes: Wishes,
        own: &Map<String, Value>,
    ) -> (Self, Vec<String>) {
        let mut unmet = Vec::new();
        let effort = wishes.effort.and_then(|effort| {
            let sent = facts.efforts.get(&effort);
            if sent.is_none() {
                unmet.push(match facts.efforts.is_empty() {
                    true => format!("{model} is not known to take an effort; none is sent"),
                    false => format!("{model} does not take this effort; its own default holds"),
                });
            }
            sent.cloned()
        });
        let thinking = &facts.thinking;
        let most = thinking.off_up_to.is_none_or(|most| wishes.effort.is_none_or(|effort| effort <= most));
        let nothing = Map::new();
        let auto = thinking.on.as_ref().filter(|_| thinking.auto).unwrap_or(&nothing);
        let told = match wishes.thinking {
            None => Some(auto),
            Some(true) => thinking.on.as_ref(),
            Some(false) => thinking.off.as_ref().filter(|_| most),
        };
        if told.is_none() {
            unmet.push(match wishes.thinking {
                Some(false) if thinking.on.is_some() => format!("{model} cannot be told not to think here"),
                _ => format!("{model} is not known to be told whether to think; its own default holds"),
            });
        }
        let with = |told: &Map<String, Value>| {
            let mut fields = told.clone();
            if let Some(level) = &effort {
                match dialect {
                    Dialect::Anthropic => fields.insert("output_config".into(), json!({"effort": level})),
                    Dialect::OpenAi => fields.insert("reasoning_effort".into(), json!(level)),
                };
            }
            fields.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
            fields.retain(|key, _| !facts.rejects.contains(key));
            fields
        };
        let shape = Self {
            fields: with(told.unwrap_or(auto)),
            without_thinking: thinking.off.as_ref().filter(|_| thinking.echo).map(with),
            echo: (thinking.echo || quirks.echo) && !quirks.no_reasoning,
            images: facts.images,
            bounded: dialect == Dialect::Anthropic || facts.max_output.is_some(),
            quirks,
        };
        (shape, unmet)
    }

    /// The further fields of this request. A vendor that wants the thinking of turns with tools back is
    /// told not to think where history has such turns without it.
    pub(crate) fn fields_for(&self, request: &ModelRequest) -> &Map<String, Value> {
        match &self.without_thinking {
            Some(fields) if request.messages.iter().any(|message| calls_without_thinking(message)) => fields,
            Some(_) | None => &self.fields,
        }
    }

    /// The bound of an answer in tokens: `usual`, as far as the model goes, and more for much effort.
    /// An answer may fill half of the context window.
    pub fn max_tokens(usual: u32, facts: &ModelFacts, wishes: Wishes) -> u32 {
        let wanted = if wishes.effort.is_some_and(|effort| effort > ROOMY) { ROOM.max(usual) } else { usual };
        let half = facts.context_window.map(|window| u32::try_from(window / 2).unwrap_or(u32::MAX));
        let wanted = if facts.max_output.is_some() { wanted } else { usual };
        [facts.max_output, half].into_iter().flatten().fold(wanted, u32::min)
    }
}

fn calls_without_thinking(message: &Message) -> bool {
    message.tool_uses().next().is_some() && !message.content.iter().any(|block| matches!(block, Block::Thinking { .. }))
}
