//! Owns what a sandbox means for one command: where it runs, whether that is asked, and what is said when it
//! was stopped. Must not know how a sandbox works.

use host::process::{End, Finished};
use host::sandbox::{Grant, Layer, Network, Plan, Profile};
use kernel::{Effect, Judgement};
use shell::Analysis;
use shell::matching::{Pattern, covers};

use super::git;
use crate::sandbox::Confinement;

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Inside, and what it may do there besides.
    Inside(Grant),
    /// Outside, as the settings have it.
    Excluded,
    /// Outside, as the model wants it.
    Outside,
    /// Nowhere: it wants to run outside and may not.
    Refused,
}

/// The way of a command that asks to leave or not.
pub(super) fn way(confinement: &Confinement, analysis: &Analysis, leave: bool) -> Way {
    if leave {
        return if confinement.may_leave { Way::Outside } else { Way::Refused };
    }
    let excluded: Vec<Pattern> = confinement.excluded.iter().map(|text| Pattern::new(text)).collect();
    let mut commands = analysis.commands.iter().filter(|command| !command.guess).peekable();
    let all = analysis.opaque.is_none()
        && commands.peek().is_some()
        && commands.all(|command| excluded.iter().any(|pattern| covers(pattern, command)));
    if all { Way::Excluded } else { Way::Inside(git::grant(analysis)) }
}

/// What the way makes of a judgement.
pub(super) fn adjust(judgement: Judgement, way: Way, confinement: &Confinement) -> Judgement {
    match way {
        // A repository is opened for what a person or a rule let happen, so that is asked as ever.
        Way::Inside(Grant::Commit | Grant::Checkout) | Way::Excluded => judgement,
        Way::Inside(Grant::Nothing) => Judgement { covered: judgement.covered || confinement.auto_allow, ..judgement },
        Way::Outside => Judgement {
            effect: Effect::Other,
            reason: format!("it asks to run outside the sandbox: {}", judgement.reason),
            ..judgement
        },
        // Nothing will happen, so nobody need be asked.
        Way::Refused => Judgement { effect: Effect::ReadOnly, reason: REFUSED.to_owned(), ..judgement },
    }
}

/// What is said to a command that may not leave.
pub(super) const REFUSED: &str =
    "commands may not run outside the sandbox (sandbox.allowUnsandboxedCommands is false in the settings)";

/// Signs of a refusal in what a failed command says, and what they are signs of.
const SIGNS: [(&str, Blocked); 25] = [
    ("read-only file system", Blocked::Files),
    ("permission denied", Blocked::Files),
    ("operation not permitted", Blocked::Files),
    ("device or resource busy", Blocked::Files),
    ("invalid cross-device link", Blocked::Files),
    ("erofs", Blocked::Files),
    ("eacces", Blocked::Files),
    ("eperm", Blocked::Files),
    ("network is unreachable", Blocked::Network),
    ("could not resolve host", Blocked::Network),
    ("couldn't resolve host", Blocked::Network),
    ("temporary failure in name resolution", Blocked::Network),
    ("name or service not known", Blocked::Network),
    ("name resolution", Blocked::Network),
    ("could not resolve", Blocked::Network),
    ("failed to lookup address", Blocked::Network),
    ("failed to connect", Blocked::Network),
    ("no such host", Blocked::Network),
    ("no route to host", Blocked::Network),
    ("getaddrinfo", Blocked::Network),
    ("eai_again", Blocked::Network),
    ("enetunreach", Blocked::Network),
    ("dial tcp", Blocked::Network),
    ("blocked by the sandbox", Blocked::Network),
    ("proxy connect aborted", Blocked::Network),
];

/// What a sandbox keeps a command from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Files.
    Files,
    /// The network.
    Network,
}

impl Blocked {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
        }
    }

    /// What a failed command seems to have been kept from.
    pub(super) fn seen_in(finished: &Finished) -> Option<Self> {
        let failed = match finished.end {
            End::Code(code) => code != 0,
            End::Signal(_) => true,
            End::TimedOut | End::Cancelled => false,
        };
        let said = finished.output.to_lowercase();
        let signs = SIGNS.iter().filter(|(sign, _)| said.contains(sign));
        // What is said of the network says more: a failed lookup may well be "not permitted".
        signs.map(|(_, blocked)| *blocked).max_by_key(|blocked| *blocked == Self::Network).filter(|_| failed)
    }

    /// A line for the model and the person.
    pub(super) fn line(self, confinement: &Confinement) -> String {
        let plan = confinement.sandbox.plan();
        let bounds = match self {
            Self::Files => writes(plan, confinement.sandbox.layer()),
            Self::Network => reaches(&plan.network),
        };
        let remedy = match confinement.may_leave {
            true => "if it must, call again with dangerouslyDisableSandbox: true, and the person is asked",
            false => "commands may not leave it",
        };
        format!("[sandbox {}: this may be its refusal: {bounds}; {remedy}]", confinement.sandbox.level())
    }
}

fn writes(plan: &Plan, layer: Layer) -> String {
    let (temp, more) = match layer {
        Layer::Bubblewrap => ("$TMPDIR and /tmp", ""),
        Layer::Landlock => ("$TMPDIR", ", and nothing new can be made directly in these folders"),
        Layer::Seatbelt => ("$TMPDIR", ""),
    };
    match plan.profile {
        Profile::Off | Profile::ReadOnly => format!("only {temp} may be written"),
        Profile::WorkspaceWrite => {
            let folders = plan.roots.iter().chain(&plan.write);
            let shown: Vec<String> = folders.map(|path| path.display().to_string()).collect();
            let names = "names such as .git, .rsagent and .vscode at the top of the workspace stay as they are";
            format!("only {}, {temp} may be written{more}, and {names}", shown.join(", "))
        }
    }
}

fn reaches(network: &Network) -> String {
    match network {
        Network::Off => "there is no network".to_owned(),
        Network::Hosts(names) => format!("of the network only {} may be reached, through a proxy", names.join(", ")),
        Network::Open => "Unix sockets may not be used".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_recognised_in_what_a_failed_command_says() {
        let seen = |code, output: &str| {
            Blocked::seen_in(&Finished { end: End::Code(code), output: output.into(), dropped: 0 })
        };
        assert_eq!(seen(1, "touch: cannot touch '/x': Read-only file system\n"), Some(Blocked::Files));
        assert_eq!(seen(6, "curl: (6) Could not resolve host: example.com"), Some(Blocked::Network));
        assert_eq!(seen(1, "dial tcp: operation not permitted"), Some(Blocked::Network));
        assert_eq!(seen(0, "Permission denied"), None);
        assert_eq!(seen(1, "assertion failed"), None);
    }
}
