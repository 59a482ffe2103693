//! Owns what becomes of a model that settings name: files are shared between people and programs, so
//! it may be one that the provider at hand does not have. Must not know flags or variables.

use super::providers::Provider;
use super::{Choice, LAST_RESORT, RegistryError, Resolved, merged, split};

/// What settings prefer; flags and variables go before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preferred {
    /// The provider.
    pub provider: Option<String>,
    /// The model: its id, or a word of it that is enough (`opus`).
    pub model: Option<String>,
    /// Who answers when the model cannot, as `MODEL` or `PROVIDER/MODEL`.
    pub fallback: Option<String>,
}

/// Names that leave the choice to Claude Code.
const LEFT: [&str; 3] = ["default", "opusplan", "best"];

impl Preferred {
    /// The id of the preferred model at a provider; `None` where it is another provider's.
    pub(super) fn at(&self, provider: &Provider, all: &[Provider]) -> Option<String> {
        let name = self.model.as_deref()?.trim();
        let name = name.strip_suffix("[1m]").unwrap_or(name);
        let left_out = name.is_empty() || LEFT.contains(&name) || provider.name == LAST_RESORT;
        if left_out || self.provider.as_ref().is_some_and(|own| *own != provider.name) {
            return None;
        }
        if let Some(id) = find(provider, name) {
            return Some(id.to_owned());
        }
        let others: Vec<&str> = all.iter().filter_map(|other| find(other, name)).collect();
        // Of a provider whose models are not listed, any id may be one; a word is no id.
        let foreign =
            if provider.models.is_empty() { !others.is_empty() && !others.contains(&name) } else { !others.is_empty() };
        (self.provider.is_some() || !foreign).then(|| name.to_owned())
    }
}

/// The fallback that settings prefer, as `PROVIDER/MODEL`; `None` where it is no other model than the one
/// that is asked, or one that its provider does not have.
pub(super) fn fallback(choice: &Choice<'_>, asked: &Resolved) -> Result<Option<String>, RegistryError> {
    let Some(name) = &choice.preferred.fallback else { return Ok(None) };
    let all = merged(&choice.providers)?;
    let (provider, model) = split(name, &asked.provider, &choice.providers)?;
    let Some(row) = all.iter().find(|row| row.name == provider) else { return Ok(None) };
    let own = (provider != asked.provider).then_some(provider);
    let model = match model {
        Some(_) => Preferred { provider: own, model, fallback: None }.at(row, &all),
        None => own.and(Some(row.model.clone())),
    };
    let other = model.filter(|model| row.name != asked.provider || *model != asked.model_id);
    Ok(other.map(|model| format!("{}/{model}", row.name)))
}

fn find<'a>(provider: &'a Provider, name: &str) -> Option<&'a str> {
    let models = provider.models.iter().map(String::as_str);
    let word = |id: &str| id.split('-').any(|part| part == name);
    models.clone().find(|id| *id == name).or_else(|| models.clone().find(|id| word(id)))
}

#[cfg(test)]
mod tests {
    use super::super::providers::providers;
    use super::*;

    #[test]
    fn a_model_of_settings_holds_where_it_is_one() {
        let mut all = providers();
        all.push(Provider { name: "work".into(), ..Provider::default() });
        let at = |own: Option<&str>, model: &str, provider: &str| {
            let preferred = Preferred { provider: own.map(str::to_owned), model: Some(model.into()), fallback: None };
            preferred.at(all.iter().find(|one| one.name == provider).unwrap(), &all)
        };
        for (own, model, provider, expected) in [
            (None, "opus", "anthropic", Some("claude-opus-5-5")),
            (None, "sonnet[1m]", "anthropic", Some("claude-sonnet-5-5")),
            (None, "claude-next", "anthropic", Some("claude-next")),
            (None, "claude-opus-5-5", "deepseek", None),
            (None, "opus", "deepseek", None),
            (None, "opus", "work", None),
            (None, "claude-opus-5-5", "work", Some("claude-opus-5-5")),
            (None, "default", "anthropic", None),
            (None, "claude-opus-5-5", "mock", None),
            (Some("deepseek"), "deepseek-v4-pro", "deepseek", Some("deepseek-v4-pro")),
            (Some("deepseek"), "deepseek-v4-pro", "anthropic", None),
        ] {
            assert_eq!(at(own, model, provider).as_deref(), expected, "{own:?} {model} {provider}");
        }
    }
}
