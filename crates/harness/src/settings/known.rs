//! Owns the keys that people have in their files for Claude Code and that have no meaning here:
//! `known.json`. They are kept in silence, so that a file can be shared. Must not know our own keys.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A key that is kept.
#[derive(Debug, Deserialize)]
pub(super) struct Known {
    /// Its type, in the words of JSON Schema.
    #[serde(rename = "type")]
    pub(super) kind: Value,
    /// What it means to Claude Code.
    pub(super) about: String,
}

/// The keys, each with the key above it before a dot. The file is part of the program; a test reads it.
pub(super) fn known() -> BTreeMap<String, Known> {
    serde_json::from_str(include_str!("known.json")).unwrap_or_default()
}
