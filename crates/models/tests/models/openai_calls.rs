//! How tool calls grow from fragments, whatever a server leaves out or says twice.

use kernel::{Block, ErrorKind, StopReason};
use serde_json::{Value, json};

use crate::openai_support::{DONE, blocks, chunk, fault, fragments, function, ids, stream, thought};
use crate::support::call;

#[test]
fn openai_args_object_710172() {
    let null = json!({"index": 0, "id": "z1", "type": "function", "function": function("list", Value::Null)});
    let absent = json!({"index": 1, "id": "z2", "type": "function", "function": {"name": "list"}});
    let expected = vec![call("z1", "list", json!({})), call("z2", "list", json!({}))];
    assert_eq!(blocks(&stream(&fragments(&[null, absent]), "tool_calls")), (expected, StopReason::EndTurn));
}

#[test]
fn openai_args_object_3ba0d9() {
    let object = json!({"index": 0, "id": "o1", "function": function("weather", json!({"city": "Oslo"}))});
    let twice =
        json!({"index": 1, "id": "o2", "function": function("weather", json!("\"{\\\"city\\\":\\\"Rome\\\"}\""))});
    let expected = vec![call("o1", "weather", json!({"city": "Oslo"})), call("o2", "weather", json!({"city": "Rome"}))];
    assert_eq!(blocks(&stream(&fragments(&[object, twice]), "tool_calls")), (expected, StopReason::EndTurn));
}

#[test]
fn openai_empty_name_35a2a8() {
    let pieces = [
        json!({"index": 0, "id": "n1", "type": "function", "function": function("read", json!(""))}),
        json!({"index": 0, "function": function("", json!("{\"p\":"))}),
        json!({"index": 0, "function": function("", json!("\"a\"}"))}),
    ];
    let expected = vec![call("n1", "read", json!({"p": "a"}))];
    assert_eq!(blocks(&stream(&fragments(&pieces), "tool_calls")), (expected, StopReason::EndTurn));
}

#[test]
fn openai_index_zero_d68e0f() {
    let pieces = [
        json!({"index": 0, "function": function("a", json!("{\"q\":1}"))}),
        json!({"index": 0, "function": function("b", json!("{\"q\":2}"))}),
    ];
    let (blocks, stop) = blocks(&stream(&fragments(&pieces), "tool_calls"));
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(blocks, [call("", "a", json!({"q": 1})), call("", "b", json!({"q": 2}))]);
    assert_eq!(ids(blocks), ["call", "call_2"]);
}

#[test]
fn openai_interleave_6a2201() {
    let piece = |index, arguments: &str| json!({"index": index, "function": {"arguments": arguments}});
    let start = |index, id: &str, name: &str, arguments: &str| json!({"index": index, "id": id, "type": "function", "function": function(name, json!(arguments))});
    let pieces = [start(0, "A", "f", "{\"x\":"), start(1, "B", "g", "{\"y\":"), piece(0, "1}"), piece(1, "2}")];
    let expected = vec![call("A", "f", json!({"x": 1})), call("B", "g", json!({"y": 2}))];
    assert_eq!(blocks(&stream(&fragments(&pieces), "tool_calls")), (expected, StopReason::EndTurn));
}

#[test]
fn openai_missing_id_86f77a() {
    let piece = json!({"index": 0, "id": "", "function": function("read", json!("{}"))});
    let (blocks, _) = blocks(&stream(&fragments(&[piece]), "tool_calls"));
    assert_eq!(blocks, [call("", "read", json!({}))]);
    assert_eq!(ids(blocks), ["call"]);
}

#[test]
fn truncation_max_tokens_json_dbbba5() {
    let half = "{\"path\":\"x\",\"text\":\"abc";
    let piece =
        json!({"index": 0, "id": "call_l1", "type": "function", "function": function("write_file", json!(half))});
    let body = |reason| stream(&fragments(std::slice::from_ref(&piece)), reason);
    assert_eq!(blocks(&body("length")), (Vec::new(), StopReason::MaxTokens));
    // A model that thinks it was done hears from the schema what it sent.
    let expected = call("call_l1", "write_file", json!({"INVALID_JSON": half}));
    assert_eq!(blocks(&body("tool_calls")), (vec![expected], StopReason::EndTurn));
    // Without a word about the end, it was cut.
    assert_eq!(fault(&format!("{}{DONE}", fragments(&[piece]))).kind, ErrorKind::Transport);
}

#[test]
fn at_the_limit_whole_calls_stay() {
    let piece = |index, arguments: &str| json!({"index": index, "id": format!("c{index}"), "function": function("Read", json!(arguments))});
    let kept = |all: &[Value]| blocks(&stream(&fragments(all), "length"));
    let whole = call("c0", "Read", json!({"a": 1}));
    assert_eq!(kept(&[piece(0, "{\"a\":1}")]), (vec![whole.clone()], StopReason::MaxTokens));
    assert_eq!(kept(&[piece(0, "{\"a\":1}"), piece(1, "")]), (vec![whole], StopReason::MaxTokens));
    assert_eq!(kept(&[piece(0, ""), piece(1, "{\"")]).0, [call("c0", "Read", json!({}))]);
}

