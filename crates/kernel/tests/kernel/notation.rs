//! Owns a notation for events and messages, one line each, that leaves nothing out but times and most of `init`.
//! Must not judge: what is written here is what was said.

use kernel::Usage;
use kernel::{AgentEvent, Block, Message, ResultContent, Role};
use serde_json::Value;

/// The events as lines, adjacent pieces of one text merged.
pub fn lines(events: &[AgentEvent]) -> Vec<String> {
    let mut merged: Vec<AgentEvent> = Vec::new();
    for event in events {
        let joined = merged.last_mut().is_some_and(|last| join(last, event));
        if !joined {
            merged.push(event.clone());
        }
    }
    merged.iter().map(line).collect()
}

fn join(last: &mut AgentEvent, next: &AgentEvent) -> bool {
    match (last, next) {
        (AgentEvent::TextDelta { text }, AgentEvent::TextDelta { text: more })
        | (AgentEvent::ThinkingDelta { text }, AgentEvent::ThinkingDelta { text: more }) => {
            text.push_str(more);
            true
        }
        (AgentEvent::ToolProgress { id, text }, AgentEvent::ToolProgress { id: other, text: more }) if id == other => {
            text.push_str(more);
            true
        }
        (AgentEvent::Subagent { agent_id, event }, AgentEvent::Subagent { agent_id: other, event: more })
            if agent_id == other =>
        {
            join(event, more)
        }
        _ => false,
    }
}

/// One event.
pub fn line(event: &AgentEvent) -> String {
    match event {
        // Whole elsewhere: this much is what tells one agent from another.
        AgentEvent::Init(init) => format!("init {} of {}", init.mode, init.tools.len()),
        AgentEvent::User { message, origin } => format!("user {origin}: {}", content(message)),
        AgentEvent::TurnStart { turn } => format!("turn_start {turn}"),
        AgentEvent::TextDelta { text } => format!("text_delta {text:?}"),
        AgentEvent::ThinkingDelta { text } => format!("thinking_delta {text:?}"),
        AgentEvent::Assistant { message } => format!("assistant {}", content(message)),
        AgentEvent::ToolStart { id, name, input, parallel } => {
            format!("tool_start {id} {name} {input} {}", if *parallel { "∥" } else { "→" })
        }
        AgentEvent::ToolProgress { id, text } => format!("tool_progress {id} {text:?}"),
        AgentEvent::ToolResult { id, name, content, is_error, duration_ms: _, detail } => {
            let detail = if detail.is_null() { String::new() } else { format!(" {detail}") };
            format!("tool_result {id} {name} {}{detail}", result(content, *is_error))
        }
        AgentEvent::PermissionRequest { request_id, id, name, input, reason, suggestions } => {
            format!("permission_request {request_id} {id} {name} {input} {reason:?} {suggestions:?}")
        }
        AgentEvent::PermissionDenied { id, name, reason } => {
            format!("permission_denied {id} {name} {reason:?}")
        }
        AgentEvent::Retry { reason, attempt, delay_ms: _, void } => {
            format!("retry {attempt} {reason:?}{}", if *void { " void" } else { "" })
        }
        AgentEvent::Compact { kind, tokens_before, tokens_after } => {
            format!("compact {kind} {tokens_before} -> {tokens_after}")
        }
        AgentEvent::Usage { call, session } => {
            format!("usage {} of {}", cost(call), cost(session))
        }
        AgentEvent::Subagent { agent_id, event } => format!("{agent_id}> {}", line(event)),
        AgentEvent::Notice { source, level, text, data } => {
            let data = if data.is_null() { String::new() } else { format!(" {data}") };
            format!("notice {source} {} {text:?}{data}", json(level))
        }
        AgentEvent::Terminal { reason, messages } => {
            let messages = messages.as_ref().map(|list| format!(" of {}", list.len()));
            format!("terminal {}{}", json(reason), messages.unwrap_or_default())
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap().trim_matches('"').to_owned()
}

fn cost(cost: &Usage) -> String {
    let tokens = cost;
    let cached = tokens.cache_creation_input_tokens + tokens.cache_read_input_tokens;
    let price = cost.cost.map(|price| format!(" ${price}")).unwrap_or_default();
    format!("{}+{cached}/{}{price}", tokens.input_tokens, tokens.output_tokens)
}

/// A message with its role.
pub fn message(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    format!("{role}: {}", content(message))
}

/// The serialised messages of a request.
pub fn request(messages: &[String]) -> Vec<String> {
    messages.iter().map(|text| message(&serde_json::from_str(text).unwrap())).collect()
}

/// The blocks of a message.
pub fn content(message: &Message) -> String {
    let blocks: Vec<String> = message.content.iter().map(block).collect();
    blocks.join(" | ")
}

fn block(block: &Block) -> String {
    let more = |extra: &serde_json::Map<String, Value>| match extra.is_empty() {
        true => String::new(),
        false => format!(" {}", json(extra)),
    };
    match block {
        Block::Text { text, extra } => format!("{text:?}{}", more(extra)),
        Block::Thinking { thinking, signature, extra } => {
            format!("think {thinking:?} {}{}", signature.as_deref().unwrap_or("-"), more(extra))
        }
        Block::ToolUse { id, name, input, extra } => {
            format!("call {id} {name} {input}{}", more(extra))
        }
        Block::ToolResult { tool_use_id, content, is_error, .. } => {
            format!("result {tool_use_id} {}", result(content, *is_error))
        }
        Block::Other(value) => format!("other {value}"),
    }
}

fn result(content: &ResultContent, is_error: bool) -> String {
    let word = if is_error { "error" } else { "ok" };
    match content {
        ResultContent::Text(text) => format!("{word} {text:?}"),
        ResultContent::Blocks(blocks) => format!("{word} {}", json(blocks)),
    }
}

/// Compares lines with an expectation written one a line; indentation does not count.
#[track_caller]
pub fn expect(actual: &[String], expected: &str) {
    let wanted: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert!(actual == wanted, "\n--- got\n{}\n--- expected\n{}\n---", actual.join("\n"), wanted.join("\n"));
}
