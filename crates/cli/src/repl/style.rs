//! Owns colour: whether there is any, and which means what.

use std::io::IsTerminal;

use harness::Environment;

/// Wraps text in colour, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// Coloured on a terminal that can, unless `NO_COLOR` is set.
    pub fn of(environment: &Environment) -> Self {
        let dumb = environment.get("TERM").is_none_or(|term| term == "dumb");
        let refused = environment.get("NO_COLOR").is_some();
        Self { coloured: std::io::stdout().is_terminal() && !dumb && !refused }
    }

    /// Of less weight.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A tool.
    pub fn tool(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// A failure or a refusal.
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Something that wants an answer.
    pub fn ask(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self.coloured && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}
