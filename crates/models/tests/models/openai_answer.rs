//! What comes back from servers that speak Chat Completions, each in its own way.

use std::collections::VecDeque;

use kernel::{Block, ErrorKind, ModelEvent, StopReason, Usage};
use models::wire::Answer;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::openai_support::{
    DONE, blocks, chunk, content, data, decode, decode_as, fault, finish, fragments, function, site, stream, thought,
};
use crate::support::call;

/// Reasoning, text in four alphabets, two calls in pieces, counts, comments.
fn everything() -> String {
    [
        ": PROCESSING\n\n".to_owned(),
        chunk(json!({"role": "assistant", "content": "", "reasoning_content": ""})),
        chunk(json!({"reasoning_content": "hm, "})),
        chunk(json!({"reasoning_content": "so"})),
        content("你好, "),
        content("wörld 🙂"),
        content(""),
        fragments(&[
            json!({"index": 0, "id": "call_a", "type": "function", "function": function("Read", json!(""))}),
            json!({"index": 0, "function": {"arguments": "{\"file_path\": \"a"}}),
            json!({"index": 0, "function": {"arguments": ".txt\"}"}}),
            json!({"index": 1, "id": "call_b", "type": "function", "function": function("Write", json!("{}"))}),
        ]),
        finish("tool_calls"),
        data(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 8}}})),
        DONE.to_owned(),
    ]
    .concat()
}

fn everything_decoded() -> Vec<ModelEvent> {
    vec![
        ModelEvent::ThinkingDelta("hm, ".into()),
        ModelEvent::ThinkingDelta("so".into()),
        ModelEvent::TextDelta("你好, ".into()),
        ModelEvent::TextDelta("wörld 🙂".into()),
        ModelEvent::InputDelta,
        ModelEvent::Block(thought("hm, so")),
        ModelEvent::Block(Block::text("你好, wörld 🙂")),
        ModelEvent::InputDelta,
        ModelEvent::InputDelta,
        ModelEvent::InputDelta,
        ModelEvent::Block(call("call_a", "Read", json!({"file_path": "a.txt"}))),
        ModelEvent::Usage(Usage { input_tokens: 4, cache_read_input_tokens: 8, output_tokens: 7, ..Usage::default() }),
        ModelEvent::Block(call("call_b", "Write", json!({}))),
        ModelEvent::Stop(StopReason::EndTurn),
    ]
}

#[test]
fn a_stream_becomes_blocks_and_counts() {
    assert_eq!(decode(&everything()), (everything_decoded(), None));
    assert_eq!(decode_as("application/json", &everything()), (everything_decoded(), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_stream_split_anywhere_gives_the_same_events(mut cuts in prop::collection::vec(0..1600_usize, 0..12)) {
        let body = everything().into_bytes();
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(body.len()));
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let mut answer = Answer::new(site("local"), "local", "text/event-stream");
        let mut out = VecDeque::new();
        for pair in cuts.windows(2) {
            answer.push(&body[pair[0]..pair[1]], &mut out).unwrap();
        }
        answer.finish(&mut out).unwrap();
        prop_assert_eq!(Vec::from(out), everything_decoded());
    }
}

/// Whatever is missing at the end: what left is a beginning of the whole, and it is an error as long as
/// the reason to stop has not been heard.
#[test]
fn an_answer_cut_at_any_byte_is_never_more_than_its_beginning() {
    let body = everything().into_bytes();
    let heard = everything().find("\"finish_reason\":\"tool_calls\"").unwrap();
    let expected = everything_decoded();
    let said = |events: &[ModelEvent]| -> Vec<ModelEvent> {
        events.iter().filter(|event| !matches!(event, ModelEvent::Usage(_))).cloned().collect()
    };
    for cut in 0..body.len() {
        let mut answer = Answer::new(site("local"), "local", "text/event-stream");
        let mut out = VecDeque::new();
        answer.push(&body[..cut], &mut out).unwrap();
        match answer.finish(&mut out) {
            // Without the counts it is as whole as it was.
            Ok(()) => assert_eq!((cut > heard, said(out.make_contiguous())), (true, said(&expected)), "cut {cut}"),
            Err(fault) => {
                assert_eq!(fault.kind, ErrorKind::Transport, "cut {cut}");
                assert!(expected.starts_with(out.make_contiguous()), "cut {cut}: {out:?}");
            }
        }
    }
}

#[test]
fn openai_choices_empty_25b571() {
    let end = [
        data(&json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})),
        data(&json!({"choices": null, "usage": null})),
        data(&json!({"object": "chat.completion.chunk"})),
        DONE.to_owned(),
    ];
    let (events, fault) = decode(&[content("hey"), finish("stop"), end.concat()].concat());
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    let expected = vec![
        ModelEvent::TextDelta("hey".into()),
        ModelEvent::Usage(usage),
        ModelEvent::Block(Block::text("hey")),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!((events, fault), (expected, None));
}

