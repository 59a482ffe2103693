//! Owns why a command line may run or not, without running it. Must not know how that is shown.

use kernel::{Decision, Mode, Place, Rule, Rules, decide, gate};
use serde_json::json;
use tools::Typed;
use tools::bash::{Bash, Explanation};

/// The decision on a command line, and all that it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What the chain says.
    pub decision: Decision,
    /// What the command line does, in words.
    pub reason: String,
    /// The rules that would let it run, where rules can.
    pub suggestions: Vec<Rule>,
    /// Its parts.
    pub parts: Explanation,
}

/// Judges a command line as a call of `Bash` would be judged.
pub fn explain(command: &str, mode: Mode, rules: &Rules, place: &Place) -> Explained {
    let judgement = gate::judge(&Typed(Bash::new(Vec::new())), &json!({"command": command}), rules, place);
    Explained {
        decision: decide(mode, &judgement),
        reason: judgement.reason,
        suggestions: judgement.suggestions,
        parts: tools::bash::explain(command, rules, place),
    }
}
