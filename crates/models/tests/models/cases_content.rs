//! Known failures of content and of answers that were cut, as the decoder and the request see them,
//! each by the id of its case.
//!
//! Policy: of an answer that was cut, whole blocks count and half a call is dropped, never mended.

use kernel::{Block, Message, ModelEvent, StopReason};
use models::anthropic::body;
use serde_json::{Map, Value, json};

use crate::decoding::{blocks, blocks_of_case, case, decode, fault};
use crate::support::{assistant, block, call, delta, input, message, plain, request, sse, start, stop, text, tool};

#[test]
fn content_args_type_3922e2() {
    let expected = vec![call("toolu_n0", "Read", json!({}))];
    assert_eq!(blocks_of_case("content-args-type-3922e2"), (expected, StopReason::EndTurn));
}

/// No input in whatever way, and input of another type than an object: never more than an object is kept.
#[test]
fn input_of_any_type_is_an_object_in_history() {
    let with = |given: Value, pieces: &[&str]| {
        let begun = block(0, json!({"type": "tool_use", "id": "t1", "name": "Read", "input": given}));
        let pieces = pieces.iter().map(|piece| input(0, piece));
        let middle: Vec<Value> = [begun].into_iter().chain(pieces).chain([stop(0)]).collect();
        let (blocks, _) = blocks(&message(&middle, "tool_use"));
        let [Block::ToolUse { input, .. }] = &blocks[..] else { panic!("{blocks:?}") };
        input.clone()
    };
    for given in [json!({}), json!(null), json!(""), json!([]), json!(3)] {
        assert_eq!(with(given.clone(), &[]), json!({}), "{given}");
        assert_eq!(with(given.clone(), &["", ""]), json!({}), "{given}");
        assert_eq!(with(given, &[" {", "\"path\"", ": 1}\n"]), json!({"path": 1}));
    }
    // Gateways send the whole input with the start of the block.
    assert_eq!(with(json!({"path": "a"}), &[]), json!({"path": "a"}));
    for wrong in ["null", "[]", "3", "\"a\"", "{\"a\": 1", "{}{}"] {
        assert_eq!(with(json!({}), &[wrong]), json!({"INVALID_JSON": wrong}));
    }
}

#[test]
fn content_thinking_only_c87bc2() {
    let thinking = Block::Thinking { thinking: String::new(), signature: Some("c2ln".into()), extra: Map::new() };
    assert_eq!(blocks_of_case("content-thinking-only-c87bc2"), (vec![thinking], StopReason::EndTurn));
}

#[test]
fn content_empty_message_69a69e() {
    let sent = |messages: Vec<Message>| {
        let body: Value = serde_json::from_slice(&body(&request(messages), &plain())).unwrap();
        testkit::validate::request(&body).unwrap();
        testkit::validate::without_marks(&body["messages"])
    };
    let user = |texts: &[&str]| {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"role": "user", "content": blocks})
    };
    let empty = || assistant(Vec::new());
    let one = vec![Message::user("one"), empty(), Message::user("two")];
    assert_eq!(sent(one), json!([user(&["one", "two"])]));
    let more = vec![Message::user("one"), empty(), Message::user("two"), empty(), empty(), Message::user("three")];
    assert_eq!(sent(more), json!([user(&["one", "two", "three"])]));
    let said = json!({"role": "assistant", "content": [{"type": "text", "text": "so"}]});
    let between = vec![Message::user("one"), assistant(vec![Block::text("so")]), Message::user("two"), empty()];
    assert_eq!(sent(between), json!([user(&["one"]), said, user(&["two"])]));
    // Results stay where the API wants them: first.
    let round = vec![
        Message::user("one"),
        assistant(vec![call("a", "Read", json!({}))]),
        Message::new(kernel::Role::User, vec![crate::support::result("a", "x", false)]),
        empty(),
        Message::user("two"),
    ];
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "x"});
    assert_eq!(sent(round)[2], json!({"role": "user", "content": [result, {"type": "text", "text": "two"}]}));
}

