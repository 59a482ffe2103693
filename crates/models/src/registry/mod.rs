//! Owns who can be asked: the table of providers, the user's own ones, and which of them a session
//! gets. Must not know the environment (variables arrive as a look-up) or how a dialect works.

mod table;

use std::sync::Arc;

use kernel::Model;
use reqwest::Url;
use thiserror::Error;

use crate::anthropic::{Anthropic, Auth, Secret, Site};
use crate::http::NetConfig;
use crate::mock::{Mock, MockConfig};
use crate::retry::Retrying;
use table::{Provider, providers};

pub use table::{ModelFacts, facts};

const PROVIDER_VARIABLES: [&str; 2] = ["RSAGENT_PROVIDER", "MYAGENT_PROVIDER"];
const MODEL_VARIABLES: [&str; 2] = ["RSAGENT_MODEL", "MYAGENT_MODEL"];
const MOCK_RATE: &str = "RSAGENT_MOCK_RATE";
/// The bound of an answer, and what compaction keeps free for it.
const MAX_TOKENS: u32 = 32_000;
/// Answers when nobody else can.
const FALLBACK: &str = "mock";

/// A provider of the user's settings: a new one, or other values for a built-in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProvider {
    /// Its name.
    pub name: String,
    /// How it speaks: `anthropic`.
    pub dialect: Option<String>,
    /// Where it is, with or without `/v1`.
    pub base_url: Option<String>,
    /// The variable that holds its key; none where it needs no key.
    pub api_key_env: Option<String>,
    /// The model that is used unless another is named.
    pub model: Option<String>,
}

/// What decides who is asked. Empty values count as not given.
pub struct Choice<'a> {
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// The user's providers.
    pub providers: Vec<UserProvider>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Who is asked, and with what bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The provider's name.
    pub provider: String,
    /// The model's id as the provider knows it.
    pub model_id: String,
    /// Upper bound of one answer in tokens.
    pub max_tokens: u32,
    /// Tokens of prompt and answer together, where known.
    pub context_window: Option<u64>,
    /// How it is reached.
    pub endpoint: Endpoint,
}

/// How a provider is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    /// Anthropic Messages.
    Anthropic(Site),
    /// No network at all.
    Mock(MockConfig),
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Connection {
    /// Who answers. Nothing has been opened or loaded yet.
    pub model: Arc<dyn Model>,
    /// The provider's name.
    pub provider: String,
    /// The model's id as the provider knows it.
    pub model_id: String,
    /// Upper bound of one answer in tokens.
    pub max_tokens: u32,
    /// Tokens of prompt and answer together, where known.
    pub context_window: Option<u64>,
}

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
        "provider {provider} needs a key. Set {variable}, or choose another provider with --provider (mock needs none)"
    )]
    MissingKey {
        /// The provider.
        provider: String,
        /// The variable to set.
        variable: String,
    },
    /// A dialect that this version does not speak.
    #[error("provider {provider}: dialect {dialect:?} is not supported yet. Use a base URL that speaks \"anthropic\"")]
    Dialect {
        /// The provider.
        provider: String,
        /// What the settings say.
        dialect: String,
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
}

/// Decides who is asked: flag, then variable, then whichever key is set in order of the table, then
/// the mock. The model likewise, and by default the provider's own.
pub fn choose(choice: &Choice<'_>) -> Result<Resolved, RegistryError> {
    let variable = |name: &str| given((choice.variable)(name));
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
    let all = merged(&choice.providers)?;
    let named = given(choice.provider.clone()).or_else(|| first(&PROVIDER_VARIABLES));
    let provider = match &named {
        Some(name) => all.iter().find(|provider| provider.name == *name),
        None => all
            .iter()
            .find(|provider| provider.keys().any(|name| variable(name).is_some()))
            .or_else(|| all.iter().find(|provider| provider.name == FALLBACK)),
    };
    let Some(provider) = provider else {
        let known = all.iter().map(|provider| provider.name.clone()).collect();
        return Err(RegistryError::UnknownProvider { name: named.unwrap_or_default(), known });
    };
    let own = |names: &[String]| names.iter().find_map(|name| variable(name));
    let model_id = given(choice.model.clone())
        .or_else(|| first(&MODEL_VARIABLES))
        .or_else(|| own(&provider.model_variables))
        .unwrap_or_else(|| provider.model.clone());
    for (field, value) in [("model", &model_id), ("baseUrl", &provider.base_url)] {
        if value.is_empty() && provider.dialect != "mock" {
            return Err(RegistryError::Incomplete { provider: provider.name.clone(), field });
        }
    }
    let known = facts(&model_id);
    let max_output = known.map_or(MAX_TOKENS, |facts| facts.max_output);
    Ok(Resolved {
        endpoint: endpoint(provider, &variable)?,
        provider: provider.name.clone(),
        model_id,
        max_tokens: MAX_TOKENS.min(max_output),
        context_window: known.map(|facts| facts.context_window),
    })
}

