//! Owns what a call costs. Must not know where prices come from.

use std::sync::Arc;

use futures::StreamExt;
use kernel::{Model, ModelEvent, ModelEvents, ModelRequest, Usage};
use serde::Deserialize;

/// What a million tokens cost, in US dollars, for prompts of up to a size: the whole call has one price.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// The largest prompt in tokens, cached ones included; none where there is no bound.
    #[serde(default)]
    pub up_to: Option<u64>,
    /// A million prompt tokens.
    pub input: f64,
    /// A million tokens of the answer.
    pub output: f64,
    /// Reading from the cache, as a multiple of `input`.
    #[serde(default = "tenth")]
    pub cache_read: f64,
    /// Writing to the cache for five minutes, as a multiple of `input`.
    #[serde(default = "quarter_more")]
    pub cache_write: f64,
    /// Writing to the cache for an hour, as a multiple of `input`.
    #[serde(default = "twice")]
    pub cache_write_hour: f64,
}

fn tenth() -> f64 {
    0.1
}

fn quarter_more() -> f64 {
    1.25
}

fn twice() -> f64 {
    2.0
}

/// US dollars of one call; `None` where the price is not known.
pub fn cost(prices: &[Price], usage: &Usage) -> Option<f64> {
    let prompt = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
    let price = prices.iter().find(|price| price.up_to.is_none_or(|most| prompt <= most))?;
    let hour = usage.ephemeral_1h_input_tokens.min(usage.cache_creation_input_tokens);
    let input = usage.input_tokens as f64
        + usage.cache_read_input_tokens as f64 * price.cache_read
        + (usage.cache_creation_input_tokens - hour) as f64 * price.cache_write
        + hour as f64 * price.cache_write_hour;
    Some((input * price.input + usage.output_tokens as f64 * price.output) / 1e6)
}

/// A model whose usage carries what it cost, where that is known.
pub struct Priced {
    model: Arc<dyn Model>,
    prices: Arc<[Price]>,
}

impl Priced {
    /// `model` at these prices.
    pub fn new(model: Arc<dyn Model>, prices: Vec<Price>) -> Self {
        Self { model, prices: prices.into() }
    }
}

impl Model for Priced {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let prices = self.prices.clone();
        let priced = move |event| match event {
            Ok(ModelEvent::Usage(usage)) => Ok(ModelEvent::Usage(Usage { cost: cost(&prices, &usage), ..usage })),
            other => other,
        };
        Box::pin(self.model.stream(request).map(priced))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;

    fn dollars(model: &str, usage: Usage) -> Option<String> {
        let prices = Table::built_in().facts(model).unwrap().prices;
        cost(&prices, &usage).map(|dollars| format!("{dollars:.3}"))
    }

    #[test]
    fn cost_price_fb688d() {
        let read = Usage { cache_read_input_tokens: 1_000_000, ..Usage::default() };
        let models = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-5", "claude-fable-5-1"];
        let costs = models.map(|model| dollars(model, read));
        assert_eq!(costs.map(Option::unwrap), ["0.200", "0.100", "0.500", "0.250"]);
    }

    #[test]
    fn the_whole_call_is_in_one_band() {
        let of = |read| Usage {
            input_tokens: 1_000,
            cache_read_input_tokens: read,
            output_tokens: 1_000,
            ..Usage::default()
        };
        let haiku = |read| dollars("claude-haiku-5-5", of(read)).unwrap();
        // 1,000 × 0.10 + 99,000 × 0.01 + 1,000 × 0.50; one token more, and everything costs five times as much.
        assert_eq!([haiku(99_000), haiku(99_001)], ["0.002", "0.008"]);
    }

    #[test]
    fn writes_for_an_hour_cost_more() {
        let usage =
            Usage { cache_creation_input_tokens: 2_000_000, ephemeral_1h_input_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(dollars("claude-sonnet-5-5", usage).unwrap(), "6.500");
    }

    #[test]
    fn without_a_price_there_is_no_guess() {
        assert_eq!(dollars("unheard of", Usage { input_tokens: 1, ..Usage::default() }), None);
    }
}
