//! What comes back: streams of the real wire format as events, whole, split, odd and cut.

use std::collections::VecDeque;

use kernel::{Block, ErrorKind, ModelEvent, StopReason, Usage};
use models::table::{Table, cost};
use models::wire::Answer;
use serde_json::{Value, json};

use crate::decoding::{blocks, decode, decode_reads, fault, site};
use crate::server::{Reply, Server};
use crate::support::{
    ask, block, call, delta, ending, hello, input, message, model_at, says, sse, start, stop, text, tool,
};

/// Text in four alphabets, thinking, a call, an unknown block, comments and pings.
fn everything() -> String {
    let middle = [
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm, "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "so"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        json!({"type": "ping"}),
        block(1, json!({"type": "text", "text": ""})),
        text(1, "你好, "),
        text(1, "wörld 🙂"),
        stop(1),
        block(2, json!({"type": "redacted_thinking", "data": "AAEC"})),
        stop(2),
        tool(3, "toolu_1"),
        input(3, ""),
        input(3, "{\"file_path\": \"a"),
        input(3, ".txt\"}"),
        stop(3),
    ];
    format!(": keep-alive\n\n{}", message(&middle, "tool_use"))
}

fn everything_decoded() -> Vec<ModelEvent> {
    let usage = |output_tokens| ModelEvent::Usage(Usage { input_tokens: 12, output_tokens, ..Usage::default() });
    let extra = serde_json::Map::new();
    vec![
        usage(1),
        ModelEvent::ThinkingDelta("hm, ".into()),
        ModelEvent::ThinkingDelta("so".into()),
        ModelEvent::Block(Block::Thinking { thinking: "hm, so".into(), signature: Some("c2ln".into()), extra }),
        ModelEvent::TextDelta("你好, ".into()),
        ModelEvent::TextDelta("wörld 🙂".into()),
        ModelEvent::Block(Block::text("你好, wörld 🙂")),
        ModelEvent::Block(Block::Other(json!({"type": "redacted_thinking", "data": "AAEC"}))),
        ModelEvent::InputDelta,
        ModelEvent::InputDelta,
        ModelEvent::Block(call("toolu_1", "Read", json!({"file_path": "a.txt"}))),
        usage(7),
        ModelEvent::Stop(StopReason::EndTurn),
    ]
}

#[tokio::test]
async fn a_body_split_at_every_byte_gives_the_same_events() {
    let body = everything().into_bytes();
    let mut replies: Vec<Reply> =
        (1..body.len()).map(|at| Reply::events("").pieces(vec![body[..at].to_vec(), body[at..].to_vec()])).collect();
    let single: Vec<Vec<u8>> = body.iter().map(|byte| vec![*byte]).collect();
    replies.push(Reply::events("").pieces(single));
    let count = replies.len();
    let server = Server::start(replies).await;
    let model = model_at(&server.url);
    // The model behind the address is claude-sonnet-5-5, which has a price.
    let prices = Table::built_in().facts("claude-sonnet-5-5").unwrap().prices;
    let priced = |event| match event {
        ModelEvent::Usage(usage) => ModelEvent::Usage(Usage { cost: cost(&prices, &usage), ..usage }),
        other => other,
    };
    let expected: Vec<_> = everything_decoded().into_iter().map(priced).map(Ok).collect();
    for at in 0..count {
        assert_eq!(ask(&model, hello()).await, expected, "split {at}");
    }
    assert_eq!(server.requests().len(), count);
}

/// Whatever is missing at the end: what left is a beginning of the whole, and it is an error as
/// long as the reason to stop has not been heard.
#[test]
fn an_answer_cut_at_any_byte_is_never_more_than_its_beginning() {
    let body = everything().into_bytes();
    for cut in 0..body.len() {
        let mut answer = Answer::new(site(), "claude-test", "text/event-stream");
        let mut out = VecDeque::new();
        answer.push(&body[..cut], &mut out).unwrap();
        match answer.finish(&mut out) {
            Ok(()) => assert_eq!(Vec::from(out), everything_decoded(), "cut {cut}"),
            Err(fault) => {
                assert_eq!(fault.kind, ErrorKind::Transport, "cut {cut}");
                let events = Vec::from(out);
                assert!(everything_decoded().starts_with(&events), "cut {cut}: {events:?}");
            }
        }
    }
}

