//! What an analysis says. Owns the public shapes; knows nothing of how they are found.

use std::path::PathBuf;

/// Where a text would run; used only to make paths absolute, never to look at them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The absolute working folder.
    pub cwd: PathBuf,
    /// The absolute home folder, for `~` and a bare `cd`.
    pub home: Option<PathBuf>,
    /// Whether somebody looked and found that the configuration in the working folder names no programs. Without that,
    /// a program that obeys it, such as git, may run anything.
    pub clean: bool,
}

/// Everything that a text can run, read and write, as far as the text shows it. What it does not show is in `unknown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command, wherever it stands, in the order of the text; a redirection, loop header or definition
    /// that matters is an entry without words.
    pub commands: Vec<SimpleCommand>,
    /// Redirections and visible path operands.
    pub files: Vec<FileAccess>,
    /// What only the run can tell and what a deny rule might match.
    pub unknown: Vec<Unknown>,
    /// Why no rule may cover the text as a whole (it does not parse, it is too long, it holds invisible characters).
    pub opaque: Option<String>,
    /// Whether the text only reads.
    pub verdict: Verdict,
}

/// Whether something only reads: `ReadOnly` only if every part is known to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It neither writes, nor runs anything that is not read-only, nor uses the network.
    ReadOnly,
    /// It may do more than read.
    NotReadOnly {
        /// The first cause, in words for people.
        reason: String,
    },
}

impl Verdict {
    /// Whether it is `ReadOnly`.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::ReadOnly)
    }
}

/// One command under its wrappers; `words` is empty for a bare assignment, redirection or definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Name and arguments after quote removal.
    pub words: Vec<Word>,
    /// Names of the variables set in front of it, those set by `env` included.
    pub assignments: Vec<String>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// Wrappers around it, outermost first.
    pub wrappers: Vec<Wrapper>,
    /// Whether this command, with its wrappers and redirections, only reads.
    pub verdict: Verdict,
    /// Why no allow rule may cover it; `None` where a rule for its text may.
    pub uncoverable: Option<String>,
    /// It may be a command or may be an argument of one: deny rules count, nothing else does.
    pub guess: bool,
}

/// A command that runs the command behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// The last path part of its name.
    pub name: String,
    /// Its words, the wrapped command's included.
    pub words: Vec<Word>,
}

/// A word after quote removal; parts are never empty, except that an empty word has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// Known and unknown parts in order.
    pub parts: Vec<Part>,
    /// It begins with an unquoted `~` that stands for the home folder.
    pub tilde: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Exactly this text.
    Text(String),
    /// Text that only the run can tell.
    Unknown {
        /// As it stands in the text.
        written: String,
        /// What stands there.
        cause: Cause,
    },
}

/// Why a part of a word is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A variable, or a form of `${ }`, inside quotes: one word.
    Quoted,
    /// The same without quotes: any number of words.
    Split,
    /// Digits, or nothing.
    Number,
    /// `*`, `?` or `[ ]`: any number of words, none of which splits.
    Glob,
    /// `{a,b}`: several words.
    Braces,
    /// Text put in by `xargs` or `find -exec`.
    Filled,
    /// The path of a process substitution.
    Pipe,
}

/// A redirection of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// Whether it may create or change a file.
    pub writes: bool,
    /// The file, descriptor or text.
    pub target: Word,
}

/// A file that is read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccess {
    /// What is done with it.
    pub access: Access,
    /// Which file.
    pub target: Target,
    /// Everything beneath it is meant, too.
    pub tree: bool,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is made, changed or removed.
    Write,
}

/// Which file is meant; paths are absolute and lexically normalised, links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This one.
    Path(PathBuf),
    /// Those that a glob names.
    Glob {
        /// All of them are beneath this folder.
        directory: PathBuf,
        /// The absolute glob, in which `*` and `?` do not cross folders.
        pattern: String,
    },
    /// It cannot be known before the text runs.
    Unknown {
        /// Why, in words for people.
        reason: String,
    },
}

/// Something that only the run can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What is unknown.
    pub what: What,
    /// Why, in words for people.
    pub reason: String,
}

/// What an unknown value would decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Which command runs.
    Command,
    /// The text that a shell is given.
    Script,
    /// The file that a redirection opens.
    Target,
}
