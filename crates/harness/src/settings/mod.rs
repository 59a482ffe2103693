//! Owns settings: files in layers, what each may set, and what holds in the end. Must not know what
//! the settings lead to.

mod content;
mod edit;
mod error;
mod file;
mod known;
mod layers;
mod narrow;
mod rules;
mod schema;
mod source;
#[cfg(test)]
mod tests;

pub use content::{Disable, Permissions, Provider, Settings};
pub use edit::{List, Saved, Scope, add_rule, remove_rule};
pub use error::SettingsError;
pub use layers::{Effective, Layers};
pub use narrow::{Ignored, Why};
pub use rules::FlagRules;
pub use schema::schema;
pub use source::{Project, Source, Sources, Where};
