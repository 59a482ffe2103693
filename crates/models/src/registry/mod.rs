//! Owns who can be asked: the table of providers, the user's own ones, and which of them a session
//! gets. Must not know the environment (variables arrive as a look-up) or how a dialect works.

mod address;
mod error;
mod preferred;
mod providers;
mod stack;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::mock::MockConfig;
use crate::table::{ModelFacts, Quirks, Row, Shape, Table, Wishes};
use crate::wire::{Auth, Dialect, Secret, Site};
use address::join;
use providers::{Provider, providers};

pub use error::RegistryError;
pub use preferred::Preferred;
pub use stack::{Connection, Network, connect};

const PROVIDER_VARIABLES: [&str; 2] = ["RSAGENT_PROVIDER", "MYAGENT_PROVIDER"];
const MODEL_VARIABLES: [&str; 2] = ["RSAGENT_MODEL", "MYAGENT_MODEL"];
const MOCK_RATE: &str = "RSAGENT_MOCK_RATE";
/// The bound of an answer, and what compaction keeps free for it.
const MAX_TOKENS: u32 = 32_000;
/// Answers when nobody else can.
const LAST_RESORT: &str = "mock";

/// A provider of the user's settings: a new one, or other values for a built-in one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserProvider {
    /// Its name.
    pub name: String,
    /// How it speaks: `anthropic` or `openai`.
    pub dialect: Option<String>,
    /// Where it is, with or without `/v1`.
    pub base_url: Option<String>,
    /// The variable that holds its key; none where it needs no key.
    pub api_key_env: Option<String>,
    /// The model that is used unless another is named.
    pub model: Option<String>,
    /// A quick and cheap model for chores.
    pub small_model: Option<String>,
    /// Its ways, in place of those of the table.
    pub quirks: Option<Quirks>,
    /// Fields that every request to it has beside ours.
    pub body: Map<String, Value>,
}

/// Rows of the table of models, by model.
pub type Rows = BTreeMap<String, Row>;

/// What decides who is asked. Empty values count as not given.
pub struct Choice<'a> {
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// What settings prefer.
    pub preferred: Preferred,
    /// The user's providers.
    pub providers: Vec<UserProvider>,
    /// What the user says of models.
    pub models: Rows,
    /// What a provider said of its models when it was last asked.
    pub said: &'a dyn Fn(&str) -> Rows,
    /// What is wanted of every answer.
    pub wishes: Wishes,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The key that is kept for a provider; a variable goes before it.
    pub key: &'a dyn Fn(&str) -> Option<String>,
}

impl Choice<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        given((self.variable)(name))
    }

    fn first(&self, names: &[impl AsRef<str>]) -> Option<String> {
        names.iter().find_map(|name| self.variable(name.as_ref()))
    }

    fn key(&self, provider: &Provider) -> Option<String> {
        given((self.key)(&provider.name))
    }
}

/// Who is asked, and with what bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The provider's name.
    pub provider: String,
    /// The model's id as the provider knows it.
    pub model_id: String,
    /// A quick and cheap model of the same provider, for chores.
    pub small_model: Option<String>,
    /// Upper bound of one answer in tokens.
    pub max_tokens: u32,
    /// What is known of the model.
    pub facts: ModelFacts,
    /// What of the wishes cannot be, in words for a person.
    pub unmet: Vec<String>,
    /// How it is reached.
    pub endpoint: Endpoint,
}

/// How a provider is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    /// Over HTTP, with requests of this shape.
    Remote(Box<Site>, Box<Shape>),
    /// No network at all.
    Mock(MockConfig),
}

/// A provider as a person sees it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// How it is reached, or why it cannot be.
    pub endpoint: Result<Endpoint, RegistryError>,
    /// The model that is used unless another is named.
    pub model: Option<String>,
}

