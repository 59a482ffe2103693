//! Ties settings to what a session is opened with: they stand where no flag does, and those of whoever
//! manages the machine go before flags. Must not know conversations.

use kernel::Mode;

use crate::connect::split;
use crate::session::{SessionConfig, SessionError, resolve};
use crate::settings::Effective;

/// A mode that is switched off is refused where it was asked for.
pub(crate) fn may_use(mode: Mode, settings: &Effective) -> Result<(), SessionError> {
    let key = ["permissions", "disableBypassPermissionsMode"];
    match settings.source_of(&key) {
        Some((_, path)) if mode == Mode::BypassPermissions => Err(SessionError::Mode { mode, path: path.into() }),
        _ => Ok(()),
    }
}

/// Lets settings stand where no flag does; what whoever manages the machine has set goes before flags.
/// Gives what a person should know.
pub(crate) fn apply(config: &mut SessionConfig, settings: &Effective) -> Result<Vec<String>, SessionError> {
    let mut notices = Vec::new();
    let own = &settings.settings;
    if let Some(name) = own.model.as_ref().filter(|_| settings.is_managed(&["model"])) {
        let (provider, model) = split(own, name, "")?;
        config.provider = Some(provider).filter(|provider| !provider.is_empty()).or(config.provider.take());
        config.model = model;
    }
    if settings.is_managed(&["fallbackModel"]) {
        config.fallback_model = own.fallback_model.first().cloned();
    }
    if settings.is_managed(&["effortLevel"]) {
        config.effort = own.effort_level;
    }
    if settings.is_managed(&["alwaysThinkingEnabled"]) {
        config.thinking = own.always_thinking_enabled;
    }
    match config.mode {
        Some(mode) => may_use(mode, settings)?,
        None => {
            let mode = own.permissions.mode().unwrap_or_default();
            match may_use(mode, settings) {
                Ok(()) => config.mode = Some(mode),
                Err(fault) => notices.push(fault.to_string()),
            }
        }
    }
    for text in &own.permissions.additional_directories {
        let path = match (text.strip_prefix("~/"), config.environment.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => config.cwd.join(text),
        };
        // A folder that has gone since it was set is no reason to stop.
        match resolve(&path) {
            Ok(path) if config.add_dirs.contains(&path) => {}
            Ok(path) => config.add_dirs.push(path),
            Err(fault) => notices.push(format!("permissions.additionalDirectories: {fault}")),
        }
    }
    Ok(notices)
}
