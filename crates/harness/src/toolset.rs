//! Owns which of the tools a session has (`--tools`). Must not know what tools do.

use std::convert::Infallible;
use std::str::FromStr;

/// Which tools a session has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Toolset {
    /// All of them.
    #[default]
    Default,
    /// Those without which nothing can be done, and a prompt of a few lines: for small models on this
    /// machine, which read slowly.
    Minimal,
    /// These.
    Named(Vec<String>),
}

const MINIMAL: [&str; 2] = ["Read", "Bash"];

impl FromStr for Toolset {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.trim() {
            "default" => Self::Default,
            "minimal" => Self::Minimal,
            names => Self::Named(
                names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            ),
        })
    }
}

impl Toolset {
    /// Whether a tool is among them.
    pub fn has(&self, tool: &str) -> bool {
        match self {
            Self::Default => true,
            Self::Minimal => MINIMAL.contains(&tool),
            Self::Named(names) => names.iter().any(|name| name == tool),
        }
    }

    /// A name that is none of `known`.
    pub fn unknown<'a>(&'a self, known: &[String]) -> Option<&'a str> {
        match self {
            Self::Default | Self::Minimal => None,
            Self::Named(names) => names.iter().find(|name| !known.contains(name)).map(String::as_str),
        }
    }
}
