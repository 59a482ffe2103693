//! What stands in `[[ ]]`: Bash reads other operators and patterns there than elsewhere. Strict: whatever Bash takes for
//! an error, for a comment or for a pattern of an unusual kind is refused.

use super::cursor::{Parsed, Parser, Trouble, is_meta};
use super::tree::{Piece, Word};

const UNCLOSED: Trouble = Trouble("`[[` is not closed");

const BINARY: [&str; 13] = ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Letters of the operators that take one word.
const UNARY: &str = "abcdefgGhkLnNoOprRsStuvwxz";

impl Parser {
    /// `[[ … ]]` after the opening word, as a flat list of words and operators.
    pub(super) fn test(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        let mut open = 0_usize;
        loop {
            self.test_lines()?;
            if self.eat("(") {
                open += 1;
                continue;
            }
            if self.bare_ahead() == "!" {
                self.eat("!");
                continue;
            }
            self.test_term(&mut words)?;
            loop {
                self.test_lines()?;
                if !self.eat(")") {
                    break;
                }
                open = open.checked_sub(1).ok_or(UNCLOSED)?;
            }
            if self.bare_ahead() == "]]" && open == 0 {
                self.eat("]]");
                return Ok(words);
            }
            if !(self.eat("&&") || self.eat("||")) {
                return Err(UNCLOSED);
            }
        }
    }

    /// Skips blanks and newlines. A comment ends no line of a test that anybody would write.
    fn test_lines(&mut self) -> Parsed<()> {
        loop {
            self.test_blanks()?;
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn test_blanks(&mut self) -> Parsed<()> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.position += 1;
        }
        if self.peek() == Some('#') {
            return Err(Trouble("a comment stands in a test"));
        }
        Ok(())
    }

    /// A word alone, an operator and a word, or a word, an operator and a word.
    fn test_term(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        let first = self.test_word()?;
        let unary = first.bare().is_some_and(|text| {
            text.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && UNARY.contains(letter))
        });
        words.push(first);
        self.test_blanks()?;
        if unary {
            words.push(self.test_word()?);
            return Ok(());
        }
        if self.peek() == Some(')') || self.sees("&&") || self.sees("||") || self.bare_ahead() == "]]" {
            return Ok(());
        }
        let process = self.sees("<(") || self.sees(">(");
        if !process && (self.eat("<") || self.eat(">")) {
            self.test_blanks()?;
            words.push(self.test_word()?);
            return Ok(());
        }
        let operator = self.test_word()?;
        let Some(sign) = operator.bare().filter(|text| BINARY.contains(text)).map(str::to_owned) else {
            return Err(Trouble("a test has an operator that is not known"));
        };
        words.push(operator);
        self.test_blanks()?;
        let right = match sign.as_str() {
            "=~" => self.regex()?,
            "=" | "==" | "!=" => self.pattern()?,
            _ => self.test_word()?,
        };
        words.push(right);
        Ok(())
    }

    fn test_word(&mut self) -> Parsed<Word> {
        let word = self.word()?;
        if word.pieces.is_empty() || word.bare() == Some("]]") {
            return Err(UNCLOSED);
        }
        Ok(word)
    }

    /// The right side of `==`, in which `@(a|b)` and its like are alive.
    fn pattern(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        loop {
            let group =
                matches!(word.pieces.last(), Some(Piece::Bare(text)) if text.ends_with(['?', '*', '+', '@', '!']));
            if group && self.peek() == Some('(') {
                self.enclosed(&mut word)?;
            } else if !self.piece(&mut word)? {
                break;
            }
        }
        if word.pieces.is_empty() || word.bare() == Some("]]") {
            return Err(UNCLOSED);
        }
        Ok(word)
    }

    /// The right side of `=~`, in which parentheses and `|` are ordinary.
    fn regex(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        loop {
            match self.peek() {
                Some('(') => self.enclosed(&mut word)?,
                Some('|') => {
                    self.position += 1;
                    word.push_quoted('|');
                }
                _ => {
                    if !self.piece(&mut word)? {
                        break;
                    }
                }
            }
        }
        if word.pieces.is_empty() {
            return Err(UNCLOSED);
        }
        Ok(word)
    }

    /// `( … )` in a pattern: blanks and `|` are ordinary in it; other signs of Bash are refused.
    fn enclosed(&mut self, word: &mut Word) -> Parsed<()> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some('|' | ' ' | '\t') => {}
                Some('#') => return Err(Trouble("a pattern in parentheses holds a sign that is not known")),
                Some(next) if is_meta(next) => {
                    return Err(Trouble("a pattern in parentheses holds a sign that is not known"));
                }
                _ => {
                    if !self.piece(word)? {
                        return Err(UNCLOSED);
                    }
                    continue;
                }
            }
            self.position += 1;
            // Whatever it is, it ends no word.
            word.push_quoted('|');
            if open == 0 {
                return Ok(());
            }
        }
    }
}
