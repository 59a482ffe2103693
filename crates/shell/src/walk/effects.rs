//! Redirections: which files they open, and whether they write.

use std::collections::HashSet;
use std::path::Path;

use crate::analysis::{Access, Cause, FileAccess, Part, Redirection, SimpleCommand, Verdict, What, Word};
use crate::paths::join;
use crate::syntax::{self, Descriptor, Redirect, RedirectKind};
use crate::word::resolve;

use super::{Scene, Walker, target_word};

/// Into this, anything may be written.
const SINK: &str = "/dev/null";

/// Files that open anew what a descriptor is open on.
const REOPENED: [&str; 2] = ["/dev/stdout", "/dev/stderr"];

/// Builtins that may set a variable by its name.
const SETTERS: [&str; 15] = [
    ".",
    "declare",
    "eval",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "source",
    "trap",
    "typeset",
];

/// What redirections are taken to be until the whole text is known.
#[derive(Default)]
pub struct Overall {
    /// `/dev/stdout` or `/dev/stderr` is written.
    reopens: bool,
    /// A descriptor may be open on a file that is read: opened anew by its name, that file is written.
    moves: bool,
    /// Variables that are set, other than by loops over names of files.
    set: HashSet<String>,
    /// Variables whose values are taken for names of files.
    trusted: Vec<String>,
}

impl Overall {
    pub fn sets(&mut self, variable: &str) {
        self.set.insert(variable.to_owned());
    }

    fn move_of(&mut self, redirect: &Redirect, target: &Word) {
        let numbered = redirect.descriptor != Descriptor::Usual;
        self.moves |= match redirect.kind {
            RedirectKind::Output => false,
            RedirectKind::Input | RedirectKind::ReadWrite | RedirectKind::CopyInput | RedirectKind::Text => numbered,
            RedirectKind::CopyOutput => !matches!(target.text(), Some("1" | "2" | "-" | "1-" | "2-")),
        };
    }
}

/// What the redirections of one command come to.
#[derive(Default)]
pub struct Redirected {
    pub list: Vec<Redirection>,
    /// Why they do more than read; the first cause.
    pub objection: Option<String>,
    /// One of them writes a file or may do so.
    pub writes: bool,
}

