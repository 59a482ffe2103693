//! Commands that run what their arguments or their input hold: shells, `eval`, `trap`, `xargs`.

use crate::analysis::{Access, Verdict, What, Word};
use crate::paths::Folders;
use crate::programs::find::fill;
use crate::programs::options;
use crate::programs::table::{Program, Runs};
use crate::syntax;
use crate::text::{crude_commands, deceptive};

use super::call::Call;
use super::{Ends, Scene, Walker};

impl Walker<'_> {
    pub(super) fn runs(&mut self, call: &mut Call, name: &str, row: &Program, runs: Runs) -> Ends {
        let start = call.scene.folders.clone();
        let unchanged = Ends::both(start.clone());
        let arguments = call.words.get(1..).unwrap_or_default().to_vec();
        match runs {
            Runs::Find | Runs::Fd => self.search(call, name, row, runs),
            Runs::Xargs => self.xargs(call, name, row, &arguments),
            Runs::Shell => self.shell(call, &arguments),
            Runs::Trap => self.trap(call, &arguments),
            Runs::Callback => {
                let reading = options::read(name, &arguments, &row.options);
                for given in reading.options.iter().filter(|given| given.name == "C") {
                    self.script_text(given.value.as_ref(), call, false);
                }
            }
            Runs::Source => {
                self.source(call, name, &arguments);
                return Ends::both(Folders::unknown());
            }
            Runs::Eval => {
                let end = self.eval(call, &arguments);
                return Ends::both(if call.in_shell { end } else { start });
            }
            Runs::Cd => {}
        }
        unchanged
    }

    fn eval(&mut self, call: &mut Call, arguments: &[Word]) -> Folders {
        let arguments = match arguments.split_first() {
            Some((first, rest)) if first.text() == Some("--") => rest,
            _ => arguments,
        };
        let mut text = Word::default();
        for (index, word) in arguments.iter().enumerate() {
            text.push_text(if index > 0 { " " } else { "" });
            text.parts.extend(word.parts.iter().cloned());
        }
        let shown = text.shown();
        if text.causes().next().is_some() {
            self.unknown_script(call, &shown);
            self.nested(&shown, call, true);
            return Folders::unknown();
        }
        self.nested(&shown, call, false)
    }

    fn trap(&mut self, call: &mut Call, arguments: &[Word]) {
        let script = arguments.iter().find(|word| word.text() != Some("--"));
        self.script_text(script, call, false);
    }

    /// Walks a word that is a script of its own. With `guess`, it may also be no script at all.
    pub(super) fn script_text(&mut self, word: Option<&Word>, call: &Call, guess: bool) {
        let Some(word) = word else {
            return;
        };
        let shown = word.shown();
        let mut inner = Call::inner(Vec::new(), &call.scene, "it is text for a shell");
        inner.input = call.input.clone();
        if word.text().is_none() && !guess {
            self.unknown_script(&mut inner, &shown);
        }
        self.nested(&shown, &mut inner, guess);
    }

    pub(super) fn unknown_script(&mut self, call: &mut Call, shown: &str) {
        let reason = format!("the text `{shown}` for a shell is only known when it runs");
        self.admit(What::Script, reason.clone());
        call.object(reason.clone());
        call.refuse_rules(reason);
    }

    fn xargs(&mut self, call: &mut Call, name: &str, row: &Program, arguments: &[Word]) {
        let reading = options::read(name, arguments, &row.options);
        if let Some(trouble) = &reading.trouble {
            call.object(trouble.clone());
            self.guess(arguments, call);
        }
        let scene = call.scene.clone();
        for given in &reading.options {
            if options::is_one_of(&given.name, &row.options.reads)
                && let Some(value) = &given.value
            {
                self.access(Access::Read, value, &scene, false);
            }
        }
        let replacing = |name: &str| matches!(name, "I" | "i" | "replace");
        let limiting = |name: &str| matches!(name, "n" | "L" | "l" | "max-args" | "max-lines");
        let count = |of: &dyn Fn(&str) -> bool| reading.options.iter().filter(|given| of(&given.name)).count();
        // Which of several counts differs between versions.
        if count(&replacing) > 1 || (count(&replacing) > 0 && count(&limiting) > 0) {
            call.object(format!("options of `{name}` contradict one another"));
        }
        let replacement = reading.options.iter().rfind(|given| replacing(&given.name));
        let place = replacement.map(|given| given.value.as_ref().map_or_else(|| "{}".to_owned(), Word::shown));
        if let Some(word) = replacement.and_then(|given| given.value.as_ref()).filter(|word| word.text().is_none()) {
            call.object(format!("what `{name}` replaces, `{}`, is only known when it runs", word.shown()));
        }
        let words = match reading.first_operand {
            Some(start) => arguments.get(start..).unwrap_or_default().to_vec(),
            None => vec![Word::known("echo")],
        };
        let words = match place {
            Some(place) => words.iter().map(|word| fill(word, &place)).collect(),
            None => {
                let mut words = words;
                words.push(Word::filled("…"));
                words
            }
        };
        self.call(Call::inner(words, &scene, "`xargs` adds words that are found at run time"));
    }

    /// Walks a text that is run by another command; the working folder at its end.
    pub(super) fn nested(&mut self, text: &str, call: &mut Call, guess: bool) -> Folders {
        let left = self.nested_text.checked_sub(text.len());
        let Some(left) = left.filter(|_| deceptive(text).is_none()) else {
            self.opaque(text, call, "the text for a shell is too long or holds signs that cannot be seen", guess);
            return Folders::unknown();
        };
        self.nested_text = left;
        match syntax::parse_at(text, self.depth) {
            Ok(script) => {
                let before = self.commands.len();
                let scene = Scene { searched: None, ..call.scene.clone() };
                let input = call.input.clone();
                let end = self.reading(input, |walker| walker.script(&script, scene.folders));
                if guess {
                    for command in self.commands.iter_mut().skip(before) {
                        command.guess = true;
                    }
                }
                end
            }
            Err(trouble) => {
                let reason = format!("the text for a shell cannot be read: {}", trouble.0);
                self.opaque(text, call, &reason, guess);
                Folders::unknown()
            }
        }
    }

    /// Text that is not parsed: only candidates for deny rules are taken from it.
    fn opaque(&mut self, text: &str, call: &mut Call, reason: &str, guess: bool) {
        if !guess {
            self.admit(What::Script, reason.to_owned());
            call.object(reason);
            call.refuse_rules(reason);
        }
        self.crude(text);
    }

    /// Records the commands that a crude reading finds, for deny rules only.
    pub fn crude(&mut self, text: &str) {
        // A crude reading inside a crude reading finds nothing new.
        if std::mem::replace(&mut self.reads_crudely, true) {
            return;
        }
        let before = self.commands.len();
        let scene = Scene { folders: Folders::unknown(), piped: true, searched: None };
        let reason = "the text around it cannot be read";
        for words in crude_commands(text) {
            let words: Vec<Word> = words.iter().map(|word| Word::known(word)).collect();
            self.call(Call::inner(words, &scene, reason));
        }
        for command in self.commands.iter_mut().skip(before) {
            command.guess = true;
            command.verdict = Verdict::NotReadOnly { reason: reason.into() };
        }
        self.reads_crudely = false;
    }
}
