//! Known failures at the stream of an answer, each by the id of its case, fed with the bytes of the case.
//!
//! Policy: a call counts when its answer is whole, and not when its block ends; an answer that breaks
//! is void as a whole, whatever blocks it had.

use futures::StreamExt;
use kernel::{
    AgentEvent, Block, Conversation, ErrorKind, Message, ModelEvent, SharedConversation, StopReason, Usage, query,
};
use models::anthropic::body;
use models::table::{Table, cost};
use serde_json::{Value, json};

use crate::decoding::{EVENTS, blocks, blocks_of_case, case, decode_reads};
use crate::server::{Reply, Server};
use crate::support::{
    assistant, block, call, delta, message, model_at, params, plain, prefix, request, says, sse, start, stop, text,
};

#[test]
fn stream_interleaved_index_429840() {
    let (events, fault) = case("stream-interleaved-index-429840");
    assert_eq!(fault, None);
    let usage = |output_tokens| ModelEvent::Usage(Usage { input_tokens: 12, output_tokens, ..Usage::default() });
    let expected = [
        usage(1),
        ModelEvent::TextDelta("A".into()),
        ModelEvent::InputDelta,
        ModelEvent::TextDelta("B".into()),
        ModelEvent::InputDelta,
        // The call was whole before the text; the order of the content is that of the indices.
        ModelEvent::Block(Block::text("AB")),
        ModelEvent::Block(call("toolu_i1", "Read", json!({"path": "c"}))),
        usage(5),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!(events, expected);
}

#[test]
fn stream_midstream_error_1d8272() {
    let (events, fault) = case("stream-midstream-error-1d8272");
    let fault = fault.unwrap();
    assert_eq!(fault.kind, ErrorKind::Overloaded(None));
    assert_eq!(fault.message, "anthropic (models.test) is overloaded or broken (500 api_error: internal)");
    // No stop: the loop runs nothing of it and asks again (the binary's test of the same name).
    let ran = call("toolu_e1", "Bash", json!({"command": "touch ran.flag"}));
    assert_eq!(events.last(), Some(&ModelEvent::Block(ran)));
}

#[test]
fn stream_midstream_error_5c448d() {
    let (events, fault) = case("stream-midstream-error-5c448d");
    assert_eq!(events, []);
    let fault = fault.unwrap();
    assert_eq!(fault.kind, ErrorKind::RateLimited(None));
    let text = "anthropic (models.test) limits how often it is called (429 rate_limit_error: slow down)";
    assert_eq!(fault.message, text);
}

/// The types of errors are classified like the statuses that they come with over HTTP.
#[test]
fn every_type_of_error_in_a_stream_is_its_status() {
    let table = [
        ("invalid_request_error", ErrorKind::Invalid),
        ("authentication_error", ErrorKind::Auth),
        ("billing_error", ErrorKind::Billing),
        ("permission_error", ErrorKind::Auth),
        ("not_found_error", ErrorKind::NotFound),
        ("request_too_large", ErrorKind::TooLarge),
        ("rate_limit_error", ErrorKind::RateLimited(None)),
        ("api_error", ErrorKind::Overloaded(None)),
        ("timeout_error", ErrorKind::Overloaded(None)),
        ("overloaded_error", ErrorKind::Overloaded(None)),
        ("later_error", ErrorKind::Overloaded(None)),
    ];
    for (kind, expected) in table {
        let error = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        for before in [vec![], vec![start(), block(0, json!({"type": "text", "text": "a"}))]] {
            let body = sse(&[before, vec![error.clone()]].concat());
            assert_eq!(crate::decoding::fault(&body).kind, expected, "{kind}");
        }
    }
}

#[test]
fn stream_unknown_event_2da51d() {
    let expected = vec![Block::Other(json!({"type": "fallback", "from": "m1"})), Block::text("ok")];
    assert_eq!(blocks_of_case("stream-unknown-event-2da51d"), (expected, StopReason::EndTurn));
}

#[test]
fn stream_usage_2dbd19() {
    let (events, _) = case("stream-usage-2dbd19");
    let usage = events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    let expected = Usage {
        input_tokens: 3,
        cache_creation_input_tokens: 5000,
        ephemeral_1h_input_tokens: 5000,
        output_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(usage, Some(expected));
    let facts = Table::built_in().facts("claude-sonnet-5-5").unwrap();
    let price = &facts.prices[0];
    let dollars = ((3.0 + 2.0 * 5000.0) * price.input + 5.0 * price.output) / 1e6;
    assert_eq!(cost(&facts.prices, &expected), Some(dollars));
}

fn sent(content: Vec<Block>) -> String {
    let messages = vec![Message::user("go"), assistant(content)];
    String::from_utf8(body(&request(messages), &plain())).unwrap()
}

#[test]
fn stream_redacted_thinking_54d7fd() {
    let (content, stop) = blocks_of_case("stream-redacted-thinking-54d7fd");
    assert_eq!(stop, StopReason::EndTurn);
    let replayed = r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"AAEC"},{"type":"tool_use","id":"toolu_r1","name":"Read","input":{"path":"b"}}]}"#;
    let sent = sent(content);
    assert!(sent.contains(replayed), "{sent}");
}

