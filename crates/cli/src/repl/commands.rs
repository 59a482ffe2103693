//! Owns the slash commands. Each is one operation on the session and a line to say so.

use harness::Session;
use kernel::EventStream;

use crate::args::mode;
use crate::repl::view::View;
use crate::texts::fill;

/// What follows a command.
pub enum Next {
    /// The next line.
    Prompt,
    /// These events.
    Watch(EventStream),
    /// The end.
    Leave,
}

/// Runs a line that starts with a slash.
pub fn run(line: &str, session: &mut Session, view: &mut View) -> anyhow::Result<Next> {
    let (command, argument) = match line.split_once(char::is_whitespace) {
        Some((command, argument)) => (command, argument.trim()),
        None => (line, ""),
    };
    match (command, argument) {
        ("/help", _) => view.say(&view.texts.help.clone())?,
        ("/clear", _) => {
            session.clear();
            view.say(&view.texts.cleared.clone())?;
        }
        ("/compact", _) => return Ok(Next::Watch(session.compact())),
        ("/mode", "") => show_mode(session, view)?,
        ("/mode", name) => match mode(name) {
            Ok(mode) => match session.set_mode(mode) {
                Ok(()) => show_mode(session, view)?,
                Err(fault) => view.fault(&fault.to_string())?,
            },
            Err(fault) => view.fault(&fault)?,
        },
        ("/model", "") => show_model(session, view)?,
        ("/model", name) => match session.set_model(name) {
            Ok(notices) => {
                show_model(session, view)?;
                for notice in notices {
                    view.fault(&notice)?;
                }
            }
            Err(fault) => view.fault(&fault.to_string())?,
        },
        ("/sandbox", "") => show_sandbox(session, view)?,
        ("/sandbox", name) => match name.parse().map(|profile| session.set_sandbox(profile)) {
            Ok(Ok(notices)) => {
                show_sandbox(session, view)?;
                for notice in notices {
                    view.fault(&notice)?;
                }
            }
            Ok(Err(fault)) => view.fault(&fault.to_string())?,
            Err(fault) => view.fault(&fault)?,
        },
        ("/usage", _) => {
            let usage = session.usage();
            let input = usage.total() - usage.output_tokens;
            let cost = view.texts.cost(usage.cost);
            view.say(&fill(
                &view.texts.usage_is,
                &[
                    ("cost", &cost),
                    ("input", &input),
                    ("cached", &usage.cache_read_input_tokens),
                    ("written", &usage.cache_creation_input_tokens),
                    ("output", &usage.output_tokens),
                ],
            ))?;
        }
        ("/system", _) => view.say(&session.system())?,
        ("/exit" | "/quit", _) => return Ok(Next::Leave),
        (unknown, _) => {
            view.fault(&fill(&view.texts.unknown_command, &[("command", &unknown)]))?;
        }
    }
    Ok(Next::Prompt)
}

fn show_mode(session: &Session, view: &mut View) -> anyhow::Result<()> {
    view.say(&fill(&view.texts.mode_is, &[("mode", &session.mode())]))
}

fn show_sandbox(session: &Session, view: &mut View) -> anyhow::Result<()> {
    view.say(&fill(&view.texts.sandbox_is, &[("level", &session.sandbox())]))
}

fn show_model(session: &Session, view: &mut View) -> anyhow::Result<()> {
    let (provider, model) = session.model();
    view.say(&fill(&view.texts.model_is, &[("provider", &provider), ("model", &model)]))
}
