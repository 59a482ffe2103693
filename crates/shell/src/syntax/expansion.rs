//! What follows `$` and backquotes. Forms that only compute text are listed; every other form carries a hazard or is refused.

use super::cursor::{Parsed, Parser, Trouble};
use super::tree::{Expansion, ExpansionKind, Piece, Script, Word};
use super::word::Quoting;

const ARITHMETIC: &str = "it evaluates names as arithmetic, which can run commands";

impl Parser {
    /// Reads from `$` on.
    pub(super) fn dollar(&mut self, word: &mut Word, quoting: Quoting) -> Parsed<()> {
        let start = self.position;
        self.next();
        let quoted = quoting != Quoting::None;
        let mut expansion = Expansion { quoted, ..Expansion::empty() };
        match self.peek() {
            Some('\'') if !quoted => return self.ansi_quotes(word),
            Some('"') if !quoted => return self.double_quotes(word),
            Some('(') if self.eat("((") => {
                self.in_braces(|parser| parser.arithmetic("))", &mut expansion))?;
                if expansion.hazard.is_none() {
                    expansion.kind = ExpansionKind::Number;
                }
            }
            Some('[') => {
                self.position += 1;
                self.in_braces(|parser| parser.arithmetic("]", &mut expansion))?;
                if expansion.hazard.is_none() {
                    expansion.kind = ExpansionKind::Number;
                }
            }
            Some('(') => {
                self.position += 1;
                expansion.kind = ExpansionKind::Command;
                expansion.scripts.push(self.substituted_script()?);
            }
            Some('{') => {
                self.position += 1;
                self.in_braces(|parser| parser.braces(&mut expansion, quoting))?;
            }
            Some(next) if next == '_' || next.is_ascii_alphabetic() => {
                self.name();
            }
            Some(next) if next.is_ascii_digit() || "@*#?-$!".contains(next) => {
                self.position += 1;
                expansion.plural = next == '@';
                // Without a command in the background, `$!` is nothing at all.
                if "#?$".contains(next) || (next == '!' && quoted) {
                    expansion.kind = ExpansionKind::Number;
                }
            }
            _ => {
                if quoted {
                    word.push_quoted('$');
                } else {
                    word.push_bare('$');
                }
                return Ok(());
            }
        }
        expansion.written = self.since(start);
        word.pieces.push(Piece::Expansion(expansion));
        Ok(())
    }

