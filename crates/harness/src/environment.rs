//! Owns what the process was given by its surroundings: variables, home folder, proxies, and where
//! whoever runs the machine keeps settings. Must not know what they are used for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use models::NetConfig;

/// The surroundings as data, read once at start. Tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    managed: Vec<PathBuf>,
}

/// Where managed settings are, the less important folder first. No variable says so: it would let
/// whoever starts the program choose who manages it.
const MANAGED: [&str; 2] = [CLAUDE_MANAGED, "/etc/rsagent"];
#[cfg(target_os = "macos")]
const CLAUDE_MANAGED: &str = "/Library/Application Support/ClaudeCode";
#[cfg(not(target_os = "macos"))]
const CLAUDE_MANAGED: &str = "/etc/claude-code";

/// Variables that say where settings are, and so cannot be set by them.
const FIXED: [&str; 3] = ["HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR"];

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Self {
        Self { variables: std::env::vars_os().collect(), managed: MANAGED.map(PathBuf::from).to_vec() }
    }

    /// Surroundings of these variables alone, on a machine that nobody manages.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), managed: Vec::new() }
    }

    /// The same with folders of managed settings, the less important first.
    pub fn with_managed(self, managed: Vec<PathBuf>) -> Self {
        Self { managed, ..self }
    }

    /// The same with variables that settings give; those stay that say where settings are.
    pub fn with<'a>(&self, variables: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let mut all = self.clone();
        let given = variables.into_iter().filter(|(name, _)| !FIXED.contains(&name.as_str()));
        all.variables.extend(given.map(|(name, value)| (name.into(), value.into())));
        all
    }

    /// A variable that is set, not empty and valid UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(std::ffi::OsStr::new(name))?;
        value.to_str().filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set, with its name.
    pub fn first<'a>(&self, names: &[&'a str]) -> Option<(&'a str, &str)> {
        names.iter().find_map(|name| self.get(name).map(|value| (*name, value)))
    }

    /// All variables, for child processes.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.first(&["HOME", "USERPROFILE"]).map(|(_, path)| PathBuf::from(path))
    }

    /// The folder of the user's own settings: `~/.rsagent`.
    pub fn settings_folder(&self) -> Option<PathBuf> {
        self.home().map(|home| home.join(".rsagent"))
    }

    /// The user's folder of Claude Code, whose settings are read as well.
    pub fn claude_folder(&self) -> Option<PathBuf> {
        let named = self.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        named.or_else(|| self.home().map(|home| home.join(".claude")))
    }

    /// Folders of managed settings, the less important first.
    pub fn managed_folders(&self) -> &[PathBuf] {
        &self.managed
    }

    /// Proxies and extra certificates.
    pub fn network(&self) -> NetConfig {
        let either = |upper: &str, lower: &str| self.get(upper).or_else(|| self.get(lower)).map(str::to_owned);
        let files = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];
        NetConfig {
            https_proxy: either("HTTPS_PROXY", "https_proxy"),
            http_proxy: either("HTTP_PROXY", "http_proxy"),
            no_proxy: either("NO_PROXY", "no_proxy"),
            ca_files: files.iter().filter_map(|name| self.get(name)).map(PathBuf::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variables_count_as_unset() {
        let environment =
            Environment::of([("A".into(), "".into()), ("B".into(), "b".into()), ("HOME".into(), "/h".into())]);
        assert_eq!(environment.get("A"), None);
        assert_eq!(environment.first(&["A", "B"]), Some(("B", "b")));
        assert_eq!(environment.settings_folder(), Some(PathBuf::from("/h/.rsagent")));
        assert_eq!(environment.claude_folder(), Some(PathBuf::from("/h/.claude")));
    }

    #[test]
    fn settings_give_variables_but_do_not_move_the_home_folder() {
        let of = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let given = BTreeMap::from([("HOME".to_owned(), "/x".to_owned()), ("A".to_owned(), "2".to_owned())]);
        let environment = Environment::of([of("HOME", "/h"), of("A", "1")]).with(&given);
        assert_eq!(environment.variables(), [of("A", "2"), of("HOME", "/h")]);
    }
}
