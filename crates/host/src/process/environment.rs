//! Owns what the host adds to a child's environment and what it keeps from it. Reads no
//! environment itself.

use std::ffi::{OsStr, OsString};

/// Added to every child: nobody can answer a question or page through output there.
pub(super) const ADDED: [(&str, &str); 9] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    // Asking for a password fails at once instead of waiting for a terminal.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    // An editor would wait as well; the message or plan that was prepared is taken as it is.
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    // `git status` must not take locks beside a command of the user.
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// What git is told whatever it does: a monitor only makes it faster, and may be any program.
const ALWAYS: [(&str, &str); 1] = [("core.fsmonitor", "false")];
/// What it is told on top where it was judged to only read: to run no hook, and to enter no repository that
/// merely lies there. Other commands obey hooks, since a commit that somebody permits is to run them, and
/// enter such repositories, since toolchains keep some.
const READING: [(&str, &str); 2] = [("core.hooksPath", "/dev/null"), ("safe.bareRepository", "explicit")];

/// Settings of git for a command, as variables.
pub fn git_settings(only_reads: bool) -> Vec<(OsString, OsString)> {
    let more: &[(&str, &str)] = if only_reads { &READING } else { &[] };
    let mut env = Vec::new();
    for (number, (key, value)) in ALWAYS.iter().chain(more).enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{number}").into(), (*key).into()));
        env.push((format!("GIT_CONFIG_VALUE_{number}").into(), (*value).into()));
    }
    env.push(("GIT_CONFIG_COUNT".into(), (env.len() / 2).to_string().into()));
    env
}

/// Ends of names that hold secrets, and beginnings that belong to the agent's own providers.
const SECRET_ENDS: [&str; 3] = ["_API_KEY", "_TOKEN", "_SECRET"];
const SECRET_STARTS: [&str; 2] = ["ANTHROPIC_", "DEEPSEEK_"];

/// The variables that a command written by a model may see: all but keys, tokens and secrets.
pub fn without_secrets(env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    env.into_iter().filter(|(name, _)| !is_secret(name)).collect()
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET_ENDS.iter().any(|end| name.ends_with(end)) || SECRET_STARTS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_here() {
        let names = ["PATH", "ANTHROPIC_BASE_URL", "DEEPSEEK_API_KEY", "my_api_key", "TOKEN_FILE"];
        let more = ["GITHUB_TOKEN", "AWS_SECRET", "HOME"];
        let env = names.iter().chain(&more).map(|name| (name.into(), "x".into())).collect();
        let kept: Vec<OsString> = without_secrets(env).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "TOKEN_FILE", "HOME"]);
    }
}
