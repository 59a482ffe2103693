//! Reading characters as Bash does, and the bounds of the parser. Owns position, depth and line continuation;
//! knows nothing of grammar.

use super::heredoc::Pending;

/// Deeper nesting than this is refused: the parser recurses, and a full stack would abort the process.
const MAX_DEPTH: usize = 60;

/// Why text could not be read as Bash; a phrase for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble(pub &'static str);

/// The result of reading a part of the text.
pub type Parsed<T> = Result<T, Trouble>;

/// Reads one text from start to end; never goes back further than one token.
pub struct Parser {
    pub(super) chars: Vec<char>,
    pub(super) position: usize,
    pub(super) depth: usize,
    /// Here-documents whose body starts after the next newline.
    pub(super) pending: Vec<Pending>,
    /// `$( )` around the position: a here-document may then be cut short by `)`.
    pub(super) substitutions: usize,
    /// `${ }` and arithmetic around the position, up to the substitution that it is in.
    pub(super) braces: usize,
}

impl Parser {
    pub(super) fn new(text: &str, depth: usize) -> Self {
        Self { chars: text.chars().collect(), position: 0, depth, pending: Vec::new(), substitutions: 0, braces: 0 }
    }

    /// The next character as it stands.
    pub(super) fn peek_raw(&self) -> Option<char> {
        self.chars.get(self.position).copied()
    }

    /// Takes the next character as it stands.
    pub(super) fn next_raw(&mut self) -> Option<char> {
        let next = self.peek_raw();
        if next.is_some() {
            self.position += 1;
        }
        next
    }

    /// The next character, a backslash before a newline being removed first as Bash does.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.peek_raw() == Some('\\') && self.chars.get(self.position + 1) == Some(&'\n') {
            self.position += 2;
        }
        self.peek_raw()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        self.peek();
        self.next_raw()
    }

    /// Whether `text` comes next.
    pub(super) fn sees(&mut self, text: &str) -> bool {
        let start = self.position;
        let seen = text.chars().all(|wanted| self.next() == Some(wanted));
        self.position = start;
        seen
    }

    /// Takes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let start = self.position;
        let seen = text.chars().all(|wanted| self.next() == Some(wanted));
        if !seen {
            self.position = start;
        }
        seen
    }

    pub(super) fn require(&mut self, text: &str, trouble: &'static str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { Err(Trouble(trouble)) }
    }

    /// The text from `start` to here, as written.
    pub(super) fn since(&self, start: usize) -> String {
        self.chars.get(start..self.position).map(|chars| chars.iter().collect()).unwrap_or_default()
    }

    /// Runs `read` one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Trouble("it is nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Skips spaces, tabs and a comment, up to a newline at most.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.position += 1;
        }
        if self.peek() == Some('#') {
            // A backslash does not continue a comment.
            while self.peek_raw().is_some_and(|next| next != '\n') {
                self.position += 1;
            }
        }
    }
}

/// Whether a character ends an unquoted word.
pub fn is_meta(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

/// Whether a text is the name of a shell variable.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
        && chars.all(|next| next == '_' || next.is_ascii_alphanumeric())
}