/// Decides who is asked: flag, then variable, then whichever key is set in order of the table, then
/// the mock. The model likewise, and by default the provider's own.
pub fn choose(choice: &Choice<'_>) -> Result<Resolved, RegistryError> {
    let all = merged(&choice.providers)?;
    let named = given(choice.provider.clone())
        .or_else(|| choice.first(&PROVIDER_VARIABLES))
        .or_else(|| choice.preferred.provider.clone());
    let has_key = |provider: &Provider| {
        provider.keys().any(|name| choice.variable(name).is_some()) || choice.key(provider).is_some()
    };
    let is_ready = |provider: &&Provider| !provider.model.is_empty() && has_key(provider);
    let provider = match &named {
        Some(name) => all.iter().find(|provider| provider.name == *name),
        None => all.iter().find(is_ready).or_else(|| all.iter().find(|provider| provider.name == LAST_RESORT)),
    };
    let Some(provider) = provider else {
        let known = all.iter().map(|provider| provider.name.clone()).collect();
        return Err(RegistryError::UnknownProvider { name: named.unwrap_or_default(), known });
    };
    let model_id = given(choice.model.clone())
        .or_else(|| choice.first(&MODEL_VARIABLES))
        .or_else(|| choice.first(&provider.model_variables))
        .or_else(|| choice.preferred.at(provider, &all))
        .or_else(|| given(Some(provider.model.clone())))
        .ok_or_else(|| RegistryError::NoModel { provider: provider.name.clone() })?;
    let mut table = Table::built_in();
    table.lay(&(choice.said)(&provider.name));
    table.lay(&choice.models);
    let facts = table.facts(&model_id)?;
    let own = choice.providers.iter().find(|own| own.name == provider.name);
    let body = own.map(|own| own.body.clone()).unwrap_or_default();
    let mut unmet = Vec::new();
    let shaped = |dialect| {
        let shape = Shape::new(&model_id, &facts, dialect, provider.quirks.clone(), choice.wishes, &body);
        unmet = shape.1;
        shape.0
    };
    Ok(Resolved {
        endpoint: endpoint(provider, choice, shaped)?,
        provider: provider.name.clone(),
        small_model: given(Some(provider.small_model.clone())),
        max_tokens: Shape::max_tokens(MAX_TOKENS, &facts, choice.wishes),
        model_id,
        facts,
        unmet,
    })
}

/// Every provider, in the order of the table.
pub fn list(choice: &Choice<'_>) -> Result<Vec<Listed>, RegistryError> {
    let all = merged(&choice.providers)?;
    let own_model = |provider: &Provider| {
        let named = choice.first(&provider.model_variables).or_else(|| choice.preferred.at(provider, &all));
        named.or_else(|| given(Some(provider.model.clone())))
    };
    let listed = |provider: &Provider| Listed {
        name: provider.name.clone(),
        endpoint: endpoint(provider, choice, |_| Shape::default()),
        model: own_model(provider),
    };
    Ok(all.iter().map(listed).collect())
}

/// A model as a person names it: `MODEL` at the provider `now`, `PROVIDER/MODEL`, or `PROVIDER` for its
/// own model. Gives provider and model.
pub fn split(name: &str, now: &str, own: &[UserProvider]) -> Result<(String, Option<String>), RegistryError> {
    let all = merged(own)?;
    let is_provider = |name: &str| all.iter().any(|provider| provider.name == name);
    let known = all.iter().any(|provider| provider.name == now && provider.models.iter().any(|model| model == name));
    Ok(match name.split_once('/') {
        _ if known => (now.to_owned(), Some(name.to_owned())),
        Some((provider, model)) if is_provider(provider) => (provider.to_owned(), given(Some(model.to_owned()))),
        None if is_provider(name) => (name.to_owned(), None),
        Some(_) | None => (now.to_owned(), Some(name.to_owned())),
    })
}

