//! Commands in the arguments of other commands (`strace rm x`, `tar --to-command=…`), by the rows of the table. What is
//! found here counts for deny rules only; the command around it is judged as it stands.

use crate::analysis::{What, Word};
use crate::programs::options::{self, Given};
use crate::programs::table::{Carrier, Operands, Reads, Runs, table};

use super::Walker;
use super::call::{Call, basename, sets_variable};

/// How many words of a command line are tried as the command where it may begin anywhere.
const MAX_GUESSES: usize = 64;

/// A guessed command keeps no more words than this.
const MAX_GUESSED_WORDS: usize = 64;

impl Walker<'_> {
    /// Finds the commands that the arguments of the command `name` hold.
    pub(super) fn carried(&mut self, call: &Call, name: &str) {
        let before = self.commands.len();
        let arguments = call.words.get(1..).unwrap_or_default();
        match table().carrier(name) {
            Some(row) => self.carry(row, arguments, call, name),
            None if table().programs.get(name).is_none_or(|row| !row.exact.is_empty()) => {
                self.shells_in(arguments, call)
            }
            None => {}
        }
        self.mark_guesses(before);
    }

    fn mark_guesses(&mut self, before: usize) {
        for command in self.commands.iter_mut().skip(before) {
            command.guess = true;
        }
    }

    fn carry(&mut self, row: &Carrier, arguments: &[Word], call: &Call, name: &str) {
        let reading = options::read(name, arguments, &row.options);
        let value =
            |names: &[String], given: &Given| given.value.clone().filter(|_| options::is_one_of(&given.name, names));
        let mut programs = Vec::new();
        let mut any = false;
        for given in &reading.options {
            if options::is_one_of(&given.name, &row.unknown) {
                self.admit(What::Command, format!("`{name}` runs what only the run can tell"));
            }
            if let Some(word) = value(&row.scripts, given) {
                any = true;
                self.script_text(Some(&word), call, word.text().is_some());
            }
            if let Some(word) = value(&row.marked, given) {
                any = true;
                self.marked(&word, row, call);
            }
            if let Some(word) = value(&row.settings, given) {
                self.setting(&word, &reading.operands, call);
            }
            programs.extend(value(&row.programs, given));
        }
        if reading.trouble.is_some() && row.operands != Operands::Nothing {
            self.guess(arguments, call);
        }
        let leading = row.options.leading || !row.commands.is_empty();
        let operands = match reading.first_operand {
            Some(start) if leading => arguments.get(start..).unwrap_or_default(),
            Some(_) => reading.operands.as_slice(),
            None => &[],
        };
        if let (Some(first), false) = (operands.first(), row.commands.is_empty())
            && let Some(inner) = row.commands.get(&first.shown())
        {
            let inner = inner.same.as_ref().and_then(|same| row.commands.get(same)).unwrap_or(inner);
            return self.carry(
                inner,
                operands.get(1..).unwrap_or_default(),
                call,
                &format!("{name} {}", first.shown()),
            );
        }
        let mut start = 0;
        while row.assignments && operands.get(start).is_some_and(sets_variable) {
            start += 1;
        }
        let rest = operands.get(start + row.skip..).unwrap_or_default();
        any |= (row.operands != Operands::Nothing && !rest.is_empty()) || !programs.is_empty();
        for mut words in programs.into_iter().map(|program| vec![program]) {
            words.extend(rest.iter().cloned());
            self.carried_call(words, call);
        }
        self.operands(row, rest, call);
        if !any {
            self.carrier_input(row, call, name);
        }
    }

    fn operands(&mut self, row: &Carrier, rest: &[Word], call: &Call) {
        match row.operands {
            Operands::Nothing => {}
            Operands::Anywhere => self.guess(rest, call),
            Operands::Script => self.script_text(joined(rest).as_ref(), call, true),
            Operands::Scripts => rest.iter().for_each(|word| self.script_text(Some(word), call, true)),
            Operands::Marked => rest.iter().for_each(|word| self.marked(word, row, call)),
            Operands::Setting => {
                if let [.., name, value] = rest {
                    let mut both = name.clone();
                    both.push_text("=");
                    both.parts.extend(value.parts.iter().cloned());
                    self.setting(&both, &[], call);
                }
            }
            Operands::Shell if rest.is_empty() => {}
            Operands::Shell => {
                let words = std::iter::once(Word::known("sh")).chain(rest.iter().cloned());
                self.carried_call(words.collect(), call);
            }
            // `flock FILE -c SCRIPT`.
            Operands::Command => match rest {
                [option, script, ..] if is_script_option(option, row) => self.script_text(Some(script), call, true),
                [] => {}
                _ => self.carried_call(rest.to_vec(), call),
            },
        }
    }

    fn carried_call(&mut self, words: Vec<Word>, call: &Call) {
        let mut inner = Call::inner(words, &call.scene, "it is run by another command");
        inner.input = call.input.clone();
        self.call(inner);
    }

    fn carrier_input(&mut self, row: &Carrier, call: &Call, name: &str) {
        let mut inner = Call::inner(Vec::new(), &call.scene, "it is text for another command");
        inner.input = call.input.clone();
        match row.input {
            Reads::Nothing => {}
            Reads::Script => self.standard_input(&mut inner, name),
            Reads::Marked => {
                for text in inner.input.parts().0.iter() {
                    self.marked(text, row, call);
                }
            }
        }
    }

    /// Text of another language in which some signs stand before a command that runs to the end of its line.
    fn marked(&mut self, word: &Word, row: &Carrier, call: &Call) {
        let text = word.shown();
        let mut left = MAX_GUESSES;
        for line in text.lines() {
            for mark in &row.marks {
                for (at, _) in line.match_indices(mark.as_str()) {
                    if left == 0 {
                        return self.admit(What::Command, "it holds many commands of another language".into());
                    }
                    left -= 1;
                    let rest = line.get(at + mark.len()..).unwrap_or_default();
                    self.script_text(Some(&Word::known(rest)), call, true);
                }
            }
        }
    }

    /// `name=value` for git: an alias, or text that may be a command.
    fn setting(&mut self, word: &Word, operands: &[Word], call: &Call) {
        let text = word.shown();
        let Some((name, value)) = text.split_once('=') else {
            return;
        };
        if let Some(script) = value.strip_prefix('!') {
            return self.script_text(Some(&Word::known(script)), call, true);
        }
        let mut script = Word::known(value);
        if name.to_lowercase().starts_with("alias.") {
            script = Word::known(&format!("git {value}"));
            for word in operands.iter().skip(1) {
                script.push_text(&format!(" '{}'", word.shown().replace('\'', "'\\''")));
            }
        }
        self.script_text(Some(&script), call, true);
    }

    /// A program that is not known may run a shell, or a program by its full path, that stands in its arguments.
    fn shells_in(&mut self, arguments: &[Word], call: &Call) {
        for (index, word) in arguments.iter().enumerate().take(MAX_GUESSES) {
            let Some(text) = word.text() else {
                continue;
            };
            let row = table().programs.get(basename(text));
            let shell = row.is_some_and(|row| row.runs == Some(Runs::Shell));
            let next = arguments.get(index + 1).map(Word::prefix).unwrap_or_default();
            if shell && next.starts_with('-') && next.contains('c') {
                let words = arguments.iter().skip(index).take(MAX_GUESSED_WORDS).cloned();
                return self.carried_call(words.collect(), call);
            }
        }
    }

    /// Tries every place where a command may begin.
    pub(super) fn guess(&mut self, arguments: &[Word], call: &Call) {
        // What is tried here already holds what would be tried once more.
        if std::mem::replace(&mut self.guesses, true) {
            return;
        }
        let before = self.commands.len();
        if arguments.len() > MAX_GUESSES {
            self.admit(What::Command, "a command may begin anywhere in a long line".into());
        }
        for (index, word) in arguments.iter().enumerate().take(MAX_GUESSES) {
            if word.prefix().starts_with('-') {
                self.guess_text(word, call);
            } else if word.shown().contains([' ', '\t', '\n', ';']) {
                self.script_text(Some(word), call, true);
            } else {
                let words: Vec<Word> = arguments.iter().skip(index).take(MAX_GUESSED_WORDS).cloned().collect();
                self.carried_call(words, call);
            }
        }
        self.guesses = false;
        self.mark_guesses(before);
    }
}

fn is_script_option(word: &Word, row: &Carrier) -> bool {
    let name = word.text().map(|text| text.trim_start_matches('-'));
    word.prefix().starts_with('-') && name.is_some_and(|name| options::is_one_of(name, &row.scripts))
}

fn joined(words: &[Word]) -> Option<Word> {
    let (first, rest) = words.split_first()?;
    let mut all = first.clone();
    for word in rest {
        all.push_text(" ");
        all.parts.extend(word.parts.iter().cloned());
    }
    Some(all)
}
