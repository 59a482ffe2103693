//! Owns the small language that the mock understands: one line of Chinese or English becomes steps.
//! Must not know messages, tools or answers. The words are data, in `grammar.json`.

use serde::Deserialize;

const GRAMMAR: &str = include_str!("grammar.json");

/// The language of a request, by its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lang {
    /// Chinese.
    Zh,
    /// English, and everything else.
    En,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Read a file.
    Read(String),
    /// Write a file.
    Write {
        /// The file.
        path: String,
        /// What goes into it.
        content: String,
    },
    /// Run a shell command.
    Run(String),
    /// Have a subagent do something.
    Delegate {
        /// What.
        task: String,
        /// Whether it may only read.
        read_only: bool,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grammar {
    polite: Vec<String>,
    join: Vec<String>,
    noise: Vec<String>,
    run: Vec<String>,
    read: Vec<String>,
    write: Vec<String>,
    write_into: Vec<String>,
    put: Vec<String>,
    inside: Vec<String>,
    take: Vec<String>,
    enter: Vec<String>,
    enter_into: Vec<String>,
    subagent: Vec<String>,
    explore: Vec<String>,
}

const QUOTES: [(char, char); 7] =
    [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('「', '」'), ('《', '》')];
const STOPS: &str = "，。；：！？、";
const TRAILING: &str = ".,;:!?，。；：！？、";

impl Grammar {
    pub(super) fn load() -> Self {
        serde_json::from_str(GRAMMAR).unwrap_or_default()
    }

    /// What `text` asks for; `None` when it does not begin with something that we understand.
    pub(super) fn parse(&self, text: &str) -> Option<(Lang, Vec<Step>)> {
        let mut rest = text.trim();
        while let Some(after) = word(rest, &self.polite) {
            rest = after.trim_start();
        }
        let lang = if rest.starts_with(|c: char| c.is_ascii()) { Lang::En } else { Lang::Zh };
        let delegate = |task: &str, read_only| {
            let task = task.trim_start_matches([':', '：', '，', ',', ' ']).trim().to_owned();
            Some((lang, vec![Step::Delegate { task, read_only }]))
        };
        if let Some(task) = word(rest, &self.explore) {
            return delegate(task, true);
        }
        if let Some(task) = word(rest, &self.subagent) {
            return delegate(task, false);
        }
        let mut steps = Vec::new();
        while let Some(after) = self.step(rest, &mut steps) {
            rest = after.trim_start();
            while let Some(after) = word(rest, &self.join) {
                rest = after.trim_start();
            }
        }
        (!steps.is_empty()).then_some((lang, steps))
    }

    fn step<'a>(&self, rest: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
        if let Some(after) = word(rest, &self.run) {
            let (line, after) = after.split_once('\n').unwrap_or((after, ""));
            let command = unquoted(line.trim().trim_end_matches('。'));
            steps.push(Step::Run(some(command)?));
            return Some(after);
        }
        if let Some(after) = word(rest, &self.read) {
            let (path, after) = self.path(after)?;
            steps.push(Step::Read(path));
            return Some(after);
        }
        if let Some(after) = word(rest, &self.write) {
            return self.write_to(after.trim_start(), &self.write_into, steps);
        }
        if let Some(after) = word(rest, &self.enter) {
            return self.write_to(after.trim_start(), &self.enter_into, steps);
        }
        if let Some(after) = word(rest, &self.take) {
            return self.write_to(after.trim_start(), &self.enter, steps);
        }
        if let Some(after) = word(rest, &self.put) {
            let (path, after) = self.path(after)?;
            let after = word(after.trim_start(), &self.inside).unwrap_or(after);
            let after = word(after.trim_start(), &self.enter)?.trim_start();
            let after = after.trim_start_matches(['：', ':']).trim_start();
            let (content, after) = quoted(after).unwrap_or_else(|| {
                let end = after.find('\n').unwrap_or(after.len());
                let then = self.join.iter().filter(|join| !join.is_ascii() && join.chars().count() > 1);
                let end = then.filter_map(|join| after.find(join.as_str())).fold(end, usize::min);
                (after[..end].trim_end_matches(|c: char| STOPS.contains(c) || c == ' '), &after[end..])
            });
            steps.push(Step::Write { path, content: content.to_owned() });
            return Some(after);
        }
        // After one file, another one needs no verb.
        let (path, after) = self.path(rest)?;
        let again = matches!(steps.last(), Some(Step::Read(_))) && path.contains(['.', '/']);
        again.then(|| steps.push(Step::Read(path)))?;
        Some(after)
    }

    /// `CONTENT to FILE`: the content ends where a word of `into` comes before something that looks
    /// like a file.
    fn write_to<'a>(&self, rest: &'a str, into: &[String], steps: &mut Vec<Step>) -> Option<&'a str> {
        let starts = match quoted(rest) {
            Some((_, after)) => vec![rest.len() - after.trim_start().len()],
            None => rest.char_indices().map(|(at, _)| at).collect(),
        };
        for at in starts {
            let parted = rest[..at].ends_with([' ', '"', '\'', '`', '”', '’', '」'])
                || !rest[at..].starts_with(|c: char| c.is_ascii());
            let Some(after) = word(&rest[at..], into).filter(|_| at > 0 && parted) else {
                continue;
            };
            let Some((path, after)) = self.path(after) else { continue };
            if path.contains(['.', '/']) {
                let content = unquoted(rest[..at].trim()).to_owned();
                steps.push(Step::Write { path, content });
                return Some(after);
            }
        }
        None
    }

    /// The next word as a path. In Chinese nothing needs to stand between it and the next verb.
    fn path<'a>(&self, rest: &'a str) -> Option<(String, &'a str)> {
        let mut rest = rest.trim_start();
        // `文件 a.txt`, but not `文件.txt`.
        while let Some(after) = word(rest, &self.noise).filter(|after| !after.starts_with('.')) {
            rest = after.trim_start();
        }
        if let Some((path, after)) = quoted(rest) {
            return some(path).map(|path| (path, after));
        }
        let ends = |c: char| c.is_whitespace() || STOPS.contains(c);
        let mut end = rest.find(ends).unwrap_or(rest.len());
        let next = [&self.join, &self.read, &self.run, &self.put, &self.take, &self.enter, &self.inside];
        let mut before = ' ';
        for (at, c) in rest[..end].char_indices() {
            let glued = before.is_ascii_graphic() && !c.is_ascii();
            if glued && next.iter().any(|words| word(&rest[at..], words).is_some()) {
                end = at;
                break;
            }
            before = c;
        }
        let path = rest[..end].trim_end_matches(|c: char| TRAILING.contains(c));
        // `.` is a path too.
        let path = if path.is_empty() { &rest[..end] } else { path };
        some(path).map(|path| (path, &rest[end..]))
    }
}

/// What follows the longest of `words` that `rest` begins with. A word of letters ends where no
/// letter follows.
fn word<'a>(rest: &'a str, words: &[String]) -> Option<&'a str> {
    let begins = |word: &&String| {
        let head = rest.get(..word.len());
        let letters = word.ends_with(|c: char| c.is_ascii_alphanumeric());
        let goes_on = rest
            .get(word.len()..)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_./".contains(c)));
        head.is_some_and(|head| head.eq_ignore_ascii_case(word)) && !(letters && goes_on)
    };
    let longest = words.iter().filter(begins).max_by_key(|word| word.len())?;
    Some(&rest[longest.len()..])
}

/// The text in quotes at the start, and what follows them.
fn quoted(rest: &str) -> Option<(&str, &str)> {
    let first = rest.chars().next()?;
    let (_, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    let inner = &rest[first.len_utf8()..];
    let end = inner.find(*close)?;
    Some((&inner[..end], &inner[end + close.len_utf8()..]))
}

/// The text without quotes that stand round all of it.
fn unquoted(text: &str) -> &str {
    quoted(text).filter(|(_, after)| after.is_empty()).map_or(text, |(inner, _)| inner)
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
