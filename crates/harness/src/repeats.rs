//! Owns the guard against going in circles: the same failure again and again, whatever the calls
//! were. Must not know which tools there are.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use kernel::{Block, Call, Extension, ToolOutput};

/// So many failures of one kind in a row, and the model is told.
const PATIENCE: u32 = 4;

/// The feature. Agents of one depth share a count: a dead backend is dead for all of them.
#[derive(Debug, Default)]
pub struct Repeats(Mutex<HashMap<u32, (String, u32)>>);

#[async_trait]
impl Extension for Repeats {
    fn name(&self) -> &str {
        "repeats"
    }

    async fn after_tool(&self, call: &Call, output: &ToolOutput) -> Vec<Block> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !output.is_error {
            seen.remove(&call.at.depth);
            return Vec::new();
        }
        let failure = kind_of(&call.name, &output.content.text());
        let (last, count) = seen.entry(call.at.depth).or_default();
        if *last != failure {
            (*last, *count) = (failure, 0);
        }
        *count += 1;
        if *count % PATIENCE != 0 {
            return Vec::new();
        }
        let text = format!(
            "The last {count} tool calls failed in the same way. Another call with other arguments will not help. \
             Find out why it fails, take another way, or stop and tell the user what is broken."
        );
        vec![Block::text(text)]
    }
}

/// Tool and error without what differs from call to call: numbers, quoted text, all but the first line.
fn kind_of(tool: &str, error: &str) -> String {
    let line = error.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let mut kind = format!("{tool}: ");
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '`') => quote = Some(c),
            None if !c.is_ascii_digit() => kind.push(c),
            None => {}
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use kernel::{At, ToolUseId};
    use serde_json::json;

    use super::*;

    /// What the model is told after each of these results, if it is.
    fn told(results: &[ToolOutput]) -> Vec<usize> {
        let guard = Repeats::default();
        let tell = |number: usize| {
            let input = json!({"query": number});
            let call = Call { at: At { depth: 0, turn: 1 }, id: ToolUseId("a".into()), name: "Search".into(), input };
            guard.after_tool(&call, &results[number]).now_or_never().unwrap().len()
        };
        (0..results.len()).map(tell).collect()
    }

    #[test]
    fn retry_storm_d789fe() {
        let refused = |port: u16| ToolOutput::error(format!("connection refused (port {port}) for \"query {port}\""));
        let failures: Vec<_> = (1..=5).map(refused).collect();
        assert_eq!(told(&failures), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_success_or_another_failure_begins_anew() {
        let fail = || ToolOutput::error("no such file");
        let results =
            [fail(), fail(), fail(), ToolOutput::ok("x"), fail(), ToolOutput::error("denied"), fail(), fail()];
        assert_eq!(told(&results), [0; 8]);
    }
}