fn given(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The built-in table with the user's values in it, and the user's own providers after it.
fn merged(own: &[UserProvider]) -> Result<Vec<Provider>, RegistryError> {
    let mut all = providers();
    for user in own {
        if user.name == LAST_RESORT {
            return Err(RegistryError::Reserved(user.name.clone()));
        }
        let at = all.iter().position(|provider| provider.name == user.name).unwrap_or_else(|| {
            all.push(Provider { name: user.name.clone(), ..Provider::default() });
            all.len() - 1
        });
        let provider = &mut all[at];
        for (own, value) in [
            (&mut provider.dialect, &user.dialect),
            (&mut provider.base_url, &user.base_url),
            (&mut provider.model, &user.model),
            (&mut provider.small_model, &user.small_model),
        ] {
            if let Some(value) = value {
                own.clone_from(value);
            }
        }
        if let Some(quirks) = &user.quirks {
            provider.quirks = quirks.clone();
        }
        if let Some(variable) = &user.api_key_env {
            provider.key_variables = vec![variable.clone()];
            provider.token_variables.clear();
        }
    }
    Ok(all)
}

fn endpoint(
    provider: &Provider,
    choice: &Choice<'_>,
    shaped: impl FnOnce(Dialect) -> Shape,
) -> Result<Endpoint, RegistryError> {
    let dialect = match provider.dialect.as_str() {
        "mock" => return mock(choice).map(Endpoint::Mock),
        "" => Dialect::default(),
        name => Dialect::named(name)
            .ok_or_else(|| RegistryError::Dialect { provider: provider.name.clone(), dialect: name.to_owned() })?,
    };
    if provider.base_url.is_empty() {
        return Err(RegistryError::Incomplete { provider: provider.name.clone(), field: "baseUrl" });
    }
    let site = site(provider, dialect, choice)?;
    Ok(Endpoint::Remote(Box::new(site), Box::new(shaped(dialect))))
}

fn mock(choice: &Choice<'_>) -> Result<MockConfig, RegistryError> {
    let Some(value) = choice.variable(MOCK_RATE) else { return Ok(MockConfig::default()) };
    match value.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(MockConfig { rate: Some(rate) }),
        _ => Err(RegistryError::MockRate { name: MOCK_RATE.to_owned(), value }),
    }
}

fn site(provider: &Provider, dialect: Dialect, choice: &Choice<'_>) -> Result<Site, RegistryError> {
    let base = choice.first(&provider.base_url_variables).unwrap_or_else(|| provider.base_url.clone());
    let url = join(&base, dialect.path()).map_err(|fault| RegistryError::BaseUrl {
        provider: provider.name.clone(),
        url: base,
        fault,
    })?;
    let set = |names: &[String]| {
        names.iter().find_map(|name| choice.variable(name).map(|value| (name.clone(), Secret(value))))
    };
    let keyed = |key| match dialect {
        Dialect::Anthropic => Auth::Key(key),
        Dialect::OpenAi => Auth::Bearer(key),
    };
    let kept = || choice.key(provider).map(Secret);
    // A token was made for the gateway at the base URL; a key may be there for other programs.
    let (auth, key_hint) = match (set(&provider.token_variables), set(&provider.key_variables)) {
        (Some((name, token)), _) => (Auth::Bearer(token), format!("Set {name} to a valid key")),
        (None, Some((name, key))) => (keyed(key), format!("Set {name} to a valid key")),
        (None, None) => match (kept(), provider.key_variables.first()) {
            (Some(key), _) => (keyed(key), format!("Keep a valid key with `rsagent config set-key {}`", provider.name)),
            (None, None) => {
                (Auth::Nothing, format!("Name the variable with its key in providers.{}.apiKeyEnv", provider.name))
            }
            (None, Some(name)) => {
                let (provider, variable) = (provider.name.clone(), name.clone());
                return Err(RegistryError::MissingKey { provider, variable });
            }
        },
    };
    Ok(Site { provider: provider.name.clone(), dialect, url, auth, key_hint, models: provider.models.clone() })
}