impl Walker<'_> {
    /// Records the files that redirections open.
    pub(super) fn redirections(&mut self, redirects: &[Redirect], scene: &Scene) -> Redirected {
        let mut redirected = Redirected::default();
        for redirect in redirects {
            let Some(word) = target_word(redirect) else {
                continue;
            };
            let target = resolve(word);
            self.overall.move_of(redirect, &target);
            let writes = match redirect.kind {
                RedirectKind::Text => false,
                RedirectKind::Input => {
                    self.input(&target, scene, &mut redirected);
                    false
                }
                RedirectKind::CopyInput => {
                    if !is_descriptor(&target) {
                        self.unknown_target(&target, &mut redirected);
                    }
                    false
                }
                RedirectKind::CopyOutput if is_descriptor(&target) => false,
                RedirectKind::Output | RedirectKind::ReadWrite | RedirectKind::CopyOutput => {
                    self.output(&target, scene, &mut redirected)
                }
            };
            if redirect.descriptor == Descriptor::Named {
                redirected.objection.get_or_insert("a redirection sets a variable".into());
                redirected.writes = true;
            }
            redirected.writes |= writes;
            redirected.list.push(Redirection { writes, target });
        }
        redirected
    }

    fn input(&mut self, target: &Word, scene: &Scene, redirected: &mut Redirected) {
        let pipe = target.causes().any(|cause| cause == Cause::Pipe);
        if pipe && target.parts.len() == 1 {
            return;
        }
        self.access(Access::Read, target, scene, false);
        let shown = target.shown();
        // Bash opens a connection for these names, so a name that is not known may do the same.
        if target.text().is_some_and(opens_network) {
            redirected.objection.get_or_insert(format!("`< {shown}` uses the network"));
        } else if target.text().is_none() && may_open_network(target.prefix()) && !self.names_file(target) {
            redirected.objection.get_or_insert(format!("the file `{shown}` is only known when it runs"));
        }
    }

    /// Whether a word is the name of a file for certain: the variable of a loop over such names.
    pub(super) fn names_file(&mut self, word: &Word) -> bool {
        let of_loop = self.paths_in_loops.iter().find(|name| is_value_of(word, name));
        self.overall.trusted.extend(of_loop.cloned());
        of_loop.is_some()
    }

    /// Takes back what was taken for granted of redirections, now that the whole text is known.
    pub(super) fn settle_redirections(&mut self) {
        if self.overall.moves && self.overall.reopens {
            self.note("it may write to a file that is open for reading".into());
        }
        let sets_by_name = self.commands.iter().any(|command| {
            let name = command.words.first().map(Word::shown).unwrap_or_default();
            !command.guess && !command.verdict.is_read_only() && SETTERS.contains(&name.as_str())
        });
        let overall = &self.overall;
        let doubtful = overall.trusted.iter().find(|name| sets_by_name || overall.set.contains(*name)).cloned();
        if let Some(name) = doubtful {
            self.note(format!("the file `${name}` is only known when it runs"));
        }
    }

    fn output(&mut self, target: &Word, scene: &Scene, redirected: &mut Redirected) -> bool {
        match target.text() {
            Some(SINK) => return false,
            Some(text) if REOPENED.contains(&text) => {
                self.overall.reopens = true;
                return false;
            }
            _ => {}
        }
        let pipe = target.causes().any(|cause| cause == Cause::Pipe);
        if pipe && target.parts.len() == 1 {
            // What the process at the other end does is judged on its own.
            return false;
        }
        self.access(Access::Write, target, scene, false);
        if target.text().is_none() {
            self.unknown_target(target, redirected);
        }
        let shown = target.shown();
        redirected.objection.get_or_insert(format!("it writes to {shown}"));
        true
    }

    fn unknown_target(&mut self, target: &Word, redirected: &mut Redirected) {
        let shown = target.shown();
        let reason = format!("the target `{shown}` of a redirection is only known when it runs");
        self.admit(What::Target, reason.clone());
        redirected.objection.get_or_insert(reason);
        redirected.writes = true;
    }

    /// Redirections of a group, loop or condition.
    pub(super) fn compound_redirects(&mut self, redirects: &[Redirect], scene: &Scene) {
        let words = redirects.iter().filter_map(target_word);
        let expanded = self.expand(words, &scene.folders);
        let redirected = self.redirections(redirects, scene);
        let objection = redirected.objection.or(expanded.hazard.map(str::to_owned));
        if let Some(reason) = objection {
            self.commands.push(SimpleCommand {
                words: Vec::new(),
                assignments: Vec::new(),
                redirections: redirected.list,
                wrappers: Vec::new(),
                verdict: Verdict::NotReadOnly { reason: reason.clone() },
                uncoverable: Some(reason),
                guess: false,
            });
        }
    }

    /// Records that the files a word names are read or written.
    pub(super) fn access(&mut self, access: Access, word: &Word, scene: &Scene, tree: bool) {
        if word.text() == Some("-") {
            return;
        }
        if super::is_filled(word)
            && let Some(searched) = &scene.searched
        {
            let files = searched.iter().map(|target| FileAccess { access, target: target.clone(), tree: true });
            self.files.extend(files);
            return;
        }
        for target in scene.folders.targets(word, self.place) {
            self.files.push(FileAccess { access, target, tree });
        }
    }
}

fn opens_network(text: &str) -> bool {
    let path = join(Path::new("/"), text);
    text.starts_with('/') && (path.starts_with("/dev/tcp") || path.starts_with("/dev/udp"))
}

/// Whether all words of a loop are names of files.
pub fn only_names_files(words: &[syntax::Word]) -> bool {
    let names_files = |word: &syntax::Word| {
        let word = resolve(word);
        match word.text() {
            Some(text) => !opens_network(text) && !text.starts_with("/inet"),
            // What a pattern finds is there, and what begins with one is beneath the working folder.
            None => {
                let prefix = word.prefix();
                word.causes().all(|cause| cause == Cause::Glob) && (prefix.is_empty() || !may_open_network(prefix))
            }
        }
    };
    !words.is_empty() && words.iter().all(names_files)
}

/// Whether a word is the value of this variable and nothing else.
fn is_value_of(word: &Word, name: &str) -> bool {
    match word.parts.as_slice() {
        [Part::Unknown { written, cause: Cause::Quoted | Cause::Split }] => {
            *written == format!("${name}") || *written == format!("${{{name}}}")
        }
        _ => false,
    }
}

fn may_open_network(prefix: &str) -> bool {
    prefix.starts_with("/dev") || "/dev".starts_with(prefix) || prefix.starts_with("//")
}

/// Whether the word after `<&` or `>&` names an open descriptor.
fn is_descriptor(word: &Word) -> bool {
    word.text().is_some_and(|text| {
        let digits = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && digits.chars().all(|next| next.is_ascii_digit())
    })
}
