//! Owns what people set of the sandbox: the keys and their shapes. Must not know what they lead to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Profile, Unavailable};

/// `sandbox`: the keys of Claude Code, and `profile`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct SandboxSettings {
    /// Whether commands run in a sandbox; `workspace-write` unless `profile` says otherwise.
    pub enabled: Option<bool>,
    /// Which one: `off`, `read-only` or `workspace-write`.
    pub profile: Option<String>,
    /// Whether what runs inside needs no permission. Not unless it is said.
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    /// Patterns of commands that run outside, as in rules: `docker *`.
    pub excluded_commands: Vec<String>,
    /// Whether a person may let a command run outside; they may unless it is said.
    pub allow_unsandboxed_commands: Option<bool>,
    /// What may be reached.
    pub network: NetworkSettings,
    /// What may be touched.
    pub filesystem: FilesystemSettings,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: BTreeMap<String, Value>,
}

/// `sandbox.network`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct NetworkSettings {
    /// Hosts by name, `*.` before one for all below it; `*` is all of the network.
    pub allowed_domains: Vec<String>,
    /// Whether commands may use Unix sockets, and so whatever listens there.
    pub allow_all_unix_sockets: Option<bool>,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: BTreeMap<String, Value>,
}

/// `sandbox.filesystem`: paths, absolute, from `~/`, or from the working folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct FilesystemSettings {
    /// May be written beside the workspace.
    pub allow_write: Vec<String>,
    /// May not be written all the same.
    pub deny_write: Vec<String>,
    /// May not be read.
    pub deny_read: Vec<String>,
    /// May be read all the same.
    pub allow_read: Vec<String>,
    /// What else stands there.
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: BTreeMap<String, Value>,
}

impl SandboxSettings {
    /// Keys that mean nothing to this version.
    pub fn unknown_keys(&self) -> Vec<String> {
        let own = self.unknown.keys().map(|key| format!("sandbox.{key}"));
        let network = self.network.unknown.keys().map(|key| format!("sandbox.network.{key}"));
        let filesystem = self.filesystem.unknown.keys().map(|key| format!("sandbox.filesystem.{key}"));
        own.chain(network).chain(filesystem).collect()
    }

    /// The profile that the settings ask for.
    pub fn profile(&self) -> Result<Profile, Unavailable> {
        let profile = match (&self.profile, self.enabled) {
            (_, Some(false)) | (None, None) => Ok(Profile::Off),
            (Some(name), _) => name.parse(),
            (None, Some(true)) => Ok(Profile::WorkspaceWrite),
        };
        let remedy = "Correct `sandbox.profile` in the settings file".to_owned();
        profile.map_err(|reason| Unavailable { reason, remedy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> SandboxSettings {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_profile_follows_from_the_settings() {
        for (text, profile) in [
            ("{}", Profile::Off),
            (r#"{"enabled": true}"#, Profile::WorkspaceWrite),
            (r#"{"enabled": true, "profile": "read-only"}"#, Profile::ReadOnly),
            (r#"{"profile": "read-only"}"#, Profile::ReadOnly),
            (r#"{"enabled": false, "profile": "read-only"}"#, Profile::Off),
        ] {
            assert_eq!(settings(text).profile(), Ok(profile), "{text}");
        }
        let fault = settings(r#"{"profile": "loose"}"#).profile().unwrap_err();
        assert_eq!(fault.reason, "unknown sandbox profile `loose`; use off, read-only, workspace-write");
    }
}
