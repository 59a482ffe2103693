//! Owns where servers put the counts of tokens, and what they mean by them. Must not know chunks.

use kernel::Usage;
use serde_json::Value;

use crate::wire::tokens;

/// The counts in a chunk, wherever they are. Some servers send a null or zeros first.
pub(super) fn find(chunk: &Value) -> Option<&Value> {
    let choice = &chunk["choices"][0];
    let places = [
        &chunk["usage"],
        &choice["usage"],
        &choice["delta"]["usage"],
        &choice["message"]["usage"],
        &chunk["x_groq"]["usage"],
    ];
    places.into_iter().find(|usage| usage.is_object())
}

/// Lays counts over those that are known. Counts are of the whole call: the last ones hold, but for
/// zeros, which stand for not known. Prompt tokens include those that were read from a cache.
pub(super) fn add(known: &mut Usage, usage: &Value) {
    let first = |places: &[&Value]| places.iter().find_map(|value| Some(tokens(value)).filter(|count| *count > 0));
    let details = &usage["prompt_tokens_details"];
    let prompt = first(&[&usage["prompt_tokens"], &usage["input_tokens"]]);
    let cached = first(&[&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]]);
    let written = first(&[&details["cache_write_tokens"], &details["cache_creation_tokens"]]);
    if let Some(prompt) = prompt {
        let (cached, written) = (cached.unwrap_or(0), written.unwrap_or(0));
        // Where more was cached than asked, the cached ones were not counted in.
        known.input_tokens = prompt.checked_sub(cached + written).unwrap_or(prompt);
        known.cache_read_input_tokens = cached;
        known.cache_creation_input_tokens = written;
    }
    if let Some(output) = first(&[&usage["completion_tokens"], &usage["output_tokens"]]) {
        known.output_tokens = output;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cached_tokens_are_counted_apart_by_any_name() {
        let of = |usage: Value| {
            let mut known = Usage::default();
            add(&mut known, &usage);
            (known.input_tokens, known.cache_read_input_tokens, known.cache_creation_input_tokens, known.output_tokens)
        };
        let openai =
            json!({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}});
        assert_eq!(of(openai), (2, 8, 0, 2));
        let deepseek = json!({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6});
        assert_eq!(of(deepseek), (6, 4, 0, 2));
        assert_eq!(of(json!({"prompt_tokens": 10, "cached_tokens": 10})), (0, 10, 0, 0));
        let written =
            json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 5}});
        assert_eq!(of(written), (2, 3, 5, 0));
        assert_eq!(of(json!({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}})), (3, 8, 0, 0));
        assert_eq!(of(json!({"prompt_tokens": null, "prompt_tokens_details": null})), (0, 0, 0, 0));
    }

    #[test]
    fn zeros_do_not_undo_what_is_known() {
        let mut known = Usage::default();
        add(&mut known, &json!({"prompt_tokens": 7, "completion_tokens": 0}));
        add(&mut known, &json!({"prompt_tokens": 0, "completion_tokens": 3}));
        assert_eq!((known.input_tokens, known.output_tokens), (7, 3));
    }
}