    /// Reads what stands between `${` or `$((` and its end.
    pub(super) fn in_braces(&mut self, read: impl FnOnce(&mut Self) -> Parsed<()>) -> Parsed<()> {
        let around = self.braces;
        self.braces += 1;
        let result = self.deeper(read);
        self.braces = around;
        result
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if next != '_' && !next.is_ascii_alphanumeric() {
                break;
            }
            self.position += 1;
            name.push(next);
        }
        name
    }

    /// The script inside `$( )`, `<( )` or `>( )`, with the closing parenthesis.
    pub(super) fn substituted_script(&mut self) -> Parsed<Script> {
        let start = self.position;
        let outer = std::mem::take(&mut self.pending);
        let braces = std::mem::take(&mut self.braces);
        self.substitutions += 1;
        let script = self.deeper(Self::script)?;
        self.substitutions -= 1;
        self.braces = braces;
        if !self.pending.is_empty() {
            return Err(Trouble("a here-document is not closed in its substitution"));
        }
        self.require(")", "a substitution is not closed")?;
        if !outer.is_empty() && self.since(start).contains('\n') {
            return Err(Trouble("a here-document's line goes on in a substitution"));
        }
        self.pending = outer;
        Ok(script)
    }

    /// `` `…` ``: the text is unescaped once and then read as a script of its own.
    pub(super) fn backquotes(&mut self, word: &mut Word, quoting: Quoting) -> Parsed<()> {
        let start = self.position;
        self.position += 1;
        let mut text = String::new();
        loop {
            match self.next_raw() {
                None => return Err(Trouble("a backquote is not closed")),
                Some('`') => break,
                // Whether a backslash is taken away once or twice depends on what is around the braces.
                Some('\\') if self.braces > 0 => {
                    return Err(Trouble("a backslash in backquotes inside braces is ambiguous"));
                }
                Some('\\') => match self.next_raw() {
                    Some(escaped @ ('$' | '`' | '\\')) => text.push(escaped),
                    Some('"') if quoting == Quoting::Double => text.push('"'),
                    Some(other) => {
                        text.push('\\');
                        text.push(other);
                    }
                    None => return Err(Trouble("a backquote is not closed")),
                },
                Some(other) => text.push(other),
            }
        }
        let script = self.deeper(|parser| super::parse_at(&text, parser.depth))?;
        word.pieces.push(Piece::Expansion(Expansion {
            written: self.since(start),
            quoted: quoting != Quoting::None,
            kind: ExpansionKind::Command,
            scripts: vec![script],
            ..Expansion::empty()
        }));
        Ok(())
    }

    /// An arithmetic expression up to `end`, which is `))` or `]`. Names are evaluated again and again by Bash, down to
    /// subscripts with substitutions in them, so only numbers are free of hazard.
    pub(super) fn arithmetic(&mut self, end: &str, into: &mut Expansion) -> Parsed<()> {
        let (open, close) = if end == "]" { ('[', ']') } else { ('(', ')') };
        let mut nested = 0_usize;
        let mut in_number = false;
        loop {
            if nested == 0 && self.eat(end) {
                return Ok(());
            }
            let Some(next) = self.peek() else {
                return Err(Trouble("an arithmetic expression is not closed"));
            };
            let continues = in_number && (next == '#' || next.is_ascii_alphanumeric());
            in_number = continues || next.is_ascii_digit();
            match next {
                '$' | '`' => self.evaluated(into)?,
                '\'' | '"' | '\\' => {
                    return Err(Trouble("an arithmetic expression holds a quote"));
                }
                _ => {
                    self.position += 1;
                    if next == open {
                        nested += 1;
                    } else if next == close {
                        nested =
                            nested.checked_sub(1).ok_or(Trouble("parentheses that may be arithmetic or a subshell"))?;
                    } else if !continues && (next == '_' || next.is_alphabetic()) {
                        into.hazard = Some(ARITHMETIC);
                    }
                }
            }
        }
    }

    /// An expansion whose value is evaluated as arithmetic.
    fn evaluated(&mut self, into: &mut Expansion) -> Parsed<()> {
        let mut inner = Word::default();
        if self.peek() == Some('`') {
            self.backquotes(&mut inner, Quoting::Double)?;
        } else {
            self.dollar(&mut inner, Quoting::Double)?;
        }
        for piece in inner.pieces {
            if let Piece::Expansion(expansion) = piece {
                if expansion.kind != ExpansionKind::Number {
                    into.hazard = Some(ARITHMETIC);
                }
                into.absorb(expansion);
            }
        }
        Ok(())
    }

    /// `${ … }` after its opening brace.
    fn braces(&mut self, into: &mut Expansion, quoting: Quoting) -> Parsed<()> {
        const ODD: Trouble = Trouble("it holds an expansion of an unknown form");
        if self.peek() == Some('#') && !self.sees("#}") {
            self.position += 1;
            into.kind = ExpansionKind::Number;
            self.parameter(into)?;
            return self.require("}", ODD.0);
        }
        if self.peek() == Some('!') && !self.sees("!}") {
            self.position += 1;
            into.hazard = Some("it takes the name of a variable from another variable");
        }
        self.parameter(into)?;
        let Some(operator) = self.next() else {
            return Err(ODD);
        };
        match operator {
            '}' => return Ok(()),
            ':' => match self.peek() {
                Some('-' | '+' | '?') => {
                    self.position += 1;
                }
                Some('=') => into.hazard = Some("it assigns a variable"),
                _ => return self.substring(into),
            },
            '=' => into.hazard = Some("it assigns a variable"),
            '-' | '+' | '?' | '#' | '%' | '/' | '^' | ',' => {}
            '@' => {
                if !matches!(self.next(), Some('Q' | 'U' | 'u' | 'L')) {
                    into.hazard = Some("it transforms a variable in a way that can run commands");
                }
                if self.peek() != Some('}') {
                    return Err(ODD);
                }
            }
            _ => return Err(ODD),
        }
        self.brace_text(into, quoting)
    }

    /// `name`, `name[index]`, a digit or a special parameter.
    fn parameter(&mut self, into: &mut Expansion) -> Parsed<()> {
        match self.peek() {
            Some(next) if next == '_' || next.is_ascii_alphabetic() => {
                self.name();
                if self.eat("[") {
                    into.plural |= self.sees("@]");
                    self.arithmetic("]", into)?;
                }
                Ok(())
            }
            Some(next) if next.is_ascii_digit() => {
                while self.peek().is_some_and(|next| next.is_ascii_digit()) {
                    self.position += 1;
                }
                Ok(())
            }
            Some(next) if "@*#?-$!".contains(next) => {
                self.position += 1;
                into.plural |= next == '@';
                Ok(())
            }
            _ => Err(Trouble("it holds an expansion of an unknown form")),
        }
    }

    /// The offsets of `${name:offset:length}`.
    fn substring(&mut self, into: &mut Expansion) -> Parsed<()> {
        loop {
            match self.next() {
                Some('}') => return Ok(()),
                Some(next) if next.is_ascii_digit() || " :-+".contains(next) => {}
                Some(next) if next == '_' || next.is_ascii_alphabetic() => {
                    into.hazard = Some(ARITHMETIC);
                }
                Some('$') => {
                    self.position -= 1;
                    self.evaluated(into)?;
                }
                _ => return Err(Trouble("it holds an expansion of an unknown form")),
            }
        }
    }

    /// The word after an operator, up to the first closing brace.
    fn brace_text(&mut self, into: &mut Expansion, quoting: Quoting) -> Parsed<()> {
        let mut inner = Word::default();
        loop {
            match self.peek() {
                None => return Err(Trouble("a brace is not closed")),
                Some('}') => {
                    self.position += 1;
                    break;
                }
                Some('\\') => {
                    self.position += 1;
                    self.next_raw();
                }
                // Whether a quote counts here depends on the operator, the surroundings and the version of Bash.
                Some('\'') if quoting == Quoting::None => self.single_quotes(&mut inner)?,
                Some('"') if quoting != Quoting::Document => self.double_quotes(&mut inner)?,
                Some('\'' | '"') => return Err(Trouble("a quote inside braces is ambiguous")),
                Some('$') => self.dollar(&mut inner, quoting)?,
                Some('`') => self.backquotes(&mut inner, quoting)?,
                Some('<' | '>') if self.sees("<(") || self.sees(">(") => {
                    return Err(Trouble("a process substitution inside braces"));
                }
                Some(_) => self.position += 1,
            }
        }
        for piece in inner.pieces {
            if let Piece::Expansion(expansion) = piece {
                into.absorb(expansion);
            }
        }
        Ok(())
    }
}

impl Expansion {
    pub(super) fn empty() -> Self {
        Self {
            written: String::new(),
            quoted: true,
            plural: false,
            kind: ExpansionKind::Parameter,
            scripts: Vec::new(),
            hazard: None,
        }
    }

    /// Takes over what a nested expansion runs.
    fn absorb(&mut self, nested: Expansion) {
        self.plural |= nested.plural;
        self.scripts.extend(nested.scripts);
        self.hazard = self.hazard.or(nested.hazard);
    }
}
