//! Owns the talk in a terminal: a view that takes events and gives operations. Knows nothing of the
//! loop; a richer view can take its place.

mod commands;
mod input;
mod question;
mod style;
mod view;

use std::time::{Duration, Instant};

use futures::StreamExt;
use harness::{Environment, Session};
use kernel::{AgentEvent, Answer, EventStream};

use crate::exit::Exit;
use crate::repl::commands::Next;
use crate::repl::input::{Input, Line, Purpose};
use crate::repl::question::Reply;
use crate::repl::style::Style;
use crate::repl::view::View;
use crate::signals::{Signal, Signals};
use crate::terminal::Restore;
use crate::texts::Texts;

/// Two presses of Ctrl-C within this time leave.
const TWICE: Duration = Duration::from_secs(3);

struct Repl {
    session: Session,
    view: View,
    input: Input,
    signals: Signals,
}

/// Talks until the person leaves. `is_terminal` tells whether lines are edited or come from a pipe.
pub async fn run(
    session: Session,
    environment: &Environment,
    first: Option<String>,
    is_terminal: bool,
    signals: Signals,
) -> anyhow::Result<Exit> {
    let _restore = Restore::new();
    let texts = Texts::of(environment)?;
    let view = View::new(texts, Style::of(environment));
    let input = Input::start(is_terminal);
    let mut repl = Repl { session, view, input, signals };
    let keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "DEEPSEEK_API_KEY"];
    repl.view.welcome(&repl.session, environment.first(&keys).is_none())?;
    repl.talk(first).await
}

impl Repl {
    async fn talk(&mut self, first: Option<String>) -> anyhow::Result<Exit> {
        let mut next = first;
        let mut leaving: Option<Instant> = None;
        loop {
            let line = match next.take() {
                Some(text) => Line::Text(text),
                None => match self.read(&self.view.texts.prompt.clone(), Purpose::Prompt).await? {
                    Ok(line) => line,
                    Err(exit) => return Ok(exit),
                },
            };
            match line {
                Line::Text(text) => {
                    leaving = None;
                    if let Some(exit) = self.obey(text.trim()).await? {
                        return Ok(exit);
                    }
                }
                Line::Interrupted if leaving.is_some_and(|at| at.elapsed() < TWICE) => return self.leave(),
                Line::Interrupted => {
                    leaving = Some(Instant::now());
                    self.view.hint(&self.view.texts.leave_hint.clone())?;
                }
                Line::End => return self.leave(),
            }
        }
    }

    fn leave(&mut self) -> anyhow::Result<Exit> {
        self.view.hint(&self.view.texts.bye.clone())?;
        Ok(Exit::Success)
    }

    /// Reads a line; a signal to stop gives the exit instead.
    async fn read(&mut self, prompt: &str, purpose: Purpose) -> anyhow::Result<Result<Line, Exit>> {
        let signal = tokio::select! {
            line = self.input.read(prompt, purpose) => return Ok(Ok(line?)),
            signal = self.signals.next() => signal,
        };
        Ok(match signal {
            // The editor sees Ctrl-C as a key; this one came from outside, or to a pipe.
            Signal::Interrupt => Ok(Line::Interrupted),
            Signal::Terminate | Signal::HangUp => Err(signal.exit()),
        })
    }

    async fn obey(&mut self, text: &str) -> anyhow::Result<Option<Exit>> {
        if text.is_empty() {
            return Ok(None);
        }
        let events = if text.starts_with('/') {
            match commands::run(text, &mut self.session, &mut self.view)? {
                Next::Prompt => return Ok(None),
                Next::Leave => return self.leave().map(Some),
                Next::Watch(events) => events,
            }
        } else {
            self.session.prompt(text)
        };
        self.watch(events).await
    }

    /// Shows a turn to its end, asks what it asks, interrupts it on Ctrl-C.
    async fn watch(&mut self, mut events: EventStream) -> anyhow::Result<Option<Exit>> {
        let mut interrupted = false;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                signal = self.signals.next() => {
                    if interrupted || signal != Signal::Interrupt {
                        return Ok(Some(signal.exit()));
                    }
                    interrupted = true;
                    self.session.interrupter().cancel();
                    self.view.hint(&self.view.texts.interrupting.clone())?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok(None) };
            self.view.show(&event)?;
            if let Some((request_id, suggestions)) = asked(&event)
                && !interrupted
            {
                let reply = match self.read(&self.view.texts.ask_prompt.clone(), Purpose::Answer).await? {
                    Err(exit) => return Ok(Some(exit)),
                    Ok(Line::Text(text)) => question::read(&text, !suggestions.is_empty()),
                    Ok(Line::End) => Reply::No(Some("no answer: the input ended".into())),
                    Ok(Line::Interrupted) => {
                        interrupted = true;
                        self.session.interrupter().cancel();
                        continue;
                    }
                };
                match reply {
                    Reply::Once => self.session.answer(request_id, Answer::Once),
                    Reply::Always => self.session.always(request_id, suggestions),
                    Reply::No(reason) => self.session.answer(request_id, Answer::No(reason)),
                };
            }
        }
    }
}

/// The question in an event, however deep the agent that asks, and the rules that it shows.
fn asked(event: &AgentEvent) -> Option<(&str, &[String])> {
    match event {
        AgentEvent::PermissionRequest { request_id, suggestions, .. } => Some((request_id, suggestions)),
        AgentEvent::Subagent { event, .. } => asked(event),
        _ => None,
    }
}
