//! Owns what stands round a model that is asked: price, watchdog, another model in its place, retries,
//! a recording. Must not know how it was chosen.

use std::path::PathBuf;
use std::sync::Arc;

use kernel::Model;

use super::{Choice, Endpoint, Preferred, RegistryError, Resolved, choose, preferred, split};
use crate::fallback::{Fallback, Other};
use crate::http::NetConfig;
use crate::mock::Mock;
use crate::record::{Pace, Recording, Replay};
use crate::retry::Retrying;
use crate::table::{ModelFacts, Priced};
use crate::watchdog::{Limits, Watchdog};
use crate::wire::{Auth, Remote, Secret};

/// How models are reached, and what is done beside.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Proxies and certificates.
    pub http: NetConfig,
    /// How long an answer may be waited for.
    pub limits: Limits,
    /// The model that answers when the first cannot: `MODEL` or `PROVIDER/MODEL`.
    pub fallback: Option<String>,
    /// A file in which everything is written down that is asked and answered.
    pub record: Option<PathBuf>,
    /// A recording that answers in the model's place.
    pub replay: Option<PathBuf>,
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
    /// A quick and cheap model of the same provider, for chores.
    pub small_model: Option<String>,
    /// Upper bound of one answer in tokens.
    pub max_tokens: u32,
    /// What is known of the model.
    pub facts: ModelFacts,
    /// What of the wishes cannot be, in words for a person.
    pub unmet: Vec<String>,
    /// A model whose price is not known, where there is one among those that may answer.
    pub unpriced: Option<String>,
}

/// Decides who is asked and makes a model of it. Opens no connection, loads no certificate.
pub fn connect(choice: &Choice<'_>, network: &Network) -> Result<Connection, RegistryError> {
    let resolved = choose(choice)?;
    let mut model = one(&resolved, network);
    let mut unpriced = resolved.facts.prices.is_empty().then(|| resolved.model_id.clone());
    let mut secrets: Vec<String> = secret(&resolved).into_iter().collect();
    let fallback = match &network.fallback {
        Some(name) => Some(name.clone()),
        None => preferred::fallback(choice, &resolved)?,
    };
    if let Some(name) = fallback {
        let (provider, other) = split(&name, &resolved.provider, &choice.providers)?;
        let (provider, providers, models) = (Some(provider), choice.providers.clone(), choice.models.clone());
        let other =
            choose(&Choice { provider, model: other, preferred: Preferred::default(), providers, models, ..*choice })?;
        secrets.extend(secret(&other));
        let reads = other.provider == resolved.provider
            && (other.model_id == resolved.model_id || other.facts.thinking.reads(&resolved.model_id));
        unpriced = unpriced.or_else(|| other.facts.prices.is_empty().then(|| other.model_id.clone()));
        let model_of_other = one(&other, network);
        let other = Other { model: model_of_other, id: other.model_id, max_tokens: other.max_tokens, reads };
        model = Arc::new(Fallback::new(model, other));
    }
    model = match resolved.endpoint {
        Endpoint::Remote(..) => Arc::new(Retrying::from(model)),
        Endpoint::Mock(_) => model,
    };
    if let Some(path) = &network.replay {
        model =
            Arc::new(Replay::open(path, Pace::AtOnce).map_err(|fault| RegistryError::Recording(fault.to_string()))?);
    }
    if let Some(path) = &network.record {
        let recording = Recording::new(model, path, &secrets);
        model = Arc::new(recording.map_err(|fault| RegistryError::Recording(fault.to_string()))?);
    }
    let Resolved { provider, model_id, small_model, max_tokens, facts, unmet, .. } = resolved;
    Ok(Connection { model, provider, model_id, small_model, max_tokens, facts, unmet, unpriced })
}

/// One model, as it answers by itself.
fn one(resolved: &Resolved, network: &Network) -> Arc<dyn Model> {
    match &resolved.endpoint {
        Endpoint::Mock(config) => Arc::new(Mock::new(*config)),
        Endpoint::Remote(site, shape) => {
            let remote = Remote::new((**site).clone(), (**shape).clone(), network.http.clone());
            let priced = Priced::new(Arc::new(remote), resolved.facts.prices.clone());
            Arc::new(Watchdog::new(Arc::new(priced), network.limits))
        }
    }
}

/// The key with which a model is asked.
fn secret(resolved: &Resolved) -> Option<String> {
    match &resolved.endpoint {
        Endpoint::Remote(site, _) => match &site.auth {
            Auth::Key(Secret(key)) | Auth::Bearer(Secret(key)) => Some(key.clone()),
            Auth::Nothing => None,
        },
        Endpoint::Mock(_) => None,
    }
}
