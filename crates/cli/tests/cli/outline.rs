//! Owns the short form of an event stream that tests compare: one line an event, with what decides
//! order, permission and pairing, and without what changes from run to run.

use serde_json::Value;

/// The outline. Neighbouring deltas are one line, since they merge under pressure.
pub fn of(events: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in events.iter().filter_map(line) {
        let is_delta = line.ends_with("text …") || line.ends_with("progress …");
        if !(is_delta && lines.last() == Some(&line)) {
            lines.push(line);
        }
    }
    lines
}

fn line(event: &Value) -> Option<String> {
    let text = |field: &str| event[field].as_str().unwrap_or("?").to_owned();
    let kind = text("type");
    Some(match kind.as_str() {
        "init" => {
            let tools: Vec<&str> = event["tools"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
            format!("init {} {}", text("mode"), tools.join(","))
        }
        "user" => format!("user {}: {}", text("origin"), said(&event["message"])),
        "turn_start" => format!("turn {}", event["turn"]),
        "text_delta" => "text …".to_owned(),
        "assistant" => format!("assistant {}", blocks(&event["message"])),
        "tool_start" => {
            let sign = if event["parallel"] == true { "∥" } else { "→" };
            format!("{sign} {} {}", text("name"), text("id"))
        }
        "tool_progress" => "progress …".to_owned(),
        "tool_result" => {
            let word = if event["is_error"] == true { "failed" } else { "ok" };
            format!("result {} {} {word}", text("name"), text("id"))
        }
        "permission_request" => format!("ask {} {}", text("name"), text("reason")),
        "permission_denied" => format!("denied {} {}", text("name"), text("reason")),
        "retry" => format!("retry {} void={}", event["attempt"], event["void"]),
        "compact" => {
            assert!(event["tokensBefore"].as_u64() > event["tokensAfter"].as_u64(), "a summary must shrink: {event}");
            format!("⧉ {}", text("kind"))
        }
        "usage" => "usage".to_owned(),
        "subagent" => format!("| {}", line(&event["event"])?),
        "notice" => format!("notice {} {}", text("level"), text("text")),
        "terminal" => format!("terminal {}", text("reason")),
        _ => panic!("an event that is not in the table: {event}"),
    })
}

fn blocks(message: &Value) -> String {
    let shown = message["content"].as_array().unwrap().iter().map(|block| match block["type"].as_str() {
        Some("tool_use") => format!("{}({})", block["name"].as_str().unwrap(), block["input"]),
        Some(kind) => kind.to_owned(),
        None => "?".to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn said(message: &Value) -> String {
    let texts = message["content"].as_array().unwrap().iter();
    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(" / ")
}
