//! Owns `rsagent providers`: a line for each provider. Must not know how they are asked.

use std::io::{self, Write};

use harness::keys::Keys;
use harness::{Environment, Presence, Surveyed, survey};
use unicode_width::UnicodeWidthStr;

use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::texts::{Texts, fill};

/// Asks those that are set up for their models, and lists all.
pub fn run(environment: &Environment) -> anyhow::Result<Exit> {
    let texts = Texts::of(environment)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let surveyed = runtime.block_on(survey(environment))?;
    if let Err(fault) = Keys::read(environment) {
        writeln!(io::stderr(), "rsagent: {}", sanitize(&fault.to_string()))?;
    }
    let rows: Vec<[String; 3]> = surveyed.iter().map(|surveyed| row(&texts, surveyed)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1)];
    let mut out = io::stdout().lock();
    for [name, model, state] in &rows {
        let pad = |text: &str, width: usize| " ".repeat(width - text.width() + 2);
        writeln!(out, "{name}{}{model}{}{state}", pad(name, widths[0]), pad(model, widths[1]))?;
    }
    Ok(Exit::Success)
}

fn row(texts: &Texts, surveyed: &Surveyed) -> [String; 3] {
    let model = surveyed.model.as_deref().unwrap_or(&texts.provider_no_model);
    let state = match &surveyed.presence {
        Presence::Ready => texts.provider_ready.clone(),
        Presence::Reachable(count) => fill(&texts.provider_reachable, &[("count", count)]),
        Presence::Failed(fault) => fill(&texts.provider_failed, &[("fault", fault)]),
        Presence::NoKey(variable) => {
            fill(&texts.provider_no_key, &[("variable", variable), ("provider", &surveyed.name)])
        }
        Presence::Unset(fault) => fill(&texts.provider_unset, &[("fault", fault)]),
    };
    [&surveyed.name, model, &state].map(sanitize)
}
