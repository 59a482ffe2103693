//! The data of `programs.json`: which programs only read, with which options; wrappers; options that mean the same.
//! Owns the shape of the file and loads it once; draws no conclusions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

static TABLE: LazyLock<Table> = LazyLock::new(|| load().unwrap_or_default());

fn load() -> serde_json::Result<Table> {
    let mut table: Table = serde_json::from_str(include_str!("../programs.json"))?;
    for program in table.programs.values_mut() {
        program.build_on(&table.bases);
    }
    Ok(table)
}

/// The whole file. A file that cannot be read is an empty table, so that nothing is known to be read-only.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Folders whose programs count as the ones of the same name.
    pub system_folders: Vec<String>,
    /// Variables that any command may be given; a trailing `*` stands for any ending.
    pub safe_variables: Vec<String>,
    /// Variables in capitals that no program in the table looks at.
    pub idle_variables: Vec<String>,
    /// Lower-case variables that mean something to Bash or to common programs.
    pub special_variables: Vec<String>,
    /// Options that several programs share.
    pub bases: BTreeMap<String, Options>,
    pub programs: BTreeMap<String, Program>,
    pub wrappers: BTreeMap<String, Wrapping>,
    /// A name may end in `*`, which stands for any ending.
    pub carriers: BTreeMap<String, Carrier>,
    /// For a program, or a program and its subcommand: lists of options that mean the same.
    pub equivalents: BTreeMap<String, Vec<Vec<String>>>,
}

/// One program or subcommand.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Program {
    /// It changes something whatever its options are; the row only tells which files.
    pub changes: bool,
    pub options: Options,
    pub files: Files,
    /// With fewer operands it shows what it should not.
    pub min_operands: usize,
    /// It takes no more operands than this, for instance because the next one is written.
    pub max_operands: Option<usize>,
    /// What every operand has to begin with.
    pub operand_prefix: Option<String>,
    /// What every operand has to hold.
    pub operand_holds: Option<String>,
    /// Operands are allowed only beside one of these options.
    pub operands_need: Vec<String>,
    /// A language in which arguments can make it run a program.
    pub format: Option<Format>,
    /// Only these arguments are read-only, joined by spaces.
    pub exact: Vec<String>,
    /// A rule that needs code.
    pub check: Option<Check>,
    /// It runs what its arguments hold.
    pub runs: Option<Runs>,
    /// Subcommands; any other first operand is refused.
    pub commands: BTreeMap<String, Program>,
    /// Without a subcommand it changes something.
    pub needs_command: bool,
    /// It obeys the configuration of the folder it runs in, so that folder must be the one the session is in.
    pub obeys_folder: bool,
    /// Variables that it may be given beyond the safe ones.
    pub variables: Vec<String>,
}

/// How the options of a program are read. `flags` and `values` are letters, the others names without dashes.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The options in `bases` to which these are added.
    pub base: Option<String>,
    pub mode: Mode,
    /// In mode `except`, flags and long options without a value need not be listed; one that is not may take the
    /// next word for its value.
    pub flags: String,
    pub values: String,
    /// Letters whose value, if there is one, follows at once.
    pub optional: String,
    pub long: Vec<String>,
    pub long_values: Vec<String>,
    /// Options that are refused in mode `except`; a long name is matched with its abbreviations.
    pub except: Vec<String>,
    /// Options that take a value and are refused in every mode.
    pub refuse_values: Vec<String>,
    /// Options whose value names a file that is read.
    pub reads: Vec<String>,
    /// Options whose value names a file that is written.
    pub writes: Vec<String>,
    /// Options that make operands mean everything beneath them.
    pub tree: Vec<String>,
    /// `-5` is an option.
    pub digits: bool,
    /// The first operand ends the options.
    pub leading: bool,
    /// Long options may begin with a single dash.
    pub dashed: bool,
    /// Letters whose value is always the next word, wherever in a cluster they stand.
    pub detached: String,
    /// A word with one dash is one option, with its whole name in `long` or `long_values`; letters in `values` may
    /// have a number attached.
    pub whole: bool,
}

/// Which options a read-only program may be given.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Those that are listed.
    #[default]
    Listed,
    /// All: none of them writes or runs anything.
    Any,
    /// All but those in `except`.
    Except,
}

/// What the operands of a program are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// Text, or files of which only the names matter.
    #[default]
    None,
    /// Files that are read.
    Read,
    /// Folders that are read with everything beneath them; the working folder if there is none.
    Tree,
    /// A pattern, unless an option gives one, then files that are read.
    Pattern,
    /// The same for a program that searches everything beneath its operands.
    PatternTree,
    /// Files that are written.
    Write,
    /// Something else, then files that are written.
    SkipWrite,
    /// Files that are read, the last one written.
    Copy,
    /// Files that are moved: all are written.
    Move,
}

/// Rules that are code because they read a language of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Awk,
    Printf,
    Read,
    Sed,
    Tar,
    Test,
}

/// Languages of `git` for what it prints; in both, a signature is checked by running `gpg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Of commits: `%G?` and the like.
    Commits,
    /// Of references: `%(signature)` and the like.
    References,
}

