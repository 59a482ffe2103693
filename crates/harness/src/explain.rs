//! Owns why a command line may run or not, without running it. Must not know how that is shown.

use kernel::{Decision, Effect, Mode, Place, Rule, Rules, decide, gate};
use serde_json::json;
use tools::Typed;
use tools::bash::{Bash, Explanation};

/// The decision on a command line, and all that it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What the chain says.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
    /// The rules that would let it run, where rules can.
    pub suggestions: Vec<Rule>,
    /// Its parts.
    pub parts: Explanation,
}

/// Judges a command line as a call of `Bash` would be judged.
pub fn explain(command: &str, mode: Mode, rules: &Rules, place: &Place) -> Explained {
    let judgement = gate::judge(
        &Typed(Bash::new(Vec::new(), &[], tools::sandbox::Jail::default())),
        &json!({"command": command}),
        rules,
        place,
    );
    let decision = decide(mode, &judgement);
    let reason = match &decision {
        Decision::Deny(reason) | Decision::Ask(reason) => reason.clone(),
        Decision::Allow if mode == Mode::BypassPermissions => "no deny or ask rule stops it".into(),
        Decision::Allow if judgement.covered && judgement.effect != Effect::ReadOnly => {
            "allow rules cover every part".into()
        }
        Decision::Allow => judgement.reason,
    };
    Explained {
        decision,
        reason,
        suggestions: judgement.suggestions,
        parts: tools::bash::explain(command, rules, place),
    }
}
