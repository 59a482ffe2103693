//! Owns which features a session has, in which order they are called, and how they follow its model. Must not know what
//! a feature does.

use std::sync::Arc;

use kernel::query::Meter;
use kernel::{Extension, Extensions, Usage};
use models::Connection;
use models::table::cost;

use crate::budget::{Budget, Estimate};
use crate::context::{Context, Policy};
use crate::environment::Environment;
use crate::repeats::Repeats;
use crate::session::{SessionConfig, SessionError, number};

/// Variables that set the compaction threshold, in tokens of messages.
const THRESHOLD: [&str; 2] = ["RSAGENT_COMPACT_THRESHOLD", "MYAGENT_COMPACT_THRESHOLD"];

/// The features of a session that follow its model.
pub(crate) struct Features {
    context: Arc<Context>,
    budget: Option<Arc<Budget>>,
}

impl Features {
    /// The features of a session with this model.
    pub(crate) fn new(config: &SessionConfig, connection: &Connection, meter: &Meter) -> Result<Self, SessionError> {
        let context = Arc::new(Context::new(policy(&config.environment, connection)?));
        let budget = match config.max_budget {
            Some(limit) => Some(Arc::new(Budget::new(limit, meter.clone(), estimate(connection)?))),
            None => None,
        };
        Ok(Self { context, budget })
    }

    /// The features of a session, in the order in which they are called.
    pub(crate) fn list(&self) -> Extensions {
        let budget = self.budget.clone().map(|budget| budget as Arc<dyn Extension>);
        let others: [Arc<dyn Extension>; 2] = [self.context.clone(), Arc::new(Repeats::default())];
        Extensions::new(budget.into_iter().chain(others).collect())
    }

    /// Follows a change of the model. On an error nothing has changed.
    pub(crate) fn adapt(&self, config: &SessionConfig, connection: &Connection) -> Result<(), SessionError> {
        let policy = policy(&config.environment, connection)?;
        if let Some(budget) = &self.budget {
            budget.set(estimate(connection)?);
        }
        self.context.set(policy);
        Ok(())
    }
}

fn policy(environment: &Environment, connection: &Connection) -> Result<Policy, SessionError> {
    Ok(Policy {
        threshold: number(environment, &THRESHOLD)?,
        window: connection.facts.context_window,
        reserve: u64::from(connection.max_tokens),
        max_output: connection.facts.max_output,
        bound: connection.facts.thinking.bound,
        echo: connection.facts.thinking.echo,
    })
}

/// What the input of a call costs at most: as if none of it came from the cache.
fn estimate(connection: &Connection) -> Result<Estimate, SessionError> {
    if let Some(model) = &connection.unpriced {
        return Err(SessionError::Price { model: model.clone() });
    }
    let prices = connection.facts.prices.clone();
    Ok(Arc::new(move |tokens| cost(&prices, &Usage { input_tokens: tokens, ..Usage::default() })))
}
