//! Bash's grammar: text to tree. Owns everything that depends on how Bash reads characters; knows nothing of programs,
//! paths or rules. Strict on purpose: whatever Bash reads in more than one way, or only with a warning, is an error here.
//!
//! The parser is bounded: it never recurses deeper than a fixed depth and never reads a character more often than the
//! nesting around it requires.

mod command;
mod compound;
mod cursor;
mod expansion;
mod heredoc;
mod test;
mod tree;
mod word;

pub use cursor::{Parsed, Trouble, is_name};
pub use tree::{
    AndOr, Command, Compound, Descriptor, Expansion, ExpansionKind, Join, Piece, Pipeline, Redirect, RedirectKind,
    Script, Simple, Target, Word,
};

use cursor::Parser;

/// Reads a whole text as a Bash script.
pub fn parse(text: &str) -> Parsed<Script> {
    parse_at(text, 0)
}

/// Reads a text that stands `depth` levels deep in another one.
pub fn parse_at(text: &str, depth: usize) -> Parsed<Script> {
    let mut parser = Parser::new(text, depth);
    let script = parser.script()?;
    if parser.peek().is_some() {
        return Err(Trouble("a word or sign stands where a command must end"));
    }
    if !parser.pending.is_empty() {
        return Err(Trouble("a here-document is not closed"));
    }
    Ok(script)
}

#[cfg(test)]
mod tests;
