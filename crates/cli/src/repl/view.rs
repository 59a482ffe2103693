//! Owns what events look like in a plain terminal: appended lines, never a repaint. Everything that
//! comes from a model or a tool is made harmless first. Must not know where events come from.

use std::collections::HashMap;
use std::io::{self, Write};

use harness::{Profile, Session};
use kernel::{AgentEvent, Level, TerminalReason, ToolUseId, Usage};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::repl::style::Style;
use crate::sanitize::sanitize;
use crate::terminal;
use crate::texts::{Texts, fill};

/// Lines of a tool's result that are shown.
const RESULT_LINES: usize = 3;

/// The screen, as far as this view knows it: whether the cursor stands at the start of a line.
pub struct View {
    /// What it says.
    pub texts: Texts,
    style: Style,
    at_start: bool,
    /// What running calls were started with.
    running: HashMap<ToolUseId, (&'static str, String)>,
    /// Tokens of the prompt so far.
    usage: Usage,
}

impl View {
    /// A view on standard output.
    pub fn new(texts: Texts, style: Style) -> Self {
        Self { texts, style, at_start: true, running: HashMap::new(), usage: Usage::default() }
    }

    /// What stands above the first prompt.
    pub fn welcome(&mut self, session: &Session, no_key: bool) -> anyhow::Result<()> {
        let (provider, model) = session.model();
        let line = fill(
            &self.texts.welcome,
            &[
                ("version", &env!("CARGO_PKG_VERSION")),
                ("provider", &provider),
                ("model", &model),
                ("mode", &session.mode()),
                ("cwd", &session.cwd().display()),
            ],
        );
        self.say(&line)?;
        if provider == "mock" && no_key {
            self.hint(&self.texts.mock_hint.clone())?;
        }
        self.hint(&self.texts.help_hint.clone())?;
        match session.sandbox() {
            off if off == Profile::Off.to_string() => self.hint(&self.texts.sandbox_hint.clone())?,
            level => self.hint(&fill(&self.texts.sandbox_is, &[("level", &level)]))?,
        }
        for notice in session.notices() {
            self.fault(notice)?;
        }
        Ok(())
    }

    /// A line of our own.
    pub fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.line(&sanitize(text))
    }

    /// A line of less weight.
    pub fn hint(&mut self, text: &str) -> anyhow::Result<()> {
        self.line(&self.style.dim(&sanitize(text)))
    }

    /// A line that says what went wrong.
    pub fn fault(&mut self, text: &str) -> anyhow::Result<()> {
        self.line(&self.style.bad(&sanitize(&self.texts.reason(text))))
    }

    /// Shows one event.
    pub fn show(&mut self, event: &AgentEvent) -> anyhow::Result<()> {
        self.show_at(event, "")
    }

