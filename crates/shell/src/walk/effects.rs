//! Redirections: which files they open, and whether they write.

use std::path::Path;

use crate::analysis::{Access, Cause, FileAccess, Redirection, SimpleCommand, Verdict, What, Word};
use crate::paths::join;
use crate::syntax::{self, Descriptor, Redirect, RedirectKind};
use crate::word::resolve;

use super::{Scene, Walker, target_word};

/// Files into which anything may be written.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

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
        } else if target.text().is_none()
            && may_open_network(target.prefix())
            && !self.paths_in_loops.iter().any(|name| is_value_of(&shown, name))
        {
            redirected.objection.get_or_insert(format!("the file `{shown}` is only known when it runs"));
        }
    }

    fn output(&mut self, target: &Word, scene: &Scene, redirected: &mut Redirected) -> bool {
        if target.text().is_some_and(|text| SINKS.contains(&text)) {
            return false;
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

/// Whether a loop gives its variable names of files only, and nothing else in the text sets it.
pub fn only_names_files(variable: &str, words: &[syntax::Word], text: &str) -> bool {
    let set_elsewhere = ["=", "+=", "[", ":="].iter().any(|sign| text.contains(&format!("{variable}{sign}")))
        || ["read", "eval", "mapfile"].iter().any(|command| text.contains(command));
    let files = words.iter().all(|word| {
        let word = resolve(word);
        let globs = word.causes().all(|cause| cause == Cause::Glob);
        globs && !word.text().is_some_and(opens_network) && !word.prefix().starts_with('/')
    });
    files && !words.is_empty() && !set_elsewhere
}

fn is_value_of(shown: &str, name: &str) -> bool {
    let rest = shown.strip_prefix('$').map(|rest| rest.trim_start_matches('{').trim_end_matches('}'));
    rest == Some(name)
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
