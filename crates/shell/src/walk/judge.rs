//! Whether a command with a known name only reads, by its row in the table, and which files it touches.

use crate::analysis::{Access, Cause, What, Word, Wrapper};
use crate::paths::Folders;
use crate::programs::find::Executed;
use crate::programs::options::{self, Reading};
use crate::programs::table::{Check, Files, Program, Runs, table};
use crate::programs::{awk, builtins, find, git, sed, tar};

use super::call::{Call, basename};
use super::{Ends, Scene, Walker};

impl Walker<'_> {
    /// Judges a command whose wrappers have been taken off.
    pub(super) fn judge(&mut self, call: &mut Call, name: &str) -> Ends {
        let unchanged = Ends::both(call.scene.folders.clone());
        let row_name = table().name(name);
        if name.contains('/') {
            call.refuse_rules(format!("a rule for a name does not cover the path `{name}`"));
        }
        if row_name.is_none() {
            call.object(format!("`{name}` need not be the program of that name"));
        }
        let base = basename(name);
        if base == "alias" {
            self.note_aliases(call);
        }
        self.carried(call, base);
        let Some(row) = table().programs.get(base) else {
            self.judge_assigned(call, &[]);
            if describes(call, base) {
                return unchanged;
            }
            call.object(format!("`{base}` is not on the read-only list"));
            self.visible_operands(call);
            return if call.in_shell && matches!(base, "pushd" | "popd") {
                Ends::both(Folders::unknown())
            } else {
                unchanged
            };
        };
        self.judge_assigned(call, &row.variables);
        if tells_of_itself(call, row) {
            return unchanged;
        }
        if row.changes {
            call.object(format!("`{base}` is not on the read-only list"));
        }
        if self.shadowed.contains(name) {
            self.row(call, base, row, 1);
            return Ends::both(Folders::unknown());
        }
        match row.runs {
            None => {
                self.row(call, base, row, 1);
                unchanged
            }
            Some(Runs::Cd) => self.change_folder(call),
            Some(runs) => self.runs(call, base, row, runs),
        }
    }

    /// Variables in front of the command.
    fn judge_assigned(&mut self, call: &mut Call, allowed: &[String]) {
        let bad =
            call.assignments.iter().find(|name| !table().is_safe_variable(name) && !allowed.contains(name)).cloned();
        if let Some(name) = bad {
            call.object(format!("it sets `{name}` for a command"));
            call.refuse_rules(format!("it sets `{name}` for a command"));
        }
        if !call.assignments.iter().all(|name| table().is_safe_variable(name)) {
            call.refuse_rules("it sets a variable for a command");
        }
    }

    fn note_aliases(&mut self, call: &Call) {
        for word in call.words.iter().skip(1) {
            if let Some((name, _)) = word.prefix().split_once('=') {
                self.shadowed.insert(name.to_owned());
            }
        }
    }

    fn change_folder(&mut self, call: &mut Call) -> Ends {
        let start = call.scene.folders.clone();
        let mut arguments = call.words.get(1..).unwrap_or_default();
        let mut logical = true;
        while let Some((first, rest)) = arguments.split_first() {
            match first.text() {
                Some("--" | "-L") => arguments = rest,
                Some(option) if option.starts_with('-') && option != "-" => {
                    logical = false;
                    arguments = rest;
                }
                _ => break,
            }
        }
        let plain = call.assignments.is_empty() && logical && arguments.len() <= 1;
        let success = if plain { start.enter(arguments.first(), self.place) } else { Folders::unknown() };
        if call.in_shell { Ends { success, failure: start } } else { Ends::both(start) }
    }

    /// Applies the row of a program, or of a subcommand whose words begin at `from`.
    fn row(&mut self, call: &mut Call, name: &str, row: &Program, from: usize) {
        let arguments = call.words.get(from..).unwrap_or_default().to_vec();
        if !row.exact.is_empty() {
            let given: Vec<String> = arguments.iter().map(Word::shown).collect();
            let known = arguments.iter().all(|word| word.text().is_some());
            if !known || !row.exact.contains(&given.join(" ")) {
                call.object(format!("`{name}` with these arguments is not on the read-only list"));
                self.visible_operands(call);
            }
            return;
        }
        let here = self.place.clean && call.scene.folders.is_exactly(&self.place.cwd);
        if row.obeys_folder && !here {
            call.object(format!("`{name}` runs programs that the configuration of its folder names"));
        }
        // The environment that commands get keeps git from running more than it names.
        let bare = |wrapper: &Wrapper| {
            wrapper.name == "env" && wrapper.words.get(1).is_some_and(|word| word.prefix().starts_with('-'))
        };
        if row.obeys_folder && call.wrappers.iter().any(bare) {
            call.object(format!("`{name}` runs without the environment that keeps it from running programs"));
        }
        let reading = options::read(name, &arguments, &row.options);
        if let Some(trouble) = &reading.trouble {
            call.object(trouble.clone());
        }
        let subcommand = reading.first_operand.filter(|_| !row.commands.is_empty());
        if let Some(index) = subcommand {
            // What follows `--` need not be taken for a subcommand.
            if reading.dashes {
                call.object(format!("`{name} --` is not known to only read"));
            }
            let word = arguments.get(index).map(Word::shown).unwrap_or_default();
            let inner = format!("{name} {word}");
            match row.commands.get(&word) {
                Some(inner_row) => self.row(call, &inner, inner_row, from + index + 1),
                None => call.object(format!("`{inner}` is not on the read-only list")),
            }
            return;
        }
        if row.needs_command {
            call.object(format!("`{name}` alone is not on the read-only list"));
        }
        judge_operands(call, name, row, &reading);
        if let Some(objection) = row.format.and_then(|format| git::objection(format, &arguments, &reading)) {
            call.object(objection);
        }
        self.check(call, row, &reading, &arguments);
        self.files_of(call, row, &reading);
    }

    fn check(&mut self, call: &mut Call, row: &Program, reading: &Reading, arguments: &[Word]) {
        let objection = match row.check {
            None => None,
            Some(Check::Tar) => tar::objection(arguments),
            Some(Check::Test) => builtins::test_objection(arguments),
            Some(Check::Printf) => builtins::printf_objection(arguments),
            Some(Check::Read) => {
                for name in &reading.operands {
                    self.overall.sets(&name.shown());
                }
                builtins::read_objection(&reading.operands)
            }
            Some(Check::Sed) => language(reading, &["e", "expression"], "\n", "sed", sed::objection),
            Some(Check::Awk) => {
                let files = reading.operands.get(1..).unwrap_or_default();
                let network = files.iter().find(|word| may_be_network(word) && !self.names_file(word));
                let network = network.map(|word| format!("`{}` may be a connection for `awk`", word.shown()));
                language(reading, &[], "\n", "awk", awk::objection).or(network)
            }
        };
        if let Some(objection) = objection {
            call.object(objection);
        }
    }

    /// Records the files that options and operands name.
    fn files_of(&mut self, call: &Call, row: &Program, reading: &Reading) {
        let scene = call.scene.clone();
        let mut pattern_given = false;
        for given in &reading.options {
            let Some(value) = &given.value else {
                continue;
            };
            if options::is_one_of(&given.name, &row.options.writes) {
                self.access(Access::Write, value, &scene, false);
            } else if options::is_one_of(&given.name, &row.options.reads) {
                self.access(Access::Read, value, &scene, false);
                pattern_given = true;
            }
            pattern_given |= matches!(given.name.as_str(), "e" | "regexp" | "expression");
        }
        let in_place = row.check == Some(Check::Sed)
            && reading.options.iter().any(|given| given.name == "i" || given.name.starts_with("in"));
        let tree = reading.has(&row.options.tree);
        let operands = reading.operands.as_slice();
        let after_pattern = if pattern_given { operands } else { operands.get(1..).unwrap_or_default() };
        let here = Word::known(".");
        let mut all = |access: Access, words: &[Word], tree: bool| {
            for word in words {
                self.access(access, word, &scene, tree);
            }
        };
        match row.files {
            Files::None => {}
            Files::Read => all(Access::Read, operands, tree),
            Files::Tree => all(Access::Read, operands, true),
            Files::Pattern => {
                let access = if in_place { Access::Write } else { Access::Read };
                all(access, after_pattern, tree);
                if tree && after_pattern.is_empty() {
                    all(Access::Read, std::slice::from_ref(&here), true);
                }
            }
            Files::PatternTree => {
                all(Access::Read, after_pattern, true);
                if after_pattern.is_empty() && !scene.piped {
                    all(Access::Read, std::slice::from_ref(&here), true);
                }
            }
            Files::Write => all(Access::Write, operands, true),
            Files::SkipWrite => all(Access::Write, operands.get(1..).unwrap_or_default(), true),
            Files::Move => all(Access::Write, operands, true),
            Files::Copy => {
                if let Some((last, sources)) = operands.split_last() {
                    all(Access::Read, sources, true);
                    all(Access::Write, std::slice::from_ref(last), true);
                }
            }
        }
    }

    /// A program without a row may read whatever it is given.
    fn visible_operands(&mut self, call: &Call) {
        let scene = call.scene.clone();
        for word in call.words.iter().skip(1) {
            if !word.prefix().starts_with('-') {
                self.access(Access::Read, word, &scene, true);
            }
        }
    }

    /// `find`, `fd` and what they run.
    pub(super) fn search(&mut self, call: &mut Call, name: &str, row: &Program, runs: Runs) {
        let arguments = call.words.get(1..).unwrap_or_default().to_vec();
        let mut scene = call.scene.clone();
        let commands = if runs == Runs::Fd {
            self.row(call, name, row, 1);
            find::fd_commands(&arguments)
        } else {
            let search = find::read(&arguments);
            if let Some(trouble) = search.trouble {
                call.object(trouble);
            }
            for word in &search.writes {
                self.access(Access::Write, word, &scene, false);
            }
            let here = [Word::known(".")];
            let roots = if search.roots.is_empty() { here.as_slice() } else { &search.roots };
            let targets: Vec<_> = roots.iter().flat_map(|root| scene.folders.targets(root, self.place)).collect();
            if arguments.iter().any(|word| word.text() == Some("-delete")) {
                for word in roots {
                    self.access(Access::Write, word, &scene, true);
                }
            }
            scene.searched = Some(targets);
            search.commands
        };
        for Executed { words, elsewhere } in commands {
            if words.is_empty() {
                self.admit(What::Command, format!("`{name}` runs a command that is not given"));
                call.object(format!("`{name}` runs a command that is not given"));
                continue;
            }
            let folders = if elsewhere { Folders::unknown() } else { scene.folders.clone() };
            let scene = Scene { folders, ..scene.clone() };
            self.call(Call::inner(words, &scene, "it is run with words that are found at run time"));
        }
    }
}

