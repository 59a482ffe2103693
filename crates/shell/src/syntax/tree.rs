//! The shape of parsed Bash text. Owns no behaviour: the parser builds these values, the walk reads them.

use std::cell::OnceCell;
use std::rc::Rc;

/// A list of commands in the order in which they stand.
#[derive(Debug, Default)]
pub struct Script(pub Vec<AndOr>);

/// Pipelines joined by `&&` and `||`; the list is never empty.
#[derive(Debug)]
pub struct AndOr {
    pub first: Pipeline,
    pub rest: Vec<(Join, Pipeline)>,
    pub background: bool,
}

/// How a pipeline hangs on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
}

/// Commands joined by pipes; never empty.
#[derive(Debug)]
pub struct Pipeline {
    pub negated: bool,
    pub commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub enum Command {
    Simple(Simple),
    Compound(Compound, Vec<Redirect>),
    Function { name: String, body: Box<Command> },
}

/// A command that is made of other commands.
#[derive(Debug)]
pub enum Compound {
    Group(Script),
    Subshell(Script),
    /// Pairs of condition and body, then the body of `else`.
    If(Vec<(Script, Script)>, Option<Script>),
    /// `while` and `until`.
    Loop(Script, Script),
    /// `for` and `select`.
    Each {
        variable: String,
        words: Vec<Word>,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    /// `(( … ))`.
    Arithmetic(Expansion),
    /// `for (( … ))`.
    Counted(Expansion, Script),
    /// `[[ … ]]`, its operators among the words.
    Test(Vec<Word>),
    Coprocess(Box<Command>),
}

/// A simple command; all three lists may be empty, but not together.
#[derive(Debug, Default)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

/// `name=value`, `name[index]=value` or `name=(values)`.
#[derive(Debug)]
pub struct Assignment {
    pub name: String,
    /// The name carries an index, which Bash evaluates as arithmetic.
    pub indexed: bool,
    pub values: Vec<Word>,
}

/// A redirection; a here-document's body is filled in when its line ends.
#[derive(Debug)]
pub struct Redirect {
    pub kind: RedirectKind,
    pub target: Target,
    /// The descriptor before the operator.
    pub descriptor: Descriptor,
}

/// What stands before the operator of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor {
    /// Nothing: standard input or output, as the operator says.
    Usual,
    /// Standard input.
    Zero,
    Number,
    /// The descriptor is stored in a variable (`{name}>`).
    Named,
}

/// What a redirection points at.
#[derive(Debug)]
pub enum Target {
    Word(Word),
    /// Set before the parser returns.
    Body(Rc<OnceCell<Word>>),
}

/// The operator of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    Input,
    /// `>`, `>>`, `>|`, `&>`, `&>>`.
    Output,
    /// `<>`.
    ReadWrite,
    /// `<&`.
    CopyInput,
    /// `>&`.
    CopyOutput,
    /// `<<`, `<<-`, `<<<`: text for standard input.
    Text,
}

/// A word as written, before any expansion.
#[derive(Debug, Default)]
pub struct Word {
    pub pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Debug)]
pub enum Piece {
    /// Unquoted text: braces, globs and a tilde are alive in it.
    Bare(String),
    /// Exactly this text.
    Quoted(String),
    Expansion(Expansion),
}

/// Something whose value is known only when it runs, with all that it runs, however deep.
#[derive(Debug)]
pub struct Expansion {
    pub written: String,
    pub quoted: bool,
    /// It gives any number of words even inside quotes, as `$@` does.
    pub plural: bool,
    pub kind: ExpansionKind,
    pub scripts: Vec<Script>,
    /// Why expanding it may do more than compute text.
    pub hazard: Option<&'static str>,
}

/// What an expansion gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpansionKind {
    Parameter,
    /// A decimal number for certain.
    Number,
    Command,
    Process,
}

impl Word {
    /// The text of a word that is wholly unquoted and holds no expansion.
    pub fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Bare(text)] => Some(text),
            _ => None,
        }
    }
}