/// Decides who is asked and makes a model of it. Opens no connection, loads no certificate.
pub fn connect(choice: &Choice<'_>, network: NetConfig) -> Result<Connection, RegistryError> {
    let Resolved { provider, model_id, max_tokens, context_window, endpoint } = choose(choice)?;
    let model: Arc<dyn Model> = match endpoint {
        Endpoint::Anthropic(site) => Arc::new(Retrying::new(Anthropic::new(site, network))),
        Endpoint::Mock(config) => Arc::new(Mock::new(config)),
    };
    Ok(Connection { model, provider, model_id, max_tokens, context_window })
}

fn given(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The built-in table with the user's values in it, and the user's own providers after it.
fn merged(own: &[UserProvider]) -> Result<Vec<Provider>, RegistryError> {
    let mut all = providers();
    for user in own {
        if user.name == FALLBACK {
            return Err(RegistryError::Reserved(user.name.clone()));
        }
        let at = all.iter().position(|provider| provider.name == user.name).unwrap_or_else(|| {
            let dialect = "anthropic".to_owned();
            all.push(Provider { name: user.name.clone(), dialect, ..Provider::default() });
            all.len() - 1
        });
        let provider = &mut all[at];
        for (own, value) in [
            (&mut provider.dialect, &user.dialect),
            (&mut provider.base_url, &user.base_url),
            (&mut provider.model, &user.model),
        ] {
            if let Some(value) = value {
                own.clone_from(value);
            }
        }
        if let Some(variable) = &user.api_key_env {
            provider.key_variables = vec![variable.clone()];
            provider.token_variables.clear();
        }
    }
    Ok(all)
}

fn endpoint(provider: &Provider, variable: &dyn Fn(&str) -> Option<String>) -> Result<Endpoint, RegistryError> {
    match provider.dialect.as_str() {
        "mock" => mock(variable).map(Endpoint::Mock),
        "anthropic" => site(provider, variable).map(Endpoint::Anthropic),
        dialect => Err(RegistryError::Dialect { provider: provider.name.clone(), dialect: dialect.to_owned() }),
    }
}

fn mock(variable: &dyn Fn(&str) -> Option<String>) -> Result<MockConfig, RegistryError> {
    let Some(value) = variable(MOCK_RATE) else { return Ok(MockConfig::default()) };
    match value.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(MockConfig { rate: Some(rate) }),
        _ => Err(RegistryError::MockRate { name: MOCK_RATE.to_owned(), value }),
    }
}

fn site(provider: &Provider, variable: &dyn Fn(&str) -> Option<String>) -> Result<Site, RegistryError> {
    let first = |names: &[String]| names.iter().find_map(|name| variable(name));
    let base = first(&provider.base_url_variables).unwrap_or_else(|| provider.base_url.clone());
    let url = join(&base, &provider.path).map_err(|fault| RegistryError::BaseUrl {
        provider: provider.name.clone(),
        url: base,
        fault,
    })?;
    let set =
        |names: &[String]| names.iter().find_map(|name| variable(name).map(|value| (name.clone(), Secret(value))));
    // A token was made for the gateway at the base URL; a key may be there for other programs.
    let (auth, key_variable) = match (set(&provider.token_variables), set(&provider.key_variables)) {
        (Some((name, token)), _) => (Auth::Bearer(token), Some(name)),
        (None, Some((name, key))) => (Auth::Key(key), Some(name)),
        (None, None) => (Auth::Nothing, None),
    };
    let key_hint = match (key_variable, provider.key_variables.first()) {
        (Some(name), _) => format!("Set {name} to a valid key"),
        (None, None) => {
            format!("Name the variable with its key in providers.{}.apiKeyEnv", provider.name)
        }
        (None, Some(name)) => {
            let (provider, variable) = (provider.name.clone(), name.clone());
            return Err(RegistryError::MissingKey { provider, variable });
        }
    };
    Ok(Site { provider: provider.name.clone(), url, auth, key_hint, models: provider.models.clone() })
}

/// `base` may end in a slash, in the first folder of `path`, or in all of it.
fn join(base: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|fault| fault.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("it must begin with https:// or http://".to_owned());
    }
    let folder = path.trim_start_matches('/').split('/').next().unwrap_or("");
    let given = url.path().trim_end_matches('/');
    let root = given.strip_suffix(path).unwrap_or(given);
    let root = root.strip_suffix(&format!("/{folder}")).unwrap_or(root);
    let joined = format!("{}{path}", root.trim_end_matches('/'));
    url.set_path(&joined);
    Ok(url)
}
