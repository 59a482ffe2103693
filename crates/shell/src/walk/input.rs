//! What a command reads from its standard input, as far as a shell may take it for its script. Knows redirections and
//! pipes; must not know programs.

use std::rc::Rc;

use crate::analysis::Word;
use crate::syntax::{Descriptor, Redirect, RedirectKind};
use crate::word::resolve;

use super::{Walker, target_word};

/// Names of the standard input itself.
const OWN_INPUT: [&str; 4] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0"];

/// The standard input of a command or of everything in a group.
#[derive(Clone, Default)]
pub struct Input {
    /// Texts of which all or a part may be read.
    texts: Rc<Vec<Word>>,
    /// Something else may be read, or a part of a text only.
    unknown: bool,
}

impl Input {
    /// Only the run can tell what is read.
    pub fn unknown() -> Self {
        Self { texts: Rc::default(), unknown: true }
    }

    fn text(word: Word) -> Self {
        Self { texts: Rc::new(vec![word]), unknown: false }
    }

    /// What is left for the second of two readers, and for whoever is not certain to be the first.
    fn shared(&self) -> Self {
        Self { texts: Rc::clone(&self.texts), unknown: self.unknown || !self.texts.is_empty() }
    }

    fn or(&self, other: &Self) -> Self {
        if other.texts.is_empty() {
            return Self { texts: Rc::clone(&self.texts), unknown: self.unknown || other.unknown };
        }
        let texts = self.texts.iter().chain(other.texts.iter()).cloned().collect();
        Self { texts: Rc::new(texts), unknown: self.unknown || other.unknown }
    }

    /// The texts, and whether that is all.
    pub fn parts(&self) -> (Rc<Vec<Word>>, bool) {
        (Rc::clone(&self.texts), !self.unknown)
    }
}

/// A file that a shell is told to read its script from.
pub enum ScriptFile {
    /// The standard input.
    Input,
    /// Another descriptor, or a name that only the run can tell.
    Unknown,
    Known,
}

impl ScriptFile {
    pub fn of(word: &Word) -> Self {
        match word.text() {
            Some(text) if OWN_INPUT.contains(&text) => Self::Input,
            Some(text) if text.starts_with("/dev/") || text.starts_with("/proc/") => Self::Unknown,
            Some(_) => Self::Known,
            None => Self::Unknown,
        }
    }
}

impl Walker<'_> {
    /// What a command reads that has no redirection of its own.
    pub(super) fn inherited(&self) -> Input {
        self.input.or(&self.replaced).shared()
    }

    /// The standard input under these redirections; `None` if they leave it alone.
    pub(super) fn redirected_input(&self, redirects: &[Redirect]) -> Option<Input> {
        let mut input: Option<Input> = None;
        for redirect in redirects.iter().filter(|redirect| is_standard_input(redirect)) {
            let Some(word) = target_word(redirect) else {
                continue;
            };
            let target = resolve(word);
            let before = || input.clone().unwrap_or_else(|| self.inherited());
            input = Some(match (redirect.kind, target.text()) {
                (RedirectKind::Text, _) => Input::text(target),
                (RedirectKind::Input, Some("/dev/null")) => Input::default(),
                (RedirectKind::Input, Some(name)) if OWN_INPUT.contains(&name) => before(),
                (RedirectKind::CopyInput, Some("-")) => Input::default(),
                (RedirectKind::CopyInput, Some("0")) => before(),
                _ => Input::unknown(),
            });
        }
        input
    }

    /// Runs `walk` where the standard input is this one.
    pub(super) fn reading<T>(&mut self, input: Input, walk: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.input, input);
        let result = walk(self);
        self.input = around;
        result
    }

    /// `exec` replaces the input of all that follows; nothing is taken back, since it may stand in a branch.
    pub(super) fn replace_input(&mut self, input: &Input) {
        self.replaced = self.replaced.or(input).shared();
    }
}

fn is_standard_input(redirect: &Redirect) -> bool {
    match (redirect.descriptor, redirect.kind) {
        (Descriptor::Zero, _) => true,
        (Descriptor::Usual, RedirectKind::Output | RedirectKind::CopyOutput) => false,
        (Descriptor::Usual, _) => true,
        (Descriptor::Number | Descriptor::Named, _) => false,
    }
}
