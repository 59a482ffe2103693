//! Owns the built-in tables: providers, and what is known of models. Data, no decisions.

use std::collections::BTreeMap;

use serde::Deserialize;

const PROVIDERS: &str = include_str!("providers.json");
const MODELS: &str = include_str!("models.json");

/// A row of the table of providers. The order of rows is the order in which keys are looked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) dialect: String,
    pub(super) base_url: String,
    pub(super) path: String,
    /// Variables whose value is sent as a key.
    pub(super) key_variables: Vec<String>,
    /// Variables whose value is sent as a Bearer token.
    pub(super) token_variables: Vec<String>,
    pub(super) base_url_variables: Vec<String>,
    pub(super) model_variables: Vec<String>,
    /// The model that is used unless another is named.
    pub(super) model: String,
    /// Models that it is known to have.
    pub(super) models: Vec<String>,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            name: String::new(),
            dialect: "anthropic".to_owned(),
            base_url: String::new(),
            path: "/v1/messages".to_owned(),
            key_variables: Vec::new(),
            token_variables: Vec::new(),
            base_url_variables: Vec::new(),
            model_variables: Vec::new(),
            model: String::new(),
            models: Vec::new(),
        }
    }
}

impl Provider {
    /// Every variable that can hold its key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.key_variables.iter().chain(&self.token_variables).map(String::as_str)
    }
}

/// What is known of a model, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// Prompt and answer together.
    pub context_window: u64,
    /// The longest answer.
    pub max_output: u32,
}

/// The built-in providers. The file is part of the program; a test reads it too.
pub(super) fn providers() -> Vec<Provider> {
    serde_json::from_str(PROVIDERS).unwrap_or_default()
}

/// What is known of `model`, whose id may end in a date.
pub fn facts(model: &str) -> Option<ModelFacts> {
    let table: BTreeMap<String, ModelFacts> = serde_json::from_str(MODELS).unwrap_or_default();
    let undated = match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => model,
    };
    table.get(model).or_else(|| table.get(undated)).copied()
}
