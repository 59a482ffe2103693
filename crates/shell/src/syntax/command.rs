//! Lists, pipelines and simple commands. Compound commands are in `compound`.

use super::cursor::{Parsed, Parser, Trouble, is_meta, is_name};
use super::tree::{
    AndOr, Assignment, Command, Descriptor, Expansion, Join, Piece, Pipeline, Redirect, RedirectKind, Script, Simple,
    Target, Word,
};

/// Words that end a list when they stand where a command may begin.
const CLOSERS: [&str; 8] = ["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Builtins whose arguments may be array assignments.
const DECLARERS: [&str; 5] = ["declare", "typeset", "export", "readonly", "local"];

impl Parser {
    /// A list of commands up to `)`, `;;`, a closing word or the end of the text.
    pub(super) fn script(&mut self) -> Parsed<Script> {
        let mut script = Script::default();
        loop {
            self.skip_lines()?;
            if self.list_ends() {
                return Ok(script);
            }
            let mut item = self.and_or()?;
            self.skip_blanks();
            match self.peek() {
                Some('&') => {
                    self.position += 1;
                    item.background = true;
                }
                Some(';') if !self.sees(";;") && !self.sees(";&") => self.position += 1,
                Some('\n') => self.newline()?,
                _ => {
                    script.0.push(item);
                    return Ok(script);
                }
            }
            script.0.push(item);
        }
    }

    /// A list that may not be empty, as in a group or the body of a loop.
    pub(super) fn body(&mut self) -> Parsed<Script> {
        let script = self.script()?;
        if script.0.is_empty() {
            return Err(Trouble("a command is missing"));
        }
        Ok(script)
    }

    /// Skips blanks, comments and newlines.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn list_ends(&mut self) -> bool {
        match self.peek() {
            None | Some(')') => true,
            Some(';') => self.sees(";;") || self.sees(";&"),
            Some(_) => CLOSERS.contains(&self.bare_ahead().as_str()),
        }
    }

    /// The next word if no part of it is quoted or expanded, else an empty text: only such words can be reserved.
    pub(super) fn bare_ahead(&mut self) -> String {
        let start = self.position;
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if is_meta(next) {
                break;
            }
            if matches!(next, '\'' | '"' | '\\' | '$' | '`') || text.len() > 64 {
                text.clear();
                break;
            }
            self.position += 1;
            text.push(next);
        }
        self.position = start;
        text
    }

    fn and_or(&mut self) -> Parsed<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Ok(AndOr { first, rest, background: false });
            };
            self.skip_lines()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut negated = false;
        loop {
            self.skip_blanks();
            match self.bare_ahead().as_str() {
                "!" => {
                    self.eat("!");
                    negated = !negated;
                }
                "time" => {
                    self.eat("time");
                    self.skip_blanks();
                    if self.bare_ahead() == "-p" {
                        self.eat("-p");
                        self.skip_blanks();
                    }
                    if self.bare_ahead() == "--" {
                        self.eat("--");
                    }
                }
                _ => break,
            }
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.sees("||") || !(self.eat("|&") || self.eat("|")) {
                return Ok(Pipeline { negated, commands });
            }
            self.skip_lines()?;
            commands.push(self.command()?);
        }
    }

    /// A simple command, an assignment alone, redirections alone, or `name() …`.
    pub(super) fn simple(&mut self) -> Parsed<Command> {
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                Some('(') => return self.function_by_name(&simple),
                Some(next) if is_meta(next) && !self.sees("<(") && !self.sees(">(") => break,
                None => break,
                Some(_) => {}
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            let word = self.word()?;
            let declares = simple.words.first().and_then(Word::bare).is_some_and(|name| DECLARERS.contains(&name));
            let open = matches!(word.pieces.last(), Some(Piece::Bare(text)) if text.ends_with('='));
            simple.words.push(word);
            if declares && open && self.peek() == Some('(') {
                let mut values = self.array()?;
                simple.words.append(&mut values);
            }
        }
        if simple.assignments.is_empty() && simple.words.is_empty() && simple.redirects.is_empty() {
            return Err(Trouble("a command is missing"));
        }
        Ok(Command::Simple(simple))
    }

    fn function_by_name(&mut self, simple: &Simple) -> Parsed<Command> {
        let name = match simple.words.as_slice() {
            [word] if simple.assignments.is_empty() && simple.redirects.is_empty() => word.bare(),
            _ => None,
        };
        let Some(name) = name.map(str::to_owned) else {
            return Err(Trouble("a parenthesis stands where none may"));
        };
        self.eat("(");
        self.skip_blanks();
        self.require(")", "a parenthesis stands where none may")?;
        self.function_body(name)
    }

    /// `name=`, `name+=` or `name[index]=` with its value, if that comes next.
    fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        let start = self.position;
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if next != '_' && !next.is_ascii_alphanumeric() {
                break;
            }
            self.position += 1;
            name.push(next);
        }
        let indexed = is_name(&name) && self.peek() == Some('[');
        let mut index = Word::default();
        if indexed {
            while let Some(next) = self.peek() {
                if next == ']' || is_meta(next) {
                    break;
                }
                self.piece(&mut index)?;
            }
            // Bash reads on over blanks and separators.
            self.require("]", "an index is not closed")?;
        }
        if !is_name(&name) || !(self.eat("=") || self.eat("+=")) {
            // Reading a nested command twice at every level would take exponential time.
            if index.pieces.iter().any(|piece| matches!(piece, Piece::Expansion(_))) {
                return Err(Trouble("an index stands where no array is assigned"));
            }
            self.position = start;
            return Ok(None);
        }
        let mut values = if self.peek() == Some('(') { self.array()? } else { vec![self.word()?] };
        if indexed {
            values.push(index);
        }
        Ok(Some(Assignment { name, indexed, values }))
    }

    /// `( word … )` after `=`.
    fn array(&mut self) -> Parsed<Vec<Word>> {
        self.eat("(");
        let mut values = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat(")") {
                return Ok(values);
            }
            let mut word = Word::default();
            if self.peek() == Some('[') {
                self.element_index(&mut word)?;
            }
            while self.piece(&mut word)? {}
            if word.pieces.is_empty() {
                return Err(Trouble("an array is not closed"));
            }
            values.push(word);
        }
    }

    /// `[index]` before `=` in an array's values. Bash evaluates it, unless it is a number or the array is one of names.
    fn element_index(&mut self, word: &mut Word) -> Parsed<()> {
        let start = self.position;
        self.next();
        word.push_bare('[');
        let mut digits = true;
        loop {
            match self.peek() {
                Some(']') => break,
                // Bash reads on over blanks and separators, and up to the bracket that belongs to the first one.
                None | Some('[') => return Err(Trouble("an index is not closed")),
                Some(next) if is_meta(next) => return Err(Trouble("an index is not closed")),
                Some(next) => {
                    digits &= next.is_ascii_digit();
                    self.piece(word)?;
                }
            }
        }
        self.next();
        word.push_bare(']');
        if !digits && (self.sees("=") || self.sees("+=")) {
            let hazard = Some("it evaluates the index of an array, which can run commands");
            let written = self.since(start);
            word.pieces.push(Piece::Expansion(Expansion { written, hazard, ..Expansion::empty() }));
        }
        Ok(())
    }

    /// All redirections that come next.
    pub(super) fn redirects(&mut self) -> Parsed<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    /// A redirection, if one comes next.
    fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        const OPERATORS: [(&str, RedirectKind); 9] = [
            ("<>", RedirectKind::ReadWrite),
            ("<&", RedirectKind::CopyInput),
            ("<", RedirectKind::Input),
            (">>", RedirectKind::Output),
            (">|", RedirectKind::Output),
            (">&", RedirectKind::CopyOutput),
            (">", RedirectKind::Output),
            ("&>>", RedirectKind::Output),
            ("&>", RedirectKind::Output),
        ];
        let start = self.position;
        let descriptor = self.descriptor();
        let bare = self.position == start;
        if self.sees("<(") || self.sees(">(") {
            self.position = start;
            return Ok(None);
        }
        for (operator, strip_tabs) in [("<<<", None), ("<<-", Some(true)), ("<<", Some(false))] {
            if self.eat(operator) {
                let target = match strip_tabs {
                    Some(strip_tabs) => Target::Body(self.here_document(strip_tabs)?),
                    None => Target::Word(self.target()?),
                };
                return Ok(Some(Redirect { kind: RedirectKind::Text, target, descriptor }));
            }
        }
        for (operator, kind) in OPERATORS {
            let allowed = bare || !operator.starts_with('&');
            if allowed && self.eat(operator) {
                let target = Target::Word(self.target()?);
                return Ok(Some(Redirect { kind, target, descriptor }));
            }
        }
        self.position = start;
        Ok(None)
    }

    /// Skips the number or `{name}` before an operator.
    fn descriptor(&mut self) -> Descriptor {
        let start = self.position;
        while self.peek().is_some_and(|next| next.is_ascii_digit()) {
            self.position += 1;
        }
        if self.position > start {
            if !matches!(self.peek(), Some('<' | '>')) {
                self.position = start;
            }
            let zero = self.since(start).chars().all(|digit| digit == '0');
            return if zero { Descriptor::Zero } else { Descriptor::Number };
        }
        let ahead = self.bare_ahead();
        let name = ahead.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if name.is_some_and(is_name) {
            self.eat(&ahead);
            if matches!(self.peek(), Some('<' | '>')) {
                return Descriptor::Named;
            }
            self.position = start;
        }
        Descriptor::Usual
    }

    fn target(&mut self) -> Parsed<Word> {
        self.skip_blanks();
        let word = self.word()?;
        if word.pieces.is_empty() {
            return Err(Trouble("a redirection has no target"));
        }
        Ok(word)
    }
}
