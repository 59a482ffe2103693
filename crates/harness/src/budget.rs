//! Owns the spending limit of a session: no call is made that would exceed it. Must not know prices
//! or who is asked: an estimate arrives as a function.
//!
//! Agents that run side by side share it: what a call may cost is reserved while it goes on.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use kernel::query::Meter;
use kernel::{Extension, Permit};

/// What an input of so many tokens costs, in US dollars.
pub type Estimate = Arc<dyn Fn(u64) -> Option<f64> + Send + Sync>;

/// The feature.
pub struct Budget {
    /// US dollars.
    limit: f64,
    /// What was spent.
    meter: Meter,
    estimate: Mutex<Estimate>,
    /// What the calls that go on may cost, in US dollars.
    reserved: Arc<Mutex<f64>>,
}

impl Budget {
    /// A limit in US dollars on what `meter` counts.
    pub fn new(limit: f64, meter: Meter, estimate: Estimate) -> Self {
        Self { limit, meter, estimate: Mutex::new(estimate), reserved: Arc::default() }
    }

    /// Another model has other prices.
    pub fn set(&self, estimate: Estimate) {
        *self.estimate.lock().unwrap_or_else(PoisonError::into_inner) = estimate;
    }
}

#[async_trait]
impl Extension for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    async fn before_call(&self, tokens: u64) -> Result<Permit, String> {
        let estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let total = self.meter.total();
        let spent = if total.total() == 0 { Some(0.0) } else { total.cost };
        let (Some(cost), Some(spent)) = (estimate(tokens), spent) else {
            return Err("the price of a call is not known, so the budget cannot be kept".into());
        };
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if spent + *reserved + cost > self.limit {
            return Err(format!(
                "the budget of ${} is used up: ${spent:.4} are spent, and the next call's input costs about ${cost:.4}",
                self.limit
            ));
        }
        *reserved += cost;
        Ok(Box::new(Reservation { reserved: self.reserved.clone(), cost }))
    }
}

struct Reservation {
    reserved: Arc<Mutex<f64>>,
    cost: f64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        *self.reserved.lock().unwrap_or_else(PoisonError::into_inner) -= self.cost;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn calls_that_go_on_are_reserved_for() {
        let dollars_per_token: Estimate = Arc::new(|tokens| Some(tokens as f64));
        let budget = Budget::new(10.0, Meter::default(), dollars_per_token);
        let call = |tokens| budget.before_call(tokens).now_or_never().unwrap();
        let first = call(6).unwrap();
        assert_eq!(
            call(5).map(drop),
            Err("the budget of $10 is used up: $0.0000 are spent, and the next call's input costs about $5.0000".into())
        );
        let second = call(4).unwrap();
        drop(first);
        let third = call(6).unwrap();
        drop((second, third));
        assert!(call(11).is_err());
        assert!(call(10).is_ok());
    }

    #[test]
    fn an_unknown_price_stops_everything() {
        let budget = Budget::new(10.0, Meter::default(), Arc::new(|_| None));
        assert!(budget.before_call(1).now_or_never().unwrap().is_err());
    }
}