/// Wherever it stands, and beside thinking that can be read.
#[test]
fn redacted_thinking_keeps_its_place_and_its_bytes() {
    let data = "A+/=".repeat(2000);
    let redacted = json!({"type": "redacted_thinking", "data": data, "later": {"b": 1, "a": [2.50]}});
    let middle = [
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        block(1, redacted.clone()),
        stop(1),
        block(2, redacted.clone()),
        stop(2),
        block(3, json!({"type": "text", "text": ""})),
        text(3, "so"),
        stop(3),
    ];
    let (content, _) = blocks(&message(&middle, "end_turn"));
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    let expected = format!(r#""content":[{thinking},{redacted},{redacted},{{"type":"text","text":"so"}}]"#);
    assert!(sent(content).contains(&expected));
}

/// What an agent over HTTP says of a prompt.
async fn played(replies: Vec<Reply>) -> (Vec<AgentEvent>, SharedConversation, Server) {
    let server = Server::start(replies).await;
    let conversation = SharedConversation::new(Conversation::new(prefix()));
    let events = query(params(model_at(&server.url), &conversation, 100_000, "go")).collect().await;
    (events, conversation, server)
}

#[tokio::test]
async fn stream_early_eof_f104ec() {
    let deltas: Vec<Value> = (0..400).map(|number| text(0, &format!("word {number:095}"))).collect();
    let body = sse(&[vec![start(), block(0, json!({"type": "text", "text": ""}))], deltas].concat());
    assert!(body.len() > 40 * 1024);
    // Closed with a reset, and closed in good order but too early.
    for broken in [Reply::events(&body).reset(), Reply::events(&body).cut(), Reply::events(&body)] {
        let (events, conversation, server) = played(vec![broken, Reply::events(&says("whole"))]).await;
        let retries: Vec<u32> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Retry { attempt, .. } => Some(*attempt),
                _ => None,
            })
            .collect();
        assert_eq!((retries, server.requests().len()), (vec![1], 2));
        let last = events.iter().rposition(|event| matches!(event, AgentEvent::Retry { .. })).unwrap();
        let shown: String = events[last..]
            .iter()
            .filter_map(|event| match event {
                AgentEvent::TextDelta { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(shown, "whole");
        let history = conversation.lock().history();
        assert_eq!(history.last().unwrap().text(), "whole");
        assert_eq!(history.len(), 2);
    }
}

/// Every cut before the reason to stop is an error that passes, and gives no stop.
#[test]
fn an_end_at_any_event_is_an_error_that_passes() {
    for id in ["stream-redacted-thinking-54d7fd", "stream-unknown-event-2da51d", "stream-interleaved-index-429840"] {
        let body = testkit::cases::body(id);
        let end = body.find("event: message_delta").unwrap();
        for (at, _) in body[..end].match_indices("event: ") {
            let (events, fault) = decode_reads(EVENTS, &[&body[..at]]);
            assert_eq!(fault.unwrap().kind, ErrorKind::Transport);
            assert!(!events.iter().any(|event| matches!(event, ModelEvent::Stop(_))));
        }
    }
}