#[test]
fn openai_finish_reason_1e5b5c() {
    let quiet = chunk(json!({}));
    let (events, fault) = decode(&format!("{}{quiet}{DONE}", content("hey")));
    let text = "local (models.test) ended its answer without saying why; it may be cut";
    let expected = vec![
        ModelEvent::TextDelta("hey".into()),
        ModelEvent::Notice(text.into()),
        ModelEvent::Block(Block::text("hey")),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!((events, fault), (expected, None));
}

#[test]
fn openai_think_tags_61a192() {
    let pieces: String = ["<th", "ink>plan</thi", "nk>Ans", "wer"].map(content).concat();
    let expected = vec![
        ModelEvent::ThinkingDelta("plan".into()),
        ModelEvent::TextDelta("Ans".into()),
        ModelEvent::TextDelta("wer".into()),
        ModelEvent::Block(thought("plan")),
        ModelEvent::Block(Block::text("Answer")),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    assert_eq!(decode(&stream(&pieces, "stop")), (expected, None));
    let unopened = stream(&content("plan\n</think>\n\nAnswer"), "stop");
    assert_eq!(blocks(&unopened).0, [thought("plan"), Block::text("Answer")]);
}

#[test]
fn openai_usage_place_ac9a3a() {
    let usage = |usage| ModelEvent::Usage(usage);
    let expected = usage(Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() });
    let counts = json!({"prompt_tokens": 7, "completion_tokens": 3});
    for end in [
        json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": counts}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": counts}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": counts}}),
    ] {
        let (events, fault) = decode(&format!("{}{}{DONE}", content("ok"), data(&end)));
        assert_eq!((&events[1], events.len(), fault), (&expected, 4, None), "{end}");
    }
}

#[test]
fn truncation_server_text_fallback_35575d() {
    let half = "I will write it.\n<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"a";
    let body = |text: &str| blocks(&stream(&content(text), "stop"));
    assert_eq!(body(half), (vec![Block::text(half)], StopReason::HalfCall));
    for whole in [&format!("{half}\"}}}}</tool_call>"), "it writes `<tool_call>{` and stops", "<tool_call> is a tag"] {
        assert_eq!(body(whole).1, StopReason::EndTurn, "{whole}");
    }
    assert_eq!(fault(&content(half)).kind, ErrorKind::Transport);
}

#[test]
fn reasoning_has_three_spellings() {
    let with = |delta: Value| blocks(&stream(&(chunk(delta) + &content("so")), "stop")).0;
    let expected = [thought("hm"), Block::text("so")];
    assert_eq!(with(json!({"reasoning_content": "hm"})), expected);
    assert_eq!(with(json!({"reasoning": "hm", "content": null})), expected);
    assert_eq!(with(json!({"reasoning": "hm", "reasoning_content": "hm"})), expected);
    assert_eq!(with(json!({"content": "<think>hm</think>"})), expected);
    assert_eq!(
        with(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})),
        expected
    );
    // Nothing in it, and no call that it would belong to.
    assert_eq!(with(json!({"reasoning_content": ""})), expected[1..]);
}

