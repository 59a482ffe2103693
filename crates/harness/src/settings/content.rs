//! Owns what may stand in a settings file: the keys that have a meaning here, and their types. Must
//! not know files or which file may set what.

use std::collections::BTreeMap;
use std::str::FromStr;

use kernel::Mode;
use models::Effort;
use models::registry::Rows;
use models::table::Quirks;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tools::sandbox::settings::SandboxSettings;

use super::known::known;
use super::schema;

/// Settings of rsagent. Files of Claude Code are read as well; keys that only it knows are kept and
/// have no effect.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Settings {
    /// The model, as `MODEL` or `PROVIDER/MODEL`. A flag and RSAGENT_MODEL go before it.
    pub model: Option<String>,
    /// Who answers when the model is gone or stays overloaded. Of a list the first is used.
    #[serde(deserialize_with = "one_or_several")]
    #[schemars(with = "OneOrSeveral")]
    pub fallback_model: Vec<String>,
    /// How much work a model puts into an answer.
    #[schemars(schema_with = "schema::effort")]
    pub effort_level: Option<Effort>,
    /// Whether models think before they answer.
    pub always_thinking_enabled: Option<bool>,
    /// What runs without a question, what is asked, what never runs.
    pub permissions: Permissions,
    /// What commands may touch. Never from project settings.
    pub sandbox: SandboxSettings,
    /// Variables for commands; from the user's and managed settings also for rsagent itself.
    #[serde(deserialize_with = "texts")]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub env: BTreeMap<String, String>,
    /// Providers by name, beside the built-in ones and over them. Never from project settings.
    pub providers: BTreeMap<String, Provider>,
    /// What is known of models, over the built-in table. Never from project settings.
    #[schemars(schema_with = "schema::models")]
    pub models: Rows,
    /// Folders that are trusted without a question, with what is in them. From managed settings only.
    pub trusted_folders: Vec<String>,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    pub(super) unknown: BTreeMap<String, Value>,
}

/// `providers.NAME`. What a built-in provider has need not be said again. A key never stands here:
/// `rsagent config set-key NAME` keeps it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Provider {
    /// How it speaks: `anthropic` or `openai`.
    pub dialect: Option<String>,
    /// Where it is, such as `https://api.example.com`.
    pub base_url: Option<String>,
    /// The variable that holds its key; none where it needs no key.
    pub api_key_env: Option<String>,
    /// The model that is used unless another is named.
    pub model: Option<String>,
    /// A quick and cheap model for chores.
    pub small_model: Option<String>,
    /// What it does in its own way, in place of what the table says.
    #[schemars(schema_with = "schema::quirks")]
    pub quirks: Option<Quirks>,
    /// Fields that every request to it has beside ours.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    pub(super) unknown: BTreeMap<String, Value>,
}

/// `permissions`. A rule is `Tool` or `Tool(pattern)`, such as `Bash(git log *)` or `Read(.env)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Permissions {
    /// What runs without a question.
    pub allow: Vec<String>,
    /// What is always asked.
    pub ask: Vec<String>,
    /// What never runs.
    pub deny: Vec<String>,
    /// The mode in which a session starts. Project settings cannot choose `bypassPermissions`.
    #[serde(deserialize_with = "mode")]
    #[schemars(schema_with = "schema::mode")]
    pub default_mode: Option<String>,
    /// Further folders of the workspace.
    pub additional_directories: Vec<String>,
    /// `disable` switches the mode `bypassPermissions` off, whatever else is set.
    pub disable_bypass_permissions_mode: Option<Disable>,
    /// Takes the place of the built-in deny list. Never from project settings.
    pub builtin_deny: Option<Vec<String>>,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    pub(super) unknown: BTreeMap<String, Value>,
}

/// The one value of a switch that can only be thrown one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Disable {
    /// It is off.
    Disable,
}

impl Permissions {
    /// The mode in which a session starts; none where it is one that only Claude Code has.
    pub fn mode(&self) -> Option<Mode> {
        match self.default_mode.as_deref()? {
            MANUAL => Some(Mode::Default),
            name => Mode::from_str(name).ok(),
        }
    }
}

impl Settings {
    /// Keys that mean nothing to this version nor to Claude Code: perhaps misspelt, and then without
    /// effect.
    pub fn unknown_keys(&self) -> Vec<String> {
        let own = self.unknown.keys().cloned();
        let permissions = self.permissions.unknown.keys().map(|key| format!("permissions.{key}"));
        let providers = self
            .providers
            .iter()
            .flat_map(|(name, provider)| provider.unknown.keys().map(move |key| format!("providers.{name}.{key}")));
        let known = known();
        own.chain(permissions)
            .chain(providers)
            .chain(self.sandbox.unknown_keys())
            .filter(|key| !known.contains_key(key))
            .collect()
    }
}

/// Another name of the default mode.
const MANUAL: &str = "manual";
/// A mode that we do not have.
pub(super) const AUTO: &str = "auto";

fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
    match Mode::from_str(&name).is_ok() || name == MANUAL || name == AUTO {
        true => Ok(Some(name)),
        false => Err(D::Error::custom(format!(
            "unknown mode `{name}`; use default, acceptEdits, plan, bypassPermissions or dontAsk"
        ))),
    }
}

/// A value of a variable, as people write it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, a number or a boolean")]
enum Scalar {
    /// A text.
    Text(String),
    /// A number.
    Number(serde_json::Number),
    /// A boolean.
    Boolean(bool),
}

fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let text = |scalar| match scalar {
        Scalar::Text(text) => text,
        Scalar::Number(number) => number.to_string(),
        Scalar::Boolean(boolean) => boolean.to_string(),
    };
    let all = BTreeMap::<String, Scalar>::deserialize(from)?;
    Ok(all.into_iter().map(|(name, value)| (name, text(value))).collect())
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum OneOrSeveral {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrSeveral::deserialize(from)? {
        OneOrSeveral::One(name) => vec![name],
        OneOrSeveral::Several(names) => names,
    })
}
