//! Owns the built-in table of providers. Data, no decisions.

use serde::Deserialize;

use crate::table::Quirks;

const PROVIDERS: &str = include_str!("providers.json");

/// A row of the table of providers. The order of rows is the order in which keys are looked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Provider {
    pub(super) name: String,
    /// `anthropic` where nothing else is said.
    pub(super) dialect: String,
    pub(super) base_url: String,
    /// Variables whose value is sent as a key.
    pub(super) key_variables: Vec<String>,
    /// Variables whose value is sent as a Bearer token.
    pub(super) token_variables: Vec<String>,
    pub(super) base_url_variables: Vec<String>,
    pub(super) model_variables: Vec<String>,
    /// The model that is used unless another is named; empty where one must be named.
    pub(super) model: String,
    /// A quick and cheap model for chores; empty where there is none.
    pub(super) small_model: String,
    /// Models that it is known to have.
    pub(super) models: Vec<String>,
    /// What it does in its own way.
    pub(super) quirks: Quirks,
}

impl Provider {
    /// Every variable that can hold its key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.key_variables.iter().chain(&self.token_variables).map(String::as_str)
    }
}

/// The built-in providers. The file is part of the program; a test reads it too.
pub(super) fn providers() -> Vec<Provider> {
    serde_json::from_str(PROVIDERS).unwrap_or_default()
}
