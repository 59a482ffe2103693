//! Words after quote removal: from the tree to what is known of them. Knows nothing of programs.

use crate::analysis::{Cause, Part, Word};
use crate::syntax::{self, Expansion, ExpansionKind, Piece};

impl Word {
    /// A word that is wholly known.
    #[must_use]
    pub fn known(text: &str) -> Self {
        let mut word = Self::default();
        word.push_text(text);
        word
    }

    /// The text, if all of it is known.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with unknown parts as they are written.
    #[must_use]
    pub fn shown(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Unknown { written, .. } => written.as_str(),
            })
            .collect()
    }

    /// The known text before the first unknown part.
    #[must_use]
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Unknown { .. }) | None => "",
        }
    }

    /// Whether it may become more or fewer than one word.
    #[must_use]
    pub fn may_be_many(&self) -> bool {
        self.causes().any(|cause| match cause {
            Cause::Split | Cause::Glob | Cause::Braces | Cause::Filled => true,
            Cause::Quoted | Cause::Number | Cause::Pipe => false,
        })
    }

    /// Whether an unknown part may make an option of it, or of one of the words it becomes.
    #[must_use]
    pub fn may_hide_option(&self) -> bool {
        if self.text().is_some() {
            return false;
        }
        let splits = self.causes().any(|cause| match cause {
            Cause::Split => true,
            Cause::Quoted | Cause::Number | Cause::Glob | Cause::Braces => false,
            Cause::Filled | Cause::Pipe => false,
        });
        let starts_open = match self.parts.first() {
            Some(Part::Text(text)) => text.starts_with('-'),
            Some(Part::Unknown { cause: Cause::Pipe, .. }) | None => false,
            Some(Part::Unknown { .. }) => true,
        };
        splits || starts_open
    }

    /// The word without its first `length` bytes, which are known text.
    pub(crate) fn without(&self, length: usize) -> Self {
        let mut rest = Self::default();
        let mut parts = self.parts.iter();
        match parts.next() {
            Some(Part::Text(text)) => rest.push_text(text.get(length..).unwrap_or_default()),
            Some(unknown) => rest.parts.push(unknown.clone()),
            None => {}
        }
        rest.parts.extend(parts.cloned());
        rest
    }

    /// Why the word is not known; the first cause.
    pub(crate) fn causes(&self) -> impl Iterator<Item = Cause> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Unknown { cause, .. } => Some(*cause),
        })
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Part::Text(last)) = self.parts.last_mut() {
            last.push_str(text);
        } else {
            self.parts.push(Part::Text(text.into()));
        }
    }

    pub(crate) fn push_unknown(&mut self, written: &str, cause: Cause) {
        self.parts.push(Part::Unknown { written: written.into(), cause });
    }

    /// A word that `xargs` or `find` adds or fills in.
    pub(crate) fn filled(written: &str) -> Self {
        let mut word = Self::default();
        word.push_unknown(written, Cause::Filled);
        word
    }
}

/// Removes the quotes of a word and marks what is unknown in it.
pub fn resolve(source: &syntax::Word) -> Word {
    let mut word = Word::default();
    if has_braces(source) {
        resolve_braces(source, &mut word);
        return word;
    }
    let globs = has_glob(source);
    for (index, piece) in source.pieces.iter().enumerate() {
        match piece {
            Piece::Quoted(text) => word.push_text(text),
            Piece::Bare(text) => {
                if index == 0 && text.starts_with('~') {
                    word.tilde = true;
                }
                push_bare(&mut word, text, globs);
            }
            Piece::Expansion(expansion) => push_expansion(&mut word, expansion),
        }
    }
    word
}

fn push_bare(word: &mut Word, text: &str, globs: bool) {
    let mut plain = String::new();
    for character in text.chars() {
        if globs && matches!(character, '*' | '?' | '[') {
            word.push_text(&plain);
            plain.clear();
            word.push_unknown(&character.to_string(), Cause::Glob);
        } else {
            plain.push(character);
        }
    }
    word.push_text(&plain);
}

fn push_expansion(word: &mut Word, expansion: &Expansion) {
    let cause = match (expansion.kind, expansion.quoted) {
        (ExpansionKind::Process, _) => Cause::Pipe,
        // `"$@"` is several words although it is quoted.
        _ if expansion.plural => Cause::Split,
        (ExpansionKind::Number, _) => Cause::Number,
        (ExpansionKind::Parameter | ExpansionKind::Command, true) => Cause::Quoted,
        (ExpansionKind::Parameter | ExpansionKind::Command, false) => Cause::Split,
    };
    word.push_unknown(&expansion.written, cause);
}

/// Everything from the first open brace on becomes one unknown part.
fn resolve_braces(source: &syntax::Word, word: &mut Word) {
    let globs = has_glob(source);
    let mut rest = String::new();
    let mut cause = Cause::Braces;
    let mut open = false;
    for piece in &source.pieces {
        let written = match piece {
            Piece::Bare(text) | Piece::Quoted(text) => text.as_str(),
            Piece::Expansion(expansion) => {
                // A variable inside braces may still split.
                if !expansion.quoted || expansion.plural {
                    cause = Cause::Split;
                }
                expansion.written.as_str()
            }
        };
        let brace = match piece {
            Piece::Bare(text) if !open => text.find('{'),
            Piece::Bare(_) | Piece::Quoted(_) | Piece::Expansion(_) => None,
        };
        if let Some(at) = brace {
            open = true;
            let (before, after) = written.split_at(at);
            push_bare(word, before, globs);
            rest.push_str(after);
        } else if open {
            rest.push_str(written);
        } else if let Piece::Expansion(expansion) = piece {
            push_expansion(word, expansion);
        } else {
            push_bare(word, written, globs && matches!(piece, Piece::Bare(_)));
        }
    }
    word.push_unknown(&rest, cause);
}

fn bare_text(source: &syntax::Word) -> impl Iterator<Item = &str> {
    source.pieces.iter().filter_map(|piece| match piece {
        Piece::Bare(text) => Some(text.as_str()),
        Piece::Quoted(_) | Piece::Expansion(_) => None,
    })
}

/// Whether brace expansion may apply.
fn has_braces(source: &syntax::Word) -> bool {
    let text: String = bare_text(source).collect();
    let Some(open) = text.find('{') else {
        return false;
    };
    let Some(close) = text.rfind('}') else {
        return false;
    };
    text.get(open..close).is_some_and(|inner| inner.contains(',') || inner.contains(".."))
}

/// Whether file name expansion may apply; a lone `[` is a command's name, not a pattern.
fn has_glob(source: &syntax::Word) -> bool {
    let text: String = bare_text(source).collect();
    let bracket = text.find('[').is_some_and(|open| text.get(open..).is_some_and(|rest| rest.contains(']')));
    bracket || text.contains(['*', '?'])
}
