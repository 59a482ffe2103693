//! Owns which command lines record history and nothing else, so that a sandbox may open the repository for
//! them. Must not know what a sandbox is.

use host::sandbox::Grant;
use shell::{Analysis, SimpleCommand};

/// They change the repository, and of the working tree at most what they are told to remove or move.
const COMMIT: [&str; 6] = ["add", "commit", "tag", "branch", "rm", "mv"];
/// They bring other versions of files into the working tree, protected ones included.
const CHECKOUT: [&str; 10] =
    ["switch", "checkout", "restore", "reset", "merge", "rebase", "cherry-pick", "revert", "stash", "init"];

/// What a command line needs of its repository: nothing, unless all of it is plain git or only reads.
pub(super) fn grant(analysis: &Analysis) -> Grant {
    if analysis.opaque.is_some() || analysis.verdict.is_read_only() {
        return Grant::Nothing;
    }
    let mut needed = Grant::Nothing;
    for command in analysis.commands.iter().filter(|command| !command.guess) {
        match subcommand(command) {
            Some(word) if COMMIT.contains(&word) => {
                if needed == Grant::Nothing {
                    needed = Grant::Commit;
                }
            }
            Some(word) if CHECKOUT.contains(&word) => needed = Grant::Checkout,
            _ if command.verdict.is_read_only() => {}
            // Git itself may be read-only or not: what it shows changes nothing.
            Some("status" | "diff" | "log" | "show" | "rev-parse") => {}
            _ => return Grant::Nothing,
        }
    }
    needed
}

/// The subcommand, where nothing stands before it that would make git another program.
fn subcommand(command: &SimpleCommand) -> Option<&str> {
    let plain = command.wrappers.is_empty()
        && command.assignments.is_empty()
        && command.redirections.iter().all(|redirection| !redirection.writes);
    let mut words = command.words.iter();
    let git = words.next()?.text()?;
    (plain && git == "git").then(|| words.next()?.text()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_git_opens_the_repository() {
        let place = shell::Place { cwd: "/w".into(), home: None, clean: false };
        for (text, expected) in [
            ("git commit -m 'a; b'", Grant::Commit),
            ("git add -A && git commit -qm x && git log -1", Grant::Commit),
            ("cd sub && git add . && git status", Grant::Commit),
            ("git switch -c topic && git commit -m x", Grant::Checkout),
            ("git status", Grant::Nothing),
            ("ls", Grant::Nothing),
            ("make && git commit -m x", Grant::Nothing),
            ("git -c core.hooksPath=. commit -m x", Grant::Nothing),
            ("GIT_DIR=x git commit -m x", Grant::Nothing),
            ("env git commit -m x", Grant::Nothing),
            ("./git commit -m x", Grant::Nothing),
            ("git config user.name x", Grant::Nothing),
            ("git commit -m x > out", Grant::Nothing),
            ("git commit -m \"$(make)\"", Grant::Nothing),
        ] {
            assert_eq!(grant(&shell::analyse(text, &place)), expected, "{text}");
        }
    }
}
