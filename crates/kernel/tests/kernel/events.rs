//! Owns the shapes of events on the wire: the table that consumers are written against.

use std::sync::Arc;

use kernel::event::Init;
use kernel::{AgentEvent, Block, Level, Message, Mode, ResultContent, Role, TerminalReason, ToolUseId, Usage};
use serde_json::{Value, json};

#[test]
fn every_event_has_the_shape_of_the_table_and_reads_back() {
    let id = || ToolUseId("a".into());
    let message = |role, text: &str| Arc::new(Message::new(role, vec![Block::text(text)]));
    let tokens = Usage {
        input_tokens: 1,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        output_tokens: 4,
        ..Usage::default()
    };
    let table: Vec<(AgentEvent, Value)> = vec![
        (
            AgentEvent::Init(Init {
                session_id: "s".into(),
                model: "m".into(),
                provider: "p".into(),
                mode: Mode::AcceptEdits,
                tools: vec!["Read".into()],
                cwd: "/w".into(),
                sandbox: "none".into(),
            }),
            json!({"type": "init", "session_id": "s", "model": "m", "provider": "p",
                   "mode": "acceptEdits", "tools": ["Read"], "cwd": "/w", "sandbox": "none"}),
        ),
        (
            AgentEvent::User { message: message(Role::User, "hi"), origin: "person".into() },
            json!({"type": "user", "origin": "person",
                   "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}}),
        ),
        (AgentEvent::TurnStart { turn: 1 }, json!({"type": "turn_start", "turn": 1})),
        (AgentEvent::TextDelta { text: "t".into() }, json!({"type": "text_delta", "text": "t"})),
        (AgentEvent::ThinkingDelta { text: "t".into() }, json!({"type": "thinking_delta", "text": "t"})),
        (
            AgentEvent::Assistant { message: message(Role::Assistant, "yes") },
            json!({"type": "assistant",
                   "message": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}}),
        ),
        (
            AgentEvent::ToolStart { id: id(), name: "Read".into(), input: json!({"z": 1, "a": 2}), parallel: true },
            json!({"type": "tool_start", "id": "a", "name": "Read", "input": {"z": 1, "a": 2},
                   "parallel": true}),
        ),
        (
            AgentEvent::ToolProgress { id: id(), text: "t".into() },
            json!({"type": "tool_progress", "id": "a", "text": "t"}),
        ),
        (
            AgentEvent::ToolResult {
                id: id(),
                name: "Read".into(),
                content: ResultContent::Text("t".into()),
                is_error: true,
                duration_ms: 5,
                detail: Value::Null,
            },
            json!({"type": "tool_result", "id": "a", "name": "Read", "content": "t",
                   "is_error": true, "durationMs": 5, "detail": null}),
        ),
        (
            AgentEvent::PermissionRequest {
                request_id: "q1".into(),
                id: id(),
                name: "Bash".into(),
                input: json!({}),
                reason: "r".into(),
                suggestions: vec!["Bash(ls)".into()],
            },
            json!({"type": "permission_request", "request_id": "q1", "id": "a", "name": "Bash",
                   "input": {}, "reason": "r", "suggestions": ["Bash(ls)"]}),
        ),
        (
            AgentEvent::PermissionDenied { id: id(), name: "Bash".into(), reason: "r".into() },
            json!({"type": "permission_denied", "id": "a", "name": "Bash", "reason": "r"}),
        ),
        (
            AgentEvent::Retry { reason: "r".into(), attempt: 1, delay_ms: 2, void: true },
            json!({"type": "retry", "reason": "r", "attempt": 1, "delayMs": 2, "void": true}),
        ),
        (
            AgentEvent::Compact { kind: "auto".into(), tokens_before: 2, tokens_after: 1 },
            json!({"type": "compact", "kind": "auto", "tokensBefore": 2, "tokensAfter": 1}),
        ),
        (
            AgentEvent::Usage { call: Usage { cost: Some(0.5), ..tokens }, session: Usage::default() },
            json!({"type": "usage",
                   "call": {"input_tokens": 1, "cache_creation_input_tokens": 2,
                            "cache_read_input_tokens": 3, "output_tokens": 4, "cost": 0.5},
                   "session": {"input_tokens": 0, "cache_creation_input_tokens": 0,
                               "cache_read_input_tokens": 0, "output_tokens": 0, "cost": null}}),
        ),
        (
            AgentEvent::Subagent { agent_id: "a".into(), event: Box::new(AgentEvent::TurnStart { turn: 2 }) },
            json!({"type": "subagent", "agent_id": "a", "event": {"type": "turn_start", "turn": 2}}),
        ),
        (
            AgentEvent::notice("s", Level::Warning, "t"),
            json!({"type": "notice", "source": "s", "level": "warning", "text": "t", "data": null}),
        ),
        (
            AgentEvent::Terminal { reason: TerminalReason::MaxTurns, messages: None },
            json!({"type": "terminal", "reason": "max_turns"}),
        ),
        (
            AgentEvent::Terminal {
                reason: TerminalReason::Completed,
                messages: Some(Arc::new(vec![message(Role::User, "hi")])),
            },
            json!({"type": "terminal", "reason": "completed",
                   "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}),
        ),
    ];
    for (event, shape) in table {
        assert_eq!(serde_json::to_value(&event).unwrap(), shape);
        assert_eq!(serde_json::from_value::<AgentEvent>(shape).unwrap(), event);
    }
}

#[test]
fn every_reason_has_its_name() {
    let reasons = [
        TerminalReason::Completed,
        TerminalReason::MaxTurns,
        TerminalReason::Aborted,
        TerminalReason::Error,
        TerminalReason::Budget,
        TerminalReason::Refused,
    ];
    assert_eq!(
        serde_json::to_value(reasons).unwrap(),
        json!(["completed", "max_turns", "aborted", "error", "budget", "refused"])
    );
}
