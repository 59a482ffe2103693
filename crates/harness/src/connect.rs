//! Ties settings and surroundings to the table of providers: who answers a session, who else could,
//! and what they say of their models. Must not know conversations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kernel::ModelError;
use models::registry::{Endpoint, Listed, Preferred, Rows, list};
use models::wire::{Dialect, probe};
use models::{Choice, Connection, Limits, Network, RegistryError, UserProvider, Wishes};

use crate::environment::Environment;
use crate::session::{SessionConfig, SessionError, number};
use crate::settings::{Effective, Settings};
use crate::workspace::everywhere;

/// The variable that sets how many seconds an answer may stand still.
const STALL: &str = "RSAGENT_STALL_SECONDS";

/// Makes a model of what flags, settings and surroundings say. Connects to nothing.
pub(crate) fn connect(
    config: &SessionConfig,
    all: &Effective,
    provider: Option<&str>,
    model: Option<&str>,
) -> Result<Connection, SessionError> {
    let (environment, settings) = (&config.environment, &all.settings);
    let limits = match number(environment, &[STALL])? {
        None => Limits::default(),
        Some(seconds) => {
            let limit = Duration::from_secs(seconds);
            Limits { first: limit, quiet: limit, progress: limit }
        }
    };
    let network = Network {
        http: environment.network(),
        limits,
        fallback: config.fallback_model.clone(),
        record: config.record.clone(),
        replay: config.replay.clone(),
    };
    let wishes = Wishes {
        effort: config.effort.or(settings.effort_level),
        thinking: config.thinking.or(settings.always_thinking_enabled),
    };
    let provider = provider.map(str::to_owned);
    let model = model.map(str::to_owned);
    let preferred = preferred(all)?;
    with_choice(environment, settings, |choice| {
        models::connect(&Choice { provider, model, wishes, preferred, ..choice }, &network).map_err(SessionError::from)
    })
}

/// The models that settings name. A project's settings may name a model, not who is asked.
fn preferred(all: &Effective) -> Result<Preferred, RegistryError> {
    let mut preferred = Preferred::default();
    if let Some(name) = &all.settings.model {
        let (provider, model) = split(&all.settings, name, "")?;
        if provider.is_empty() || !all.is_shared(&["model"]) {
            preferred.provider = Some(provider).filter(|provider| !provider.is_empty());
            preferred.model = model;
        }
    }
    if let Some(name) = all.settings.fallback_model.first() {
        let (provider, _) = split(&all.settings, name, "")?;
        let may = provider.is_empty() || !all.is_shared(&["fallbackModel"]);
        preferred.fallback = may.then(|| name.clone());
    }
    Ok(preferred)
}

/// A model as a person names it: provider and model.
pub(crate) fn split(
    settings: &Settings,
    name: &str,
    provider: &str,
) -> Result<(String, Option<String>), RegistryError> {
    models::registry::split(name, provider, &user_providers(settings))
}

/// A provider, and whether it can be used.
#[derive(Debug)]
pub struct Surveyed {
    /// Its name.
    pub name: String,
    /// The model that is used unless another is named.
    pub model: Option<String>,
    /// How it speaks; none for the mock.
    pub dialect: Option<Dialect>,
    /// Whether it can be used.
    pub presence: Presence,
}

/// Whether a provider can be used.
#[derive(Debug)]
pub enum Presence {
    /// It needs nothing.
    Ready,
    /// It answers and has so many models.
    Reachable(usize),
    /// It was asked and gave no list.
    Failed(ModelError),
    /// It was not asked: this variable, which holds its key, is not set.
    NoKey(String),
    /// It was not asked: something else is not set.
    Unset(RegistryError),
}

/// Asks every provider that is configured for its models, all at once, and keeps what they say of them.
pub async fn survey(environment: &Environment) -> Result<Vec<Surveyed>, SessionError> {
    let all = everywhere(environment)?;
    let environment = &environment.with(&all.own_variables());
    let preferred = preferred(&all)?;
    let listed = with_choice(environment, &all.settings, |choice| {
        list(&Choice { preferred, ..choice }).map_err(SessionError::from)
    })?;
    let network = environment.network();
    let ask = async |Listed { name, endpoint, model }: Listed| {
        let (dialect, presence) = match endpoint {
            Ok(Endpoint::Mock(_)) => (None, Presence::Ready),
            Err(RegistryError::MissingKey { variable, .. }) => (None, Presence::NoKey(variable)),
            Err(fault) => (None, Presence::Unset(fault)),
            Ok(Endpoint::Remote(site, _)) => {
                let presence = match probe(&site, &network).await {
                    Ok(models) => {
                        keep(environment, &name, &models);
                        Presence::Reachable(models.len())
                    }
                    Err(fault) => Presence::Failed(fault),
                };
                (Some(site.dialect), presence)
            }
        };
        Surveyed { name, model, dialect, presence }
    };
    Ok(futures::future::join_all(listed.into_iter().map(ask)).await)
}

fn with_choice<T>(environment: &Environment, settings: &Settings, use_it: impl FnOnce(Choice<'_>) -> T) -> T {
    use_it(Choice {
        provider: None,
        model: None,
        preferred: Preferred::default(),
        providers: user_providers(settings),
        models: settings.models.clone(),
        said: &|provider| said(environment, provider),
        wishes: Wishes::default(),
        variable: &|name| environment.get(name).map(str::to_owned),
        key: &|_| None,
    })
}

fn user_providers(settings: &Settings) -> Vec<UserProvider> {
    let own = settings.providers.iter().map(|(name, provider)| UserProvider {
        name: name.clone(),
        dialect: provider.dialect.clone(),
        base_url: provider.base_url.clone(),
        api_key_env: provider.api_key_env.clone(),
        model: provider.model.clone(),
        small_model: provider.small_model.clone(),
        quirks: provider.quirks.clone(),
        body: provider.body.clone(),
    });
    own.collect()
}

/// Where it is kept what a provider says of its models: `~/.rsagent/models/PROVIDER.json`.
fn file(environment: &Environment, provider: &str) -> Option<PathBuf> {
    let plain = provider.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) && !provider.starts_with('.');
    let folder = environment.settings_folder().filter(|_| plain)?;
    Some(folder.join("models").join(format!("{provider}.json")))
}

/// What a provider said when it was last asked. A file that cannot be read says nothing: it is a copy.
fn said(environment: &Environment, provider: &str) -> Rows {
    let text = file(environment, provider).and_then(|path| std::fs::read(path).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Keeps the rows that say something. It is a copy: where it cannot be kept, nothing is lost.
fn keep(environment: &Environment, provider: &str, models: &Rows) {
    let rows: BTreeMap<_, _> = models.iter().filter(|(_, row)| !row.is_empty()).collect();
    let (Some(path), false) = (file(environment, provider), rows.is_empty()) else { return };
    let Ok(text) = serde_json::to_vec_pretty(&rows) else { return };
    // Whole or not at all, since another process may read it now.
    let half = path.with_extension(format!("{}.tmp", std::process::id()));
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let _ = folder.and_then(|()| std::fs::write(&half, text)).and_then(|()| std::fs::rename(&half, &path));
}
