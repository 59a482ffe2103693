//! Here-documents: where a body ends and what is expanded in it.

use std::cell::OnceCell;
use std::rc::Rc;

use super::cursor::{Parsed, Parser, Trouble};
use super::tree::{Piece, Word};
use super::word::Quoting;

/// A here-document whose operator has been read and whose body has not.
pub struct Pending {
    pub delimiter: String,
    /// A quoted delimiter: nothing is expanded.
    pub literal: bool,
    pub strip_tabs: bool,
    pub body: Rc<OnceCell<Word>>,
}

impl Parser {
    /// Reads the delimiter after `<<` and leaves the body for the end of the line.
    pub(super) fn here_document(&mut self, strip_tabs: bool) -> Parsed<Rc<OnceCell<Word>>> {
        self.skip_blanks();
        let start = self.position;
        let word = self.word()?;
        if self.since(start).contains('$') {
            return Err(Trouble("a here-document's delimiter holds a dollar sign"));
        }
        let mut delimiter = String::new();
        let mut literal = false;
        for piece in &word.pieces {
            match piece {
                Piece::Bare(text) => delimiter.push_str(text),
                Piece::Quoted(text) => {
                    literal = true;
                    delimiter.push_str(text);
                }
                Piece::Expansion(_) => {
                    return Err(Trouble("a here-document's delimiter holds an expansion"));
                }
            }
        }
        if word.pieces.is_empty() || delimiter.contains('\n') {
            return Err(Trouble("a here-document has no plain delimiter"));
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending { delimiter, literal, strip_tabs, body: Rc::clone(&body) });
        Ok(body)
    }

    /// Takes a newline, and the bodies that begin after it.
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.next();
        for pending in std::mem::take(&mut self.pending) {
            let text = self.here_body(&pending)?;
            let word = if pending.literal {
                Word { pieces: vec![Piece::Quoted(text)] }
            } else {
                let depth = self.depth;
                Parser::new(&text, depth + 1).expanded_body()?
            };
            // The cell is fresh: each body is read once.
            let _ = pending.body.set(word);
        }
        Ok(())
    }

    fn here_body(&mut self, pending: &Pending) -> Parsed<String> {
        let mut body = String::new();
        loop {
            if self.peek_raw().is_none() {
                // Bash takes the rest of the text with a warning; whoever wrote it meant something else.
                return Err(Trouble("a here-document is not closed"));
            }
            let line = self.here_line(pending.literal);
            let shown = if pending.strip_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            if shown == pending.delimiter {
                return Ok(body);
            }
            let cut_short = shown.strip_prefix(pending.delimiter.as_str()).is_some_and(|rest| rest.starts_with(')'));
            if cut_short && self.substitutions > 0 {
                return Err(Trouble("a here-document may end before its line does"));
            }
            body.push_str(shown);
            body.push('\n');
        }
    }

    /// One line without its newline; unless literal, a backslash before a newline joins the next line to it.
    fn here_line(&mut self, literal: bool) -> String {
        let mut line = String::new();
        while let Some(next) = self.next_raw() {
            match next {
                '\n' => break,
                '\\' if !literal => match self.next_raw() {
                    Some('\n') => {}
                    Some(other) => {
                        line.push('\\');
                        line.push(other);
                    }
                    None => line.push('\\'),
                },
                other => line.push(other),
            }
        }
        line
    }

    /// The body of a here-document whose delimiter is not quoted: like double quotes, but `"` means itself.
    fn expanded_body(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        while let Some(next) = self.peek_raw() {
            match next {
                '\\' => {
                    self.position += 1;
                    match self.next_raw() {
                        Some(escaped @ ('$' | '`' | '\\')) => word.push_quoted(escaped),
                        Some(other) => {
                            word.push_quoted('\\');
                            word.push_quoted(other);
                        }
                        None => word.push_quoted('\\'),
                    }
                }
                '$' => self.dollar(&mut word, Quoting::Document)?,
                '`' => self.backquotes(&mut word, Quoting::Document)?,
                other => {
                    self.position += 1;
                    word.push_quoted(other);
                }
            }
        }
        Ok(word)
    }
}
