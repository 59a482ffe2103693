//! Owns why nobody can be asked, in words that say what to do. Must not know how it is found out.

use thiserror::Error;

use crate::table::TableError;

/// Why nobody can be asked. Each says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// A name that is not in the table.
    #[error("there is no provider {name:?}. Choose one of {}, or add it under \"providers\" in the settings file", known.join(", "))]
    UnknownProvider {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A provider was chosen by name, and its key is not set.
    #[error(
        "provider {provider} needs a key. Set {variable}, keep one with `rsagent config set-key {provider}`, or choose another provider with --provider (mock needs none)"
    )]
    MissingKey {
        /// The provider.
        provider: String,
        /// The variable to set.
        variable: String,
    },
    /// A dialect that this version does not speak.
    #[error("provider {provider}: dialect {dialect:?} is not known. Write \"anthropic\" or \"openai\"")]
    Dialect {
        /// The provider.
        provider: String,
        /// What the settings say.
        dialect: String,
    },
    /// A provider without a model of its own, and none was named.
    #[error(
        "provider {provider} needs the name of a model. Name one with --model, or set providers.{provider}.model in the settings file"
    )]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// A provider of the user's that lacks what it needs.
    #[error("providers.{provider}: `{field}` is missing. Add it in the settings file")]
    Incomplete {
        /// The provider.
        provider: String,
        /// The key that is missing.
        field: &'static str,
    },
    /// A base URL that is none.
    #[error("provider {provider}: {url:?} is not a base URL ({fault}). It looks like https://api.example.com")]
    BaseUrl {
        /// The provider.
        provider: String,
        /// What was given.
        url: String,
        /// What is wrong.
        fault: String,
    },
    /// A name in the settings that has a meaning already.
    #[error("providers.{0}: this name is taken. Give the provider another one in the settings file")]
    Reserved(String),
    /// A variable that cannot be read.
    #[error("{name}={value:?} is not a number of tokens a second. Correct or unset it")]
    MockRate {
        /// The variable.
        name: String,
        /// What it holds.
        value: String,
    },
    /// A recording that cannot be written or read.
    #[error("{0}")]
    Recording(String),
    /// A row of the table of models that cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
}
