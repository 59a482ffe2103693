//! Owns what the process was given by its surroundings: variables, home folder, proxies.
//! Must not know what they are used for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use models::NetConfig;

/// The surroundings as data, read once at start. Tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Self {
        Self { variables: std::env::vars_os().collect() }
    }

    /// Surroundings of these variables alone.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect() }
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
    }
}