/// Whether a file may be one of those by which GNU `awk` opens a connection.
fn may_be_network(word: &Word) -> bool {
    const NETWORK: &str = "/inet";
    let prefix = word.prefix();
    match word.text() {
        Some(text) => text.starts_with(NETWORK),
        // A pattern finds what is there.
        None if prefix.is_empty() => !word.causes().all(|cause| cause == Cause::Glob),
        None => prefix.starts_with(NETWORK) || NETWORK.starts_with(prefix),
    }
}

fn judge_operands(call: &mut Call, name: &str, row: &Program, reading: &Reading) {
    let operands = &reading.operands;
    let many = operands.iter().any(Word::may_be_many);
    if operands.len() < row.min_operands {
        call.object(format!("`{name}` with so few arguments is not on the read-only list"));
    }
    if let Some(most) = row.max_operands
        && (operands.len() > most || many)
    {
        call.object(format!("`{name}` with so many arguments is not on the read-only list"));
    }
    let all = |test: &dyn Fn(&str) -> bool| operands.iter().all(|word| test(word.prefix()));
    let prefixed = row.operand_prefix.as_ref().is_none_or(|prefix| all(&|text| text.starts_with(prefix.as_str())));
    let holds = row.operand_holds.as_ref().is_none_or(|part| all(&|text| text.contains(part.as_str())));
    let needed = row.operands_need.is_empty() || operands.is_empty() || reading.has(&row.operands_need);
    if !(prefixed && holds && needed) {
        call.object(format!("`{name}` with such an argument is not on the read-only list"));
    }
}