/// Programs that cut text by UTF-16 units leave half a character: one U+FFFD, and nothing else is lost.
#[test]
fn content_lone_surrogate_0cea6c() {
    let piece = |escaped: &str, kind: &str, field: &str| {
        let delta = format!(r#"{{"type":"{kind}","{field}":"{escaped}"}}"#);
        format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}\n\n")
    };
    let stream = |begun: Value, pieces: &[String]| {
        let head = sse(&[start(), block(0, begun)]);
        let tail = message(&[stop(0)], "end_turn").replace(&sse(&[start()]), "");
        blocks(&format!("{head}{}{tail}", pieces.concat())).0
    };
    let says = |escaped: &str| piece(escaped, "text_delta", "text");
    let begun = json!({"type": "text", "text": ""});
    assert_eq!(stream(begun.clone(), &[says("xx\\ud83d"), says("yy")]), [Block::text("xx\u{fffd}yy")]);
    assert_eq!(stream(begun, &[says("\\ude00 a \\ud83d\\ude00")]), [Block::text("\u{fffd} a 😀")]);
    let thinks = piece("\\ud83d", "thinking_delta", "thinking");
    let thinking = Block::Thinking { thinking: "\u{fffd}".into(), signature: None, extra: Map::new() };
    assert_eq!(stream(json!({"type": "thinking", "thinking": ""}), &[thinks]), [thinking]);
    // In the input of a call the escape is text until the input is whole; its halves may come apart.
    let inputs = [r#"{\"text\": \"a\\ud83d\", \"whole\": \"\\ud83d"#, r#"\\ude00\"}"#];
    let pieces = inputs.map(|half| piece(half, "input_json_delta", "partial_json"));
    let expected = call("t1", "Write", json!({"text": "a\u{fffd}", "whole": "😀"}));
    let begun = json!({"type": "tool_use", "id": "t1", "name": "Write", "input": {}});
    assert_eq!(stream(begun, &pieces), [expected]);
    // And where a gateway answers with one message.
    let whole = r#"{"type":"message","content":[{"type":"text","text":"\ud83d!"}],"stop_reason":"end_turn"}"#;
    let (events, fault) = decode("application/json", whole);
    assert_eq!((&events[1], fault), (&ModelEvent::Block(Block::text("\u{fffd}!")), None));
}

#[test]
fn an_error_of_half_a_character_is_still_that_error() {
    let body = "data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"\\ud83d\"}}\n\n";
    assert_eq!(fault(body).kind, kernel::ErrorKind::RateLimited(None));
}

#[test]
fn truncation_context_window_stop_c0929e() {
    assert_eq!(blocks_of_case("truncation-context-window-stop-c0929e"), (vec![], StopReason::ContextWindow));
}

#[test]
fn pairing_stop_reason_trust_5e9247() {
    let expected = vec![Block::text("Reading."), call("toolu_m1", "Read", json!({"path": "a"}))];
    assert_eq!(blocks_of_case("pairing-stop-reason-trust-5e9247"), (expected, StopReason::MaxTokens));
}

/// A call that was cut is dropped wherever its JSON ends, whether or not its block was closed, and
/// what was whole before it stays.
#[test]
fn truncation_max_tokens_json_b9bf9f() {
    let json = r#"{"file_path": "a.txt", "content": "line 1\nline \u00e9 \"quoted\" 你", "more": {"a": [1, 2]}}"#;
    for reason in ["max_tokens", "model_context_window_exceeded", "sensitive"] {
        for cut in (0..json.len()).filter(|cut| json.is_char_boundary(*cut)) {
            for closed in [true, false] {
                let mut middle = vec![
                    block(0, json!({"type": "text", "text": ""})),
                    text(0, "so"),
                    stop(0),
                    tool(1, "t1"),
                    input(1, r#"{"file_path": "b"}"#),
                    stop(1),
                    tool(2, "t2"),
                    input(2, &json[..cut]),
                ];
                middle.extend(closed.then(|| stop(2)));
                let (blocks, _) = blocks(&message(&middle, reason));
                let whole = call("t1", "Read", json!({"file_path": "b"}));
                assert_eq!(blocks, [Block::text("so"), whole], "{reason}, cut at {cut}");
            }
        }
    }
}

#[test]
fn pairing_duplicate_ids_9b2d9c() {
    let twice = ["a", "b"].map(|path| call("edit:22", "Edit", json!({"path": path})));
    assert_eq!(blocks_of_case("pairing-duplicate-ids-9b2d9c"), (twice.to_vec(), StopReason::EndTurn));
}

#[test]
fn context_compaction_fails_312773() {
    let nothing = Block::Other(json!({"type": "compaction", "content": null}));
    let (content, stop) = blocks_of_case("context-compaction-fails-312773");
    assert_eq!((&content[..], stop), (&[nothing.clone(), Block::text("ok")][..], StopReason::EndTurn));
    // It is no cut: everything before it is sent, and it goes back as it came.
    let messages = vec![Message::user("one"), assistant(content), Message::user("two")];
    let sent: Value = serde_json::from_slice(&body(&request(messages), &plain())).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);
    assert_eq!(sent["messages"][1]["content"][0], serde_json::to_value(nothing).unwrap());
    assert_eq!(case("context-compaction-fails-312773").1, None);
}

/// A summary that the vendor did make comes in one delta and goes back whole.
#[test]
fn a_summary_of_the_vendor_is_kept_whole() {
    let made = json!({"type": "compaction_delta", "content": "So far: much.", "encrypted_content": "ZZ"});
    let middle = [block(0, json!({"type": "compaction", "content": null})), delta(0, made), stop(0)];
    let kept = json!({"type": "compaction", "content": "So far: much.", "encrypted_content": "ZZ"});
    assert_eq!(blocks(&message(&middle, "end_turn")).0, [Block::Other(kept)]);
}