#[test]
fn what_is_new_is_ignored_or_kept_as_it_is() {
    let middle = [
        json!({"type": "content_block_annotation", "index": "odd", "delta": 3}),
        block(0, json!({"type": "text", "text": "", "later": 1})),
        text(0, "a"),
        delta(0, json!({"type": "sparkle_delta", "x": 1})),
        stop(0),
        block(1, json!({"type": "fallback", "from": "x"})),
        stop(1),
    ];
    let expected = vec![
        serde_json::from_value(json!({"type": "text", "text": "a", "later": 1})).unwrap(),
        Block::Other(json!({"type": "fallback", "from": "x"})),
    ];
    assert_eq!(blocks(&message(&middle, "end_turn")), (expected, StopReason::EndTurn));
}

/// What gateways leave out at the start of a block is empty.
#[test]
fn a_start_may_leave_out_what_is_empty() {
    let middle = [
        block(0, json!({"type": "thinking"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        stop(0),
        block(1, json!({"type": "text"})),
        text(1, "a"),
        stop(1),
        block(2, json!({"type": "tool_use", "id": "t1", "name": "Read"})),
        input(2, r#"{"a": 1}"#),
        stop(2),
        block(3, json!({"type": "tool_use", "name": "functions.Read"})),
        stop(3),
    ];
    let thought = serde_json::from_value(json!({"type": "thinking", "thinking": "hm"})).unwrap();
    let expected =
        vec![thought, Block::text("a"), call("t1", "Read", json!({"a": 1})), call("", "functions_Read", json!({}))];
    assert_eq!(blocks(&message(&middle, "tool_use")), (expected, StopReason::EndTurn));
}

/// In a history such a block would make every later request fail, and without it the answer would be
/// less than what the model said.
#[test]
fn a_malformed_block_ends_the_attempt() {
    for malformed in [
        json!(null),
        json!("text"),
        json!({"id": "t1", "name": "Read", "input": {}}),
        json!({"type": 7}),
        json!({"type": "tool_use", "id": "t1", "input": {}}),
        json!({"type": "thinking", "thinking": "", "signature": 7}),
        json!({"type": "tool_result", "content": "x"}),
    ] {
        let fault = fault(&message(&[block(0, malformed.clone()), stop(0)], "end_turn"));
        assert_eq!(fault.kind, ErrorKind::Transport, "{malformed}: {fault}");
        assert!(fault.message.contains("malformed content block"), "{malformed}: {fault}");
    }
    let never_begun = fault(&message(&[input(0, r#"{"a": 1}"#), stop(0)], "tool_use"));
    assert_eq!(never_begun.kind, ErrorKind::Transport);
    // Nothing is missing here.
    assert_eq!(blocks(&message(&[input(0, ""), stop(0)], "end_turn")), (Vec::new(), StopReason::EndTurn));
}

#[test]
fn counts_that_no_call_has_are_no_counts() {
    let mut middle = vec![block(0, json!({"type": "text", "text": "a"})), stop(0)];
    middle.push(json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": u64::MAX, "output_tokens": 3}}));
    let (events, _) = decode("text/event-stream", &message(&middle, "end_turn"));
    let counted = events.into_iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(usage.total()),
        _ => None,
    });
    assert_eq!(counted, Some(12 + 7));
}

#[test]
fn citations_are_kept() {
    let citation = delta(0, json!({"type": "citations_delta", "citation": {"a": 1}}));
    let middle = [block(0, json!({"type": "text", "text": ""})), citation.clone(), citation, text(0, "x"), stop(0)];
    let expected = json!({"type": "text", "text": "x", "citations": [{"a": 1}, {"a": 1}]});
    let (blocks, _) = blocks(&message(&middle, "end_turn"));
    assert_eq!(serde_json::to_value(blocks).unwrap(), json!([expected]));
}

#[test]
fn half_a_call_is_dropped_and_a_broken_one_is_shown_to_its_schema() {
    let half = |ending: &str| {
        let middle = [
            block(0, json!({"type": "text", "text": ""})),
            text(0, "so"),
            stop(0),
            tool(1, "t1"),
            input(1, "{\"file_path\": \"a"),
            stop(1),
        ];
        blocks(&message(&middle, ending))
    };
    let said = vec![Block::text("so")];
    assert_eq!(half("max_tokens"), (said.clone(), StopReason::MaxTokens));
    assert_eq!(half("model_context_window_exceeded"), (said.clone(), StopReason::ContextWindow));
    assert_eq!(half("refusal"), (said.clone(), StopReason::Refusal(None)));
    assert_eq!(half("sensitive"), (said.clone(), StopReason::Other("sensitive".into())));
    let kept = call("t1", "Read", json!({"INVALID_JSON": "{\"file_path\": \"a"}));
    assert_eq!(half("tool_use"), (vec![said[0].clone(), kept], StopReason::EndTurn));
}

#[test]
fn at_the_limit_a_call_without_input_was_cut_unless_more_came_after_it() {
    let cut = [tool(0, "t1"), stop(0), tool(1, "t2"), stop(1)];
    let expected = vec![call("t1", "Read", json!({}))];
    assert_eq!(blocks(&message(&cut, "max_tokens")), (expected, StopReason::MaxTokens));
    let open = [tool(0, "t1"), input(0, "{}")];
    assert_eq!(blocks(&message(&open, "max_tokens")), (Vec::new(), StopReason::MaxTokens));
    let text = [block(0, json!({"type": "text", "text": ""})), text(0, "as far as")];
    let expected = vec![Block::text("as far as")];
    assert_eq!(blocks(&message(&text, "max_tokens")), (expected, StopReason::MaxTokens));
}

#[test]
fn input_that_is_no_object_is_not_passed_on() {
    let middle = [tool(0, "t1"), input(0, "\"a.txt\""), stop(0)];
    let expected = vec![call("t1", "Read", json!({"INVALID_JSON": "\"a.txt\""}))];
    assert_eq!(blocks(&message(&middle, "tool_use")), (expected, StopReason::EndTurn));
}

#[test]
fn a_refusal_says_why() {
    let refused = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"category": "cyber", "explanation": "not this"}}});
    let body = sse(&[start(), refused, json!({"type": "message_stop"})]);
    assert_eq!(blocks(&body), (Vec::new(), StopReason::Refusal(Some("not this".into()))));
}

#[test]
fn cache_writes_by_lifetime_count_and_later_zeros_do_not() {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 3,
        "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 40,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 5000}}}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 0, "output_tokens": 9}});
    let (events, _) = decode("text/event-stream", &sse(&[start, end, json!({"type": "message_stop"})]));
    let expected = Usage {
        input_tokens: 3,
        cache_creation_input_tokens: 5000,
        cache_read_input_tokens: 40,
        output_tokens: 9,
        ephemeral_1h_input_tokens: 5000,
        ..Usage::default()
    };
    assert_eq!(events[1], ModelEvent::Usage(expected));
}

#[test]
fn an_answer_may_end_without_its_last_event_but_not_without_a_reason() {
    let (whole, _) = decode("text/event-stream", &says("hi"));
    let without_last = says("hi").replace("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "");
    assert_eq!(decode("text/event-stream", &without_last), (whole, None));
    let cut = sse(&[start(), block(0, json!({"type": "text", "text": "a"}))]);
    assert_eq!(fault(&cut).kind, ErrorKind::Transport);
    assert_eq!(fault("").to_string(), "the answer of anthropic (models.test) was cut off before its end");
}

#[test]
fn an_error_after_a_call_ends_the_answer() {
    let overloaded = json!({"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let body = sse(&[start(), tool(0, "t1"), input(0, "{}"), stop(0), overloaded]);
    let (events, fault) = decode("text/event-stream", &body);
    assert_eq!(events.last(), Some(&ModelEvent::Block(call("t1", "Read", json!({})))));
    let fault = fault.unwrap();
    assert_eq!(fault.kind, ErrorKind::Overloaded(None));
    assert_eq!(fault.message, "anthropic (models.test) is overloaded or broken (529 overloaded_error: Overloaded)");
}

#[test]
fn an_error_is_known_in_the_shape_of_either_vendor() {
    let limited = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    assert_eq!(fault(&sse(&[limited])).kind, ErrorKind::RateLimited(None));
    // The shape of other vendors, without a type.
    assert_eq!(
        fault("data: {\"error\": {\"message\": \"prompt is too long: 2 > 1\"}}\n\n").kind,
        ErrorKind::ContextOverflow
    );
}

#[test]
fn an_event_that_is_not_json_breaks_the_answer() {
    assert_eq!(fault("data: {\"type\": \"mess\n\n").kind, ErrorKind::Transport);
    assert_eq!(fault("data: {\"type\": \"content_block_stop\", \"index\": -1}\n\n").kind, ErrorKind::Transport);
    let (events, fault) = decode("text/event-stream", &format!("data: [DONE]\n\n{}", says("hi")));
    assert_eq!((events.len(), fault), (5, None));
}

fn whole(content: Value, reason: &str) -> String {
    json!({"id": "m", "type": "message", "role": "assistant", "content": content,
        "stop_reason": reason, "usage": {"input_tokens": 3, "output_tokens": 4}})
    .to_string()
}

#[test]
fn stream_content_type_541c08() {
    let usage = Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() };
    let content = json!([
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}}
    ]);
    let expected = vec![
        ModelEvent::TextDelta("so".into()),
        ModelEvent::Block(Block::text("so")),
        ModelEvent::Usage(usage),
        ModelEvent::Block(call("t1", "Read", json!({"a": 1}))),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!(decode("application/json", &whole(content.clone(), "tool_use")), (expected, None));
    let cut = decode("application/json", &whole(content, "max_tokens"));
    assert_eq!(cut.0.last(), Some(&ModelEvent::Stop(StopReason::MaxTokens)));
    assert_eq!(cut.0.len(), 4, "the call may be half: {cut:?}");
}

/// Blank lines before it are how a server says that it is alive.
#[test]
fn sse_fields_c25fe5() {
    let message = whole(json!([{"type": "text", "text": "so"}]), "end_turn");
    let expected = decode("application/json", &message);
    assert_eq!((expected.0.len(), &expected.1), (4, &None));
    for blanks in ["\n\n\n", "\n", "\r\n\r\n", " \t\n", "\u{feff}\n\n"] {
        for content_type in ["application/json", "", "text/event-stream"] {
            let reads = [blanks, blanks, &message, "\n"];
            assert_eq!(decode_reads(content_type, &reads), expected, "{blanks:?} {content_type}");
        }
    }
}

#[test]
fn the_header_may_be_wrong_about_a_stream() {
    let expected = decode("text/event-stream", &everything());
    assert_eq!(expected.0, everything_decoded());
    assert_eq!(decode("application/json", &everything()), expected);
    assert_eq!(decode("", &format!("\u{feff}{}", everything())), expected);
}

#[test]
fn what_no_model_sent_is_named() {
    let expected = "anthropic (models.test) answered with text/html instead of events of a model. \
        Check the base URL of provider anthropic";
    let page = "<html><body>Sign in</body></html>";
    assert_eq!(decode("text/html", page).1.unwrap().to_string(), expected);
    assert_eq!(decode("text/plain", "internal").1.unwrap().kind, ErrorKind::NotFound);
    assert_eq!(decode("application/json", "{\"ok\": true}").1.unwrap().kind, ErrorKind::NotFound);
    assert_eq!(decode("application/json", "{\"content\": [").1.unwrap().kind, ErrorKind::Transport);
    let error = "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"no\"}}";
    assert_eq!(decode("application/json", error).1.unwrap().kind, ErrorKind::Auth);
}

#[test]
fn nothing_comes_after_the_end() {
    let twice = format!("{}{}", says("hi"), says("again"));
    assert_eq!(decode("text/event-stream", &twice), decode("text/event-stream", &says("hi")));
}

#[test]
fn blocks_may_share_an_index_or_lack_their_start() {
    let middle = [
        block(0, json!({"type": "text", "text": ""})),
        text(0, "a"),
        tool(0, "t1"),
        input(0, "{}"),
        stop(0),
        text(2, "b"),
    ];
    let expected = vec![Block::text("a"), call("t1", "Read", json!({})), Block::text("b")];
    assert_eq!(blocks(&message(&middle, "tool_use")), (expected, StopReason::EndTurn));
    let [end, _] = ending("end_turn");
    assert_eq!(blocks(&sse(&[start(), text(0, "x"), end])).0, [Block::text("x")]);
}