#[test]
fn calls_are_told_apart_whatever_is_missing() {
    let of = |pieces: &[Value]| {
        let calls = blocks(&stream(&fragments(pieces), "stop")).0;
        let shown = |block: &Block| match block {
            Block::ToolUse { id, name, input, .. } => format!("{id} {name} {input}"),
            other => format!("{other:?}"),
        };
        calls.iter().map(shown).collect::<Vec<_>>()
    };
    let f = |name: &str, arguments: &str| function(name, json!(arguments));
    let cases: [(&str, Vec<Value>, &[&str]); 14] = [
        (
            "the index is always 0, ids differ",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":1}")}),
                json!({"index": 0, "id": "b", "function": f("Read", "{\"p\":1}")}),
            ],
            &["a Read {\"p\":1}", "b Read {\"p\":1}"],
        ),
        (
            "the index is always 0, ids tell interleaved pieces apart",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":")}),
                json!({"index": 0, "id": "b", "function": f("Read", "{\"p\":")}),
                json!({"index": 0, "id": "a", "function": {"arguments": "1}"}}),
                json!({"index": 0, "id": "b", "function": {"arguments": "2}"}}),
            ],
            &["a Read {\"p\":1}", "b Read {\"p\":2}"],
        ),
        (
            "no argument, then another call",
            vec![
                json!({"index": 0, "id": "a", "function": f("List", "")}),
                json!({"index": 0, "id": "b", "function": f("List", "{}")}),
            ],
            &["a List {}", "b List {}"],
        ),
        (
            "neither index nor id",
            vec![
                json!({"function": f("Read", "{\"p\":")}),
                json!({"function": {"arguments": "1}"}}),
                json!({"function": f("Read", "{\"p\":2}")}),
            ],
            &[" Read {\"p\":1}", " Read {\"p\":2}"],
        ),
        (
            "no index, id on every piece",
            vec![
                json!({"id": "a", "function": f("Read", "{\"p\":")}),
                json!({"id": "b", "function": f("Read", "{}")}),
                json!({"id": "a", "function": {"arguments": "1}"}}),
            ],
            &["a Read {\"p\":1}", "b Read {}"],
        ),
        (
            "the id changes from piece to piece",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":")}),
                json!({"index": 0, "id": "b", "function": {"arguments": "1}"}}),
            ],
            &["a Read {\"p\":1}"],
        ),
        (
            "the index grows from piece to piece",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":")}),
                json!({"index": 1, "function": {"arguments": "1"}}),
                json!({"index": 2, "function": {"arguments": "}"}}),
            ],
            &["a Read {\"p\":1}"],
        ),
        (
            "the name is repeated",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "")}),
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":")}),
                json!({"index": 0, "id": "a", "function": f("Read", "1}")}),
                json!({"index": 0, "id": "a", "function": f("Read", "")}),
            ],
            &["a Read {\"p\":1}"],
        ),
        (
            "the name comes in pieces",
            vec![
                json!({"index": 0, "id": "a", "function": {"name": "Re"}}),
                json!({"index": 0, "function": f("ad", "{}")}),
            ],
            &["a Read {}"],
        ),
        (
            "the name comes after the id",
            vec![json!({"index": 0, "id": "a"}), json!({"index": 0, "function": f("Read", "{}")})],
            &["a Read {}"],
        ),
        (
            "the whole call is said twice",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":1}")}),
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":1}")}),
            ],
            &["a Read {\"p\":1}"],
        ),
        (
            "one id for two calls",
            vec![
                json!({"index": 0, "id": "a", "function": f("Read", "{\"p\":1}")}),
                json!({"index": 1, "id": "a", "function": f("Read", "{\"p\":2}")}),
            ],
            &["a Read {\"p\":1}", "a Read {\"p\":2}"],
        ),
        ("no name at all", vec![json!({"index": 0, "id": "a", "function": f("", "{}")})], &["a unnamed {}"]),
        ("nothing round it", vec![json!({"name": "Read", "arguments": {"p": 1}})], &[" Read {\"p\":1}"]),
    ];
    for (case, pieces, expected) in cases {
        assert_eq!(of(&pieces), expected, "{case}");
    }
}

#[test]
fn reasoning_in_parts_is_kept_as_it_came() {
    let part = |text: &str| {
        chunk(json!({"reasoning": text, "reasoning_details": [
        {"type": "reasoning.text", "text": text, "format": "x", "index": 0}]}))
    };
    let signed = json!({"tool_calls": [{"index": 0, "id": "a", "function": function("Read", json!("{}"))}],
        "reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0},
            {"type": "reasoning.encrypted", "data": "d", "index": 1}]});
    let (blocks, _) = blocks(&stream(&[part("h"), part("m"), chunk(signed)].concat(), "tool_calls"));
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "format": "x", "index": 0, "signature": "s"},
            {"type": "reasoning.encrypted", "data": "d", "index": 1}]},
        {"type": "tool_use", "id": "a", "name": "Read", "input": {}}]);
    assert_eq!(serde_json::to_value(blocks).unwrap(), expected);
}

/// A vendor that wants reasoning back wants it back empty too (deepseek-reasoning-replay-91eadf).
#[test]
fn empty_reasoning_of_a_turn_with_calls_is_kept() {
    let piece = json!({"index": 0, "id": "a", "function": function("Read", json!("{}"))});
    let of = |delta: Value| blocks(&stream(&(chunk(delta) + &fragments(std::slice::from_ref(&piece))), "tool_calls")).0;
    let whole = call("a", "Read", json!({}));
    assert_eq!(of(json!({"reasoning_content": ""})), [thought(""), whole.clone()]);
    assert_eq!(of(json!({"reasoning_content": null, "content": ""})), [whole]);
}