#[test]
fn a_whole_message_in_place_of_a_stream() {
    let message = json!({"role": "assistant", "reasoning_content": "hm", "content": [{"type": "text", "text": "so"}],
        "tool_calls": [{"id": "a", "type": "function", "function": function("Read", json!("{\"p\":1}"))}]});
    let body = |reason: &str| {
        json!({"id": "c", "object": "chat.completion", "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
        .to_string()
    };
    let expected = vec![
        ModelEvent::Usage(Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() }),
        ModelEvent::ThinkingDelta("hm".into()),
        ModelEvent::TextDelta("so".into()),
        ModelEvent::InputDelta,
        ModelEvent::Block(thought("hm")),
        ModelEvent::Block(Block::text("so")),
        ModelEvent::Block(call("a", "Read", json!({"p": 1}))),
        ModelEvent::Stop(StopReason::EndTurn),
    ];
    for (content_type, body) in [
        ("application/json", body("tool_calls")),
        ("application/json", format!("\n\n{}", body("stop"))),
        ("text/event-stream", body("tool_calls")),
        ("text/event-stream", format!("data: {}\n\n{DONE}", body("stop"))),
        ("text/event-stream", format!("data: {}\n\n", body("stop"))),
    ] {
        assert_eq!(decode_as(content_type, &body), (expected.clone(), None), "{content_type} {body}");
    }
    // At the end of a stream it says nothing new.
    let repeated = json!({"choices": [{"message": {"content": "so"}, "finish_reason": "stop"}]});
    assert_eq!(blocks(&format!("{}{}{DONE}", content("so"), data(&repeated))).0, [Block::text("so")]);
}

#[test]
fn reasons_to_stop() {
    let stop = |reason| blocks(&stream(&content("so"), reason)).1;
    for done in ["stop", "STOP", "tool_calls", "function_call", "end_turn"] {
        assert_eq!(stop(done), StopReason::EndTurn, "{done}");
    }
    assert_eq!(stop("length"), StopReason::MaxTokens);
    assert_eq!(stop("content_filter"), StopReason::Refusal(Some("content_filter".into())));
    assert_eq!(stop("model_context_window_exceeded"), StopReason::ContextWindow);
    assert_eq!(stop("bored"), StopReason::Other("bored".into()));
    let refused = stream(&chunk(json!({"refusal": "not this"})), "stop");
    assert_eq!(blocks(&refused), (Vec::new(), StopReason::Refusal(Some("not this".into()))));
    // A cut is not undone by a later word, nor by what comes after the end.
    let twice = format!("{}{}{}{DONE}{}{DONE}", content("so"), finish("length"), finish("stop"), content("more"));
    assert_eq!(blocks(&twice), (vec![Block::text("so")], StopReason::MaxTokens));
    let legacy = chunk(json!({"function_call": function("Read", json!("{}"))}));
    assert_eq!(blocks(&stream(&legacy, "function_call")).0, [call("", "Read", json!({}))]);
}

#[test]
fn an_answer_may_end_without_its_last_line_but_not_without_a_reason() {
    let whole = content("so") + &finish("stop");
    assert_eq!(blocks(&whole), (vec![Block::text("so")], StopReason::EndTurn));
    assert_eq!(fault(&content("so")).kind, ErrorKind::Transport);
    assert_eq!(fault(DONE).kind, ErrorKind::Transport);
    assert_eq!(fault("").to_string(), "the answer of local (models.test) was cut off before its end");
    assert_eq!(fault("data: {\"choi\n\n").kind, ErrorKind::Transport);
    let garbled = format!("{whole}data: {{\"choi\n\n");
    assert_eq!(blocks(&garbled).1, StopReason::EndTurn);
    let odd = format!("data: 3\n\n{}{whole}", data(&json!({"choices": [{"delta": null}]})));
    assert_eq!(blocks(&odd).0, [Block::text("so")]);
    assert_eq!(decode_as("text/html", "<html>").1.unwrap().kind, ErrorKind::NotFound);
    assert_eq!(decode_as("application/json", "{\"ok\": true}").1.unwrap().kind, ErrorKind::NotFound);
    assert_eq!(decode_as("application/json", "{\"choices\": [").1.unwrap().kind, ErrorKind::Transport);
}

#[test]
fn errors_in_the_middle_of_an_answer() {
    let kind = |error: Value| fault(&(content("so") + &data(&error))).kind;
    assert_eq!(
        kind(json!({"error": {"message": "slot failed", "type": "server_error", "code": 500}})),
        ErrorKind::Overloaded(None)
    );
    assert_eq!(
        kind(
            json!({"error": {"code": 429, "message": "slow down"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]})
        ),
        ErrorKind::RateLimited(None)
    );
    assert_eq!(kind(json!({"choices": [{"delta": {}, "finish_reason": "error"}]})), ErrorKind::Overloaded(None));
    assert_eq!(kind(json!({"choices": [{"error": {"code": 402, "message": "no credit"}}]})), ErrorKind::Billing);
    assert_eq!(kind(json!({"error": "the request exceeds the available context size"})), ErrorKind::ContextOverflow);
    assert_eq!(
        kind(
            json!({"object": "error", "message": "maximum context length is 10 tokens", "type": "BadRequestError", "code": 400})
        ),
        ErrorKind::ContextOverflow
    );
    let named = "event: error\ndata: {\"message\": \"broken\"}\n\n";
    assert_eq!(fault(named).message, "local (models.test) is overloaded or broken (500: broken)");
    // A field for errors that has nothing in it is none.
    let quiet = data(&json!({"error": null, "choices": [{"delta": {"content": "so"}, "finish_reason": "stop"}]}));
    assert_eq!(blocks(&quiet).0, [Block::text("so")]);
}