/// How a program runs other commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// A shell: a script in `-c`, in a file or on standard input.
    Shell,
    /// Its arguments, joined, are a script in this shell.
    Eval,
    /// Its first argument is a script.
    Trap,
    /// The value of `-C` is a script.
    Callback,
    /// A file of commands for this shell.
    Source,
    Xargs,
    Find,
    Fd,
    /// Goes to another folder.
    Cd,
}

/// A command that runs the command behind it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wrapping {
    pub options: Options,
    /// How many operands stand before the command.
    pub skip: usize,
    /// `name=value` operands stand before the command.
    pub assignments: bool,
    /// It adds nothing of its own: with a read-only command it is read-only.
    pub plain: bool,
    /// It stays in this shell, so that `cd` and the like have their effect.
    pub shell: bool,
    /// It gives the command other rights, so that no rule covers it.
    pub elevates: bool,
    /// With one of these letters it only tells what the command is.
    pub describes: String,
    /// Options whose value takes the place of the option, taken apart into words.
    pub splits: Vec<String>,
    /// Without a command it is a shell that reads its standard input.
    pub input: bool,
}

/// A command whose arguments hold other commands. They count for deny rules only: it is judged and covered as it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Carrier {
    /// The name of the row that holds for this one.
    pub same: Option<String>,
    /// An option that is not listed makes every argument a candidate.
    pub options: Options,
    /// How many operands stand before what `operands` says.
    pub skip: usize,
    /// `name=value` operands stand before that, too.
    pub assignments: bool,
    pub operands: Operands,
    /// Options whose value is a script.
    pub scripts: Vec<String>,
    /// Options whose value is a program that gets the operands as its arguments.
    pub programs: Vec<String>,
    /// Options whose value is a setting of git, which may name commands.
    pub settings: Vec<String>,
    /// Options whose value is text in which `marks` stand before commands.
    pub marked: Vec<String>,
    /// What stands before a command in text that is no script as a whole.
    pub marks: Vec<String>,
    /// Options with which only the run can tell what runs.
    pub unknown: Vec<String>,
    /// Without a command it reads its standard input.
    pub input: Reads,
    /// Subcommands.
    pub commands: BTreeMap<String, Carrier>,
}

/// What the operands of a carrier are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operands {
    /// No commands.
    #[default]
    Nothing,
    /// A command and its arguments.
    Command,
    /// A script, joined by spaces.
    Script,
    /// Scripts, one each.
    Scripts,
    /// The arguments of a shell.
    Shell,
    /// Text with marks.
    Marked,
    /// The name of a setting and its value.
    Setting,
    /// A command that may begin anywhere.
    Anywhere,
}

/// What a carrier reads from its standard input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    #[default]
    Nothing,
    /// A script.
    Script,
    /// Text with marks.
    Marked,
}

impl Program {
    fn build_on(&mut self, bases: &BTreeMap<String, Options>) {
        if let Some(name) = &self.options.base {
            match bases.get(name) {
                Some(base) => self.options.add(base.clone()),
                None => self.changes = true,
            }
        }
        for command in self.commands.values_mut() {
            command.build_on(bases);
        }
    }
}

impl Options {
    fn add(&mut self, base: Self) {
        self.mode = base.mode;
        self.flags += &base.flags;
        self.long.extend(base.long);
        self.except.extend(base.except);
    }
}

/// The table, loaded once.
pub fn table() -> &'static Table {
    &TABLE
}

impl Table {
    /// Whether any command may be given this variable.
    pub fn is_safe_variable(&self, name: &str) -> bool {
        self.safe_variables.iter().any(|safe| match safe.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => safe == name,
        })
    }

    /// Whether a shell variable of this name can matter to no program: it is lower-case, one letter or known to
    /// be idle, and none that is known to matter. The environment speaks in capitals.
    pub fn is_idle_variable(&self, name: &str) -> bool {
        let quiet = name.len() == 1
            || !name.chars().any(|letter| letter.is_ascii_uppercase())
            || self.idle_variables.iter().any(|idle| idle == name);
        quiet && name != "_" && !self.special_variables.iter().any(|special| special == name)
    }

    /// The row of a carrier.
    pub fn carrier(&self, name: &str) -> Option<&Carrier> {
        let row = self.carriers.get(name).or_else(|| {
            let stem = |key: &str| key.strip_suffix('*').is_some_and(|stem| name.starts_with(stem));
            self.carriers.iter().find(|(key, _)| stem(key)).map(|(_, row)| row)
        })?;
        row.same.as_ref().map_or(Some(row), |same| self.carriers.get(same))
    }

    /// The row for a command word: a bare name, or one in a system folder.
    pub fn name<'w>(&self, word: &'w str) -> Option<&'w str> {
        match word.rsplit_once('/') {
            None => Some(word),
            Some((folder, name)) => self.system_folders.iter().any(|system| system == folder).then_some(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_loads() {
        let loaded = load();
        assert!(loaded.is_ok(), "{loaded:?}");
        assert!(table().programs.len() > 80);
    }

    #[test]
    fn variables_of_the_environment_are_not_idle() {
        let cases = [("f", true), ("F", true), ("line", true), ("PATH", false), ("_", false), ("http_proxy", false)];
        for (name, idle) in cases {
            assert_eq!(table().is_idle_variable(name), idle, "{name}");
        }
    }
}