/// Judges the script of `sed` or `awk`: what the options give, or else the first operand.
fn language(
    reading: &Reading,
    options: &[&str],
    joint: &str,
    name: &str,
    objection: fn(&str) -> Option<String>,
) -> Option<String> {
    let given: Vec<&Word> = reading
        .options
        .iter()
        .filter(|given| options.contains(&given.name.as_str()))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let parts = if given.is_empty() { reading.operands.iter().take(1).collect() } else { given };
    let known: Option<Vec<&str>> = parts.iter().map(|word| word.text()).collect();
    match known {
        Some(parts) => objection(&parts.join(joint)),
        None => Some(format!("the script of `{name}` is only known when it runs")),
    }
}

/// Whether a program is only asked for its version or a summary of its options.
fn tells_of_itself(call: &Call, row: &Program) -> bool {
    let asks = matches!(call.words.get(1..), Some([only]) if matches!(only.text(), Some("--help" | "--version")));
    // Each command of git has a manual of its own, which a pager shows.
    asks && row.commands.is_empty()
        && row.exact.is_empty()
        && !row.changes
        && matches!(row.runs, None | Some(Runs::Find | Runs::Fd | Runs::Xargs))
}

/// Whether a wrapper is only asked what a command is (`command -v`).
fn describes(call: &Call, name: &str) -> bool {
    let Some(wrapping) = table().wrappers.get(name) else {
        return false;
    };
    let arguments = call.words.get(1..).unwrap_or_default();
    let reading = options::read(name, arguments, &wrapping.options);
    reading.trouble.is_none() && reading.options.iter().any(|given| wrapping.describes.contains(given.name.as_str()))
}