    fn show_at(&mut self, event: &AgentEvent, indent: &str) -> anyhow::Result<()> {
        match event {
            AgentEvent::TextDelta { text } if indent.is_empty() => self.stream(text)?,
            AgentEvent::ToolStart { id, name, input, parallel } => {
                let sign = if *parallel { "∥" } else { "→" };
                let title = title(name, input);
                let line = clip(&format!("{indent}{sign} {title}"), terminal::width());
                self.line(&self.style.tool(&line))?;
                self.running.insert(id.clone(), (sign, title));
            }
            AgentEvent::ToolResult { id, name, content, is_error, duration_ms, .. } => {
                let (sign, title) = self.running.remove(id).unwrap_or_else(|| ("→", name.clone()));
                // Beside others it must be said whose result this is.
                let whose = if sign == "∥" { format!(" {sign} {title}") } else { String::new() };
                self.result(indent, &format!("{duration_ms} ms{whose}"), &content.text(), *is_error)?;
            }
            AgentEvent::PermissionRequest { name, input, reason, suggestions, .. } => {
                let reason = self.texts.reason(reason);
                self.question(name, input, &reason, suggestions)?;
            }
            AgentEvent::PermissionDenied { name, reason, .. } => {
                let text = fill(&self.texts.denied, &[("reason", &self.texts.reason(reason))]);
                self.fault(&format!("{indent}→ {name} {text}"))?;
            }
            AgentEvent::Retry { reason, attempt, delay_ms, void } => {
                let template = if *void { &self.texts.retry_void } else { &self.texts.retry };
                let seconds = format!("{:.1}", *delay_ms as f64 / 1000.0);
                let text = fill(template, &[("reason", reason), ("attempt", attempt), ("seconds", &seconds)]);
                self.hint(&format!("{indent}{text}"))?;
            }
            AgentEvent::Compact { tokens_before, tokens_after, .. } => {
                let text = fill(&self.texts.compacted, &[("before", tokens_before), ("after", tokens_after)]);
                self.hint(&format!("{indent}{text}"))?;
            }
            AgentEvent::Usage { call, .. } => self.usage += *call,
            AgentEvent::Subagent { event, .. } => self.show_at(event, &format!("{indent}  "))?,
            AgentEvent::Notice { level, text, .. } => {
                let text = format!("{indent}{}", self.texts.reason(text));
                match level {
                    Level::Info => self.hint(&text)?,
                    Level::Warning | Level::Error => self.fault(&text)?,
                }
            }
            AgentEvent::Terminal { reason, .. } if indent.is_empty() => self.close(*reason)?,
            AgentEvent::Init(_)
            | AgentEvent::User { .. }
            | AgentEvent::TurnStart { .. }
            | AgentEvent::TextDelta { .. }
            | AgentEvent::ThinkingDelta { .. }
            | AgentEvent::Assistant { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Terminal { .. } => {}
        }
        Ok(())
    }

    fn stream(&mut self, text: &str) -> anyhow::Result<()> {
        let text = sanitize(text);
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        if let Some(last) = text.chars().last() {
            self.at_start = last == '\n';
        }
        Ok(())
    }

    fn result(&mut self, indent: &str, head: &str, text: &str, failed: bool) -> anyhow::Result<()> {
        let width = terminal::width();
        self.hint(&clip(&format!("{indent}  ⎿ {head}"), width))?;
        let text = sanitize(text);
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(RESULT_LINES) {
            let line = clip(&format!("{indent}    {}", line.replace('\t', "  ")), width);
            self.line(&if failed { self.style.bad(&line) } else { self.style.dim(&line) })?;
        }
        if lines.len() > RESULT_LINES {
            let count = lines.len() - RESULT_LINES;
            let more = fill(&self.texts.more_lines, &[("count", &count)]);
            self.hint(&format!("{indent}    {more}"))?;
        }
        Ok(())
    }

    fn question(&mut self, name: &str, input: &Value, reason: &str, suggestions: &[String]) -> anyhow::Result<()> {
        let title = fill(&self.texts.ask_title, &[("tool", &name)]);
        self.line(&self.style.ask(&sanitize(&title)))?;
        // In full: a person must see all that they allow.
        for line in subject(input).lines() {
            self.say(&format!("    {line}"))?;
        }
        if input["dangerouslyDisableSandbox"] == true {
            self.fault(&format!("  {}", self.texts.ask_outside))?;
        }
        let reason = fill(&self.texts.ask_reason, &[("reason", &reason)]);
        self.hint(&format!("  {reason}"))?;
        if suggestions.is_empty() {
            return self.hint(&format!("  {}", self.texts.ask_choices));
        }
        let rules = fill(&self.texts.ask_rules, &[("rules", &suggestions.join(", "))]);
        self.hint(&format!("  {rules}"))?;
        self.hint(&format!("  {}", self.texts.ask_choices_always))
    }

    fn close(&mut self, reason: TerminalReason) -> anyhow::Result<()> {
        self.running.clear();
        let usage = std::mem::take(&mut self.usage);
        match reason {
            TerminalReason::Completed => {}
            TerminalReason::Aborted => self.hint(&self.texts.interrupted.clone())?,
            TerminalReason::MaxTurns => self.fault(&self.texts.max_turns.clone())?,
            TerminalReason::Budget => self.fault(&self.texts.budget.clone())?,
            TerminalReason::Refused => self.fault(&self.texts.refused.clone())?,
            TerminalReason::Error => self.fault(&self.texts.failed.clone())?,
        }
        if usage.total() > 0 {
            let input = usage.total() - usage.output_tokens;
            // What is not known is said once, by /usage.
            let cost = usage.cost.map(|cost| format!(" · {}", self.texts.cost(Some(cost)))).unwrap_or_default();
            let cached = usage.cache_read_input_tokens;
            let text = fill(
                &self.texts.turn_usage,
                &[("input", &input), ("cached", &cached), ("output", &usage.output_tokens), ("cost", &cost)],
            );
            self.hint(&text)?;
        }
        Ok(())
    }

    /// Writes whole lines, on lines of their own.
    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        if !self.at_start {
            out.write_all(b"\n")?;
        }
        out.write_all(text.trim_end_matches('\n').as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        self.at_start = true;
        Ok(())
    }
}

/// A call in one line: the tool and what it works on.
fn title(name: &str, input: &Value) -> String {
    let subject = sanitize(&subject(input));
    let first = subject.lines().next().unwrap_or("");
    format!("{} {first}", sanitize(name))
}

/// What a call works on: its command, file or task; else its whole input.
fn subject(input: &Value) -> String {
    ["command", "file_path", "description", "prompt"]
        .iter()
        .find_map(|field| input[field].as_str().map(str::to_owned))
        .unwrap_or_else(|| input.to_string())
}

/// The text cut to a number of columns; wide characters count two, and none is cut in half.
fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let mut out: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        assert_eq!(clip("你好世界", 8), "你好世界");
        assert_eq!(clip("你好世界", 7), "你好世…");
        assert_eq!(clip("你好世界", 6), "你好…");
        assert_eq!(clip("abc", 2), "a…");
    }
}
