//! Words: quoting, and where an expansion begins. Knows nothing of commands.

use super::cursor::{Parsed, Parser, Trouble, is_meta};
use super::tree::{Expansion, ExpansionKind, Piece, Word};

/// What surrounds an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    None,
    Double,
    /// The body of a here-document.
    Document,
}

impl Word {
    pub(super) fn push_bare(&mut self, character: char) {
        if let Some(Piece::Bare(text)) = self.pieces.last_mut() {
            text.push(character);
        } else {
            self.pieces.push(Piece::Bare(character.into()));
        }
    }

    pub(super) fn push_quoted(&mut self, character: char) {
        if let Some(Piece::Quoted(text)) = self.pieces.last_mut() {
            text.push(character);
        } else {
            self.pieces.push(Piece::Quoted(character.into()));
        }
    }
}

impl Parser {
    /// A word up to the next unquoted metacharacter; empty when there is none.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        while self.piece(&mut word)? {}
        Ok(word)
    }

    /// Adds the next piece of an unquoted word; false where the word ends.
    pub(super) fn piece(&mut self, word: &mut Word) -> Parsed<bool> {
        let Some(next) = self.peek() else {
            return Ok(false);
        };
        match next {
            '<' | '>' if self.sees("<(") || self.sees(">(") => self.process(word)?,
            _ if is_meta(next) => return Ok(false),
            '\\' => {
                self.position += 1;
                let escaped = self.next_raw().ok_or(Trouble("it ends in a backslash"))?;
                word.push_quoted(escaped);
            }
            '\'' => self.single_quotes(word)?,
            '"' => self.double_quotes(word)?,
            '$' => self.dollar(word, Quoting::None)?,
            '`' => self.backquotes(word, Quoting::None)?,
            other => {
                self.position += 1;
                word.push_bare(other);
            }
        }
        Ok(true)
    }

    pub(super) fn single_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.position += 1;
        let mut text = String::new();
        loop {
            match self.next_raw() {
                Some('\'') => break,
                Some(other) => text.push(other),
                None => return Err(Trouble("a single quote is not closed")),
            }
        }
        word.pieces.push(Piece::Quoted(text));
        Ok(())
    }

    pub(super) fn double_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.position += 1;
        // Empty quotes make a word, too.
        word.pieces.push(Piece::Quoted(String::new()));
        self.deeper(|parser| {
            loop {
                match parser.peek() {
                    None => return Err(Trouble("a double quote is not closed")),
                    Some('"') => {
                        parser.position += 1;
                        return Ok(());
                    }
                    Some('\\') => {
                        parser.position += 1;
                        match parser.next_raw() {
                            Some(escaped @ ('$' | '`' | '"' | '\\')) => word.push_quoted(escaped),
                            Some(other) => {
                                word.push_quoted('\\');
                                word.push_quoted(other);
                            }
                            None => return Err(Trouble("a double quote is not closed")),
                        }
                    }
                    Some('$') => parser.dollar(word, Quoting::Double)?,
                    Some('`') => parser.backquotes(word, Quoting::Double)?,
                    Some(other) => {
                        parser.position += 1;
                        word.push_quoted(other);
                    }
                }
            }
        })
    }

    /// `$'…'`, decoded.
    pub(super) fn ansi_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.position += 1;
        let mut text = String::new();
        loop {
            match self.next_raw() {
                None => return Err(Trouble("a single quote is not closed")),
                Some('\'') => break,
                Some('\\') => self.ansi_escape(&mut text)?,
                Some(other) => text.push(other),
            }
        }
        word.pieces.push(Piece::Quoted(text));
        Ok(())
    }

    fn ansi_escape(&mut self, text: &mut String) -> Parsed<()> {
        let Some(kind) = self.next_raw() else {
            return Err(Trouble("a single quote is not closed"));
        };
        let plain = match kind {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => kind,
            'x' => self.coded(16, 2, 0x7f)?,
            'u' => self.coded(16, 4, u32::MAX)?,
            'U' => self.coded(16, 8, u32::MAX)?,
            '0'..='7' => {
                self.position -= 1;
                self.coded(8, 3, 0x7f)?
            }
            'c' => return Err(Trouble("it holds a control escape")),
            other => {
                text.push('\\');
                other
            }
        };
        text.push(plain);
        Ok(())
    }

    /// A character given by its number. Bytes above ASCII and NUL are refused: what they become depends on more than the text.
    fn coded(&mut self, radix: u32, digits: usize, highest: u32) -> Parsed<char> {
        const REFUSED: Trouble = Trouble("it holds an escape that stands for no certain character");
        let mut value: u32 = 0;
        let mut seen = 0;
        while seen < digits {
            let Some(digit) = self.peek_raw().and_then(|next| next.to_digit(radix)) else {
                break;
            };
            value = value.saturating_mul(radix).saturating_add(digit);
            self.position += 1;
            seen += 1;
        }
        if seen == 0 || value == 0 || value > highest {
            return Err(REFUSED);
        }
        char::from_u32(value).ok_or(REFUSED)
    }

    /// `<( … )` or `>( … )`.
    fn process(&mut self, word: &mut Word) -> Parsed<()> {
        let start = self.position;
        self.next();
        self.next();
        let script = self.substituted_script()?;
        word.pieces.push(Piece::Expansion(Expansion {
            written: self.since(start),
            quoted: false,
            kind: ExpansionKind::Process,
            scripts: vec![script],
            ..Expansion::empty()
        }));
        Ok(())
    }
}
