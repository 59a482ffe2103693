//! Owns what the host adds to a child's environment and what it keeps from it: all is inherited but
//! secrets and what would put other code into programs than a reader of the command sees. Which variables
//! those are is data. Reads no environment itself.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

/// Added to every child: nobody can answer a question or page through output there.
pub(super) const ADDED: [(&str, &str); 12] = [
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
    // A helper of git opens a window instead of asking in the terminal.
    ("GCM_INTERACTIVE", "never"),
    // By these, programs know that an agent reads what they say; the second is the name that they look for.
    ("RSAGENT", "1"),
    ("CLAUDECODE", "1"),
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

#[derive(Deserialize)]
struct Lists {
    /// Inherited whatever the lists below say.
    kept: Vec<Row>,
    /// Withheld, since they hold secrets.
    secret: Vec<Row>,
    /// What secrets begin with, whatever their variable is called.
    values: Vec<String>,
    /// Withheld, since they change what programs do.
    code: Vec<Row>,
    /// Lists of folders, of which only absolute ones are inherited.
    paths: Vec<Row>,
}

/// Each row of the data has its reason beside it.
#[derive(Deserialize)]
struct Row {
    /// A name, letter case aside, in which `*` stands for any text.
    name: String,
    /// It counts only where the value has one of these in it.
    #[serde(default)]
    holds: Vec<String>,
}

/// Read once, for the first child.
static LISTS: LazyLock<Option<Lists>> = LazyLock::new(|| serde_json::from_str(include_str!("environment.json")).ok());

/// What a command may see of these variables. `more` are patterns of further names to withhold, or, behind
/// a `!`, of names to let through all the same, the last that fits deciding.
pub fn inherited(env: Vec<(OsString, OsString)>, more: &[String]) -> Vec<(OsString, OsString)> {
    // Without the lists nothing is known to be harmless.
    let Some(lists) = LISTS.as_ref() else { return Vec::new() };
    env.into_iter()
        .filter(|(name, value)| {
            let (name, value) = (name.to_string_lossy().to_uppercase(), value.to_string_lossy());
            let wish = more.iter().rev().find_map(|pattern| match pattern.strip_prefix('!') {
                Some(pattern) => fits(pattern, &name).then_some(true),
                None => fits(pattern, &name).then_some(false),
            });
            wish.unwrap_or_else(|| lists.pass(&name, &value))
        })
        .filter_map(|(name, value)| {
            let folders = lists.paths.iter().any(|row| row.means(&name.to_string_lossy(), ""));
            let value = if folders { absolute_only(&value)? } else { value };
            Some((name, value))
        })
        .collect()
}

impl Lists {
    fn pass(&self, name: &str, value: &str) -> bool {
        let listed = |rows: &[Row]| rows.iter().any(|row| row.means(name, value));
        let secret = || listed(&self.secret) || self.is_secret(value);
        listed(&self.kept) || !secret() && !listed(&self.code)
    }

    fn is_secret(&self, value: &str) -> bool {
        self.values.iter().any(|start| value.starts_with(start.as_str())) || has_password(value)
    }
}

impl Row {
    fn means(&self, name: &str, value: &str) -> bool {
        fits(&self.name, name) && (self.holds.is_empty() || self.holds.iter().any(|part| value.contains(part.as_str())))
    }
}

/// Whether a name, letter case aside, is the pattern's, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_uppercase(), name.to_uppercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether an address has a name and a password in it.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ', '\n']).next().unwrap_or_default();
        let user = host.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

/// The absolute ones of a list of folders, in order; `None` where there is none. An empty list would mean
/// the working folder.
fn absolute_only(folders: &OsStr) -> Option<OsString> {
    let absolute = std::env::split_paths(folders).filter(|folder| Path::is_absolute(folder));
    std::env::join_paths(absolute).ok().filter(|folders| !folders.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(env: &[(&str, &str)], more: &[&str]) -> Vec<String> {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let more: Vec<String> = more.iter().map(|pattern| (*pattern).to_owned()).collect();
        inherited(env, &more).into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn toolchains_find_what_they_need() {
        let env = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/me"),
            ("PWD", "/w"),
            ("LANG", "C.UTF-8"),
            ("VIRTUAL_ENV", "/w/.venv"),
            ("CARGO_HOME", "/c"),
            ("NVM_DIR", "/n"),
            ("JAVA_HOME", "/j"),
            ("GOPATH", "/g"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("PYTHONPATH", "/p"),
            ("HTTP_PROXY", "http://me:pass@proxy:3128"),
            ("https_proxy", "http://proxy:3128"),
            ("PIP_EXTRA_INDEX_URL", "https://me:pass@index/simple"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("KUBECONFIG", "/k"),
            ("AWS_PROFILE", "dev"),
            ("TOKEN_FILE", "/t"),
            ("KEYBOARD", "us"),
            ("GIT_AUTHOR_NAME", "me"),
            ("NODE_OPTIONS", "--max-old-space-size=8192"),
            ("JAVA_TOOL_OPTIONS", "-Xmx2g"),
            ("URL", "https://example.com:443/a@b"),
            ("NO_COLOR", ""),
        ];
        assert_eq!(names(&env, &[]), env.map(|(name, _)| name));
    }

    #[test]
    fn secrets_stay_here() {
        for (name, value) in [
            ("ANTHROPIC_BASE_URL", "x"),
            ("DEEPSEEK_API_KEY", "x"),
            ("my_api_key", "x"),
            ("GITHUB_TOKEN", "x"),
            ("GH_TOKEN", "x"),
            ("NPM_TOKEN", "x"),
            ("npm_config__auth", "x"),
            ("AWS_SECRET", "x"),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "x"),
            ("CLIENT_SECRET_ID", "x"),
            ("PGPASSWORD", "x"),
            ("DB_PWD", "x"),
            ("SECRET_KEY_BASE", "x"),
            ("SIGNING_KEY", "x"),
            ("DATABASE_URL", "postgres://me:pass@host/db"),
            ("ANYTHING", "sk-ant-abc"),
            ("ANYTHING", "redis://:pass@host"),
        ] {
            assert_eq!(names(&[(name, value)], &[]), Vec::<String>::new(), "{name}");
        }
        assert_eq!(names(&[("DATABASE_URL", "postgres://me@host/db")], &[]), ["DATABASE_URL"]);
    }

    #[test]
    fn code_stays_out() {
        for (name, value) in [
            ("LD_PRELOAD", "x"),
            ("DYLD_INSERT_LIBRARIES", "x"),
            ("BASH_ENV", "x"),
            ("BASH_FUNC_ls%%", "() { x; }"),
            ("GIT_EXTERNAL_DIFF", "x"),
            ("GIT_DIR", "x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("RIPGREP_CONFIG_PATH", "x"),
            ("CDPATH", "/"),
            ("NODE_OPTIONS", "--require ./x.js"),
            ("_JAVA_OPTIONS", "-Xmx1g -javaagent:x.jar"),
            ("GOFLAGS", "-toolexec=x"),
            ("PATH", ".:node_modules/.bin"),
        ] {
            assert_eq!(names(&[(name, value)], &[]), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn folders_of_the_workspace_are_no_place_for_programs() {
        let env = vec![("PATH".into(), ":/usr/bin:.:node_modules/.bin:/bin:".into())];
        assert_eq!(inherited(env, &[]), [("PATH".into(), "/usr/bin:/bin".into())]);
    }

    #[test]
    fn people_may_name_more_and_except_some() {
        let env = [("GH_TOKEN", "x"), ("NPM_TOKEN", "x"), ("CORP_THING", "x"), ("K", "x"), ("PATH", "/bin")];
        assert_eq!(names(&env, &["K", "corp_*", "!GH_TOKEN"]), ["GH_TOKEN", "PATH"]);
        assert_eq!(names(&env, &["!*", "*TOKEN", "!NPM_*"]), ["NPM_TOKEN", "CORP_THING", "K", "PATH"]);
    }

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, expected) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("a", "A", true),
            ("A*", "A", true),
            ("*A", "BA", true),
            ("*A*", "BAC", true),
            ("A*B*C", "A1B2C", true),
            ("A*B*C", "A1C2B", false),
            ("A*A", "A", false),
            ("*", "", true),
            ("*_PAT", "PATH", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
