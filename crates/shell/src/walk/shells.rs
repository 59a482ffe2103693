//! Where a shell finds its script: in `-c`, in a file, or on its standard input. Knows how shells read their options;
//! must not know how a script is read.

use crate::analysis::{What, Word};

use super::Walker;
use super::call::{Call, basename};
use super::input::{Input, ScriptFile};

/// Long options of Bash, which also takes them with a single dash if they come first.
const LONG: [&str; 16] = [
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "help",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "protected",
    "restricted",
    "verbose",
    "version",
    "wordexp",
];

/// The same with a file of commands as their value.
const LONG_FILES: [&str; 2] = ["init-file", "rcfile"];

/// Shells that read their options as Bash does.
const ALIKE: [&str; 5] = ["bash", "rbash", "sh", "dash", "ash"];

/// The arguments of a shell, sorted.
#[derive(Default)]
struct Invocation<'w> {
    /// The value of `-c`.
    text: Option<&'w Word>,
    file: Option<&'w Word>,
    /// Files of commands that are read first.
    first: Vec<&'w Word>,
    /// The script is on the standard input.
    input: bool,
    /// An option that only the run can tell.
    hidden: Option<&'w Word>,
    /// There is nothing but `-c` and its value.
    plain: bool,
    /// An option that is not known here; any word may be the script.
    odd: bool,
}

impl<'w> Invocation<'w> {
    fn read(arguments: &'w [Word]) -> Self {
        let mut found = Self { plain: true, ..Self::default() };
        let mut index = 0;
        let mut only_long = true;
        let mut takes_text = false;
        while let Some(word) = arguments.get(index) {
            let prefix = word.prefix();
            if !prefix.starts_with(['-', '+']) {
                break;
            }
            index += 1;
            let Some(text) = word.text() else {
                found.hidden = Some(word);
                continue;
            };
            if text == "-" || text == "--" {
                break;
            }
            found.plain &= text == "-c";
            let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or_default();
            if only_long && LONG_FILES.contains(&name) {
                found.first.extend(arguments.get(index));
                index += 1;
            } else if only_long && LONG.contains(&name) {
            } else if text.starts_with("--") {
                found.odd = true;
            } else {
                only_long = false;
                takes_text |= text.contains('c');
                found.input |= text.contains('s');
                index += text.matches(['o', 'O']).count();
            }
        }
        let operand = arguments.get(index);
        if takes_text {
            found.text = operand;
        } else if !found.input {
            found.file = operand;
            found.input = operand.is_none();
        }
        found.plain &= takes_text;
        found
    }
}

impl Walker<'_> {
    /// A shell: only Bash itself is certain to read its text as it is read here.
    pub(super) fn shell(&mut self, call: &mut Call, arguments: &[Word]) {
        let name = call.words.first().map(Word::shown).unwrap_or_default();
        let invocation = Invocation::read(arguments);
        if !invocation.plain {
            call.object(format!("`{name}` runs more than the text it is given"));
        }
        if let Some(word) = invocation.hidden {
            self.unknown_script(call, &word.shown());
        }
        if invocation.odd || (!invocation.plain && !ALIKE.contains(&basename(&name))) {
            for word in arguments {
                self.guess_text(word, call);
            }
        }
        for word in invocation.first {
            self.script_file(word, call, &name);
        }
        if let Some(word) = invocation.text {
            let shown = word.shown();
            if word.text().is_none() || (call.objection.is_some() && shown.contains("$'")) {
                self.unknown_script(call, &shown);
            }
            self.nested(&shown, call, false);
        }
        if let Some(word) = invocation.file {
            self.script_file(word, call, &name);
        }
        if invocation.input {
            self.standard_input(call, &name);
        }
    }

    /// `.` and `source`.
    pub(super) fn source(&mut self, call: &mut Call, name: &str, arguments: &[Word]) {
        let file = arguments.iter().find(|word| word.text() != Some("--"));
        if let Some(word) = file {
            self.script_file(word, call, name);
        }
    }

    /// A file that is read as a script.
    fn script_file(&mut self, word: &Word, call: &mut Call, name: &str) {
        match ScriptFile::of(word) {
            ScriptFile::Input => self.standard_input(call, name),
            ScriptFile::Unknown => self.unknown_script(call, &word.shown()),
            ScriptFile::Known => {}
        }
    }

    /// A shell that reads its script from standard input.
    pub(super) fn standard_input(&mut self, call: &mut Call, name: &str) {
        let (texts, whole) = std::mem::take(&mut call.input).parts();
        if !whole {
            let reason = format!("the text that `{name}` reads is only known when it runs");
            self.admit(What::Script, reason);
        }
        // A shell inside the text reads the rest of the same text.
        call.input = if texts.is_empty() && whole { Input::default() } else { Input::unknown() };
        for text in texts.iter() {
            self.script_text(Some(text), call, !whole);
        }
    }

    /// A word that may be, or hold, text for a shell.
    pub(super) fn guess_text(&mut self, word: &Word, call: &Call) {
        let prefix = word.prefix();
        let value = match prefix.strip_prefix("--") {
            Some(long) => long.find('=').map(|at| at + 3),
            None if prefix.starts_with('-') => prefix.char_indices().nth(2).map(|(at, _)| at),
            None => Some(0),
        };
        let Some(start) = value else {
            return;
        };
        let value = word.without(start);
        if value.shown().contains([' ', '\t', '\n', ';']) {
            self.script_text(Some(&value), call, true);
        }
    }
}
