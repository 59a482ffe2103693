//! Compound commands: groups, conditions, loops, `case`, functions. What stands in `[[ ]]` is in `test`.

use super::cursor::{Parsed, Parser, Trouble, is_name};
use super::tree::{Command, Compound, Expansion, Script, Word};

impl Parser {
    /// One command of a pipeline with its redirections.
    pub(super) fn command(&mut self) -> Parsed<Command> {
        self.deeper(Self::command_here)
    }

    fn command_here(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        if self.peek() == Some('(') {
            let compound = if self.eat("((") {
                Compound::Arithmetic(self.arithmetic_text()?)
            } else {
                self.eat("(");
                let body = self.body()?;
                self.require(")", "a parenthesis is not closed")?;
                Compound::Subshell(body)
            };
            return self.with_redirects(compound);
        }
        let word = self.bare_ahead();
        let compound = match word.as_str() {
            "{" => {
                self.eat("{");
                let body = self.body()?;
                self.keyword("}")?;
                Compound::Group(body)
            }
            "if" => self.condition()?,
            "while" | "until" => {
                self.eat(&word);
                let condition = self.body()?;
                Compound::Loop(condition, self.do_group()?)
            }
            "for" | "select" => {
                self.eat(&word);
                self.each()?
            }
            "case" => self.case()?,
            "[[" => {
                self.eat("[[");
                Compound::Test(self.test()?)
            }
            "coproc" => {
                self.eat("coproc");
                return self.coprocess();
            }
            "function" => {
                self.eat("function");
                return self.function_by_keyword();
            }
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}" | "in" => {
                return Err(Trouble("a reserved word stands where a command must"));
            }
            _ => return self.simple(),
        };
        self.with_redirects(compound)
    }

    fn with_redirects(&mut self, compound: Compound) -> Parsed<Command> {
        let redirects = self.redirects()?;
        Ok(Command::Compound(compound, redirects))
    }

    /// Takes a reserved word that has to come next.
    fn keyword(&mut self, word: &'static str) -> Parsed<()> {
        self.skip_blanks();
        if self.bare_ahead() == word {
            self.eat(word);
            Ok(())
        } else {
            Err(Trouble("a compound command is not closed"))
        }
    }

    fn arithmetic_text(&mut self) -> Parsed<Expansion> {
        let start = self.position;
        let mut expansion = Expansion::empty();
        self.in_braces(|parser| parser.arithmetic("))", &mut expansion))?;
        expansion.written = self.since(start);
        Ok(expansion)
    }

    fn condition(&mut self) -> Parsed<Compound> {
        self.eat("if");
        let mut arms = Vec::new();
        loop {
            let condition = self.body()?;
            self.keyword("then")?;
            arms.push((condition, self.body()?));
            match self.bare_ahead().as_str() {
                "elif" => {
                    self.eat("elif");
                }
                "else" => {
                    self.eat("else");
                    let otherwise = self.body()?;
                    self.keyword("fi")?;
                    return Ok(Compound::If(arms, Some(otherwise)));
                }
                _ => {
                    self.keyword("fi")?;
                    return Ok(Compound::If(arms, None));
                }
            }
        }
    }

    fn do_group(&mut self) -> Parsed<Script> {
        self.keyword("do")?;
        let body = self.body()?;
        self.keyword("done")?;
        Ok(body)
    }

    /// `for` and `select` after the keyword.
    fn each(&mut self) -> Parsed<Compound> {
        self.skip_blanks();
        if self.eat("((") {
            let header = self.arithmetic_text()?;
            self.skip_blanks();
            self.eat(";");
            self.skip_lines()?;
            return Ok(Compound::Counted(header, self.do_group()?));
        }
        let variable = self.bare_ahead();
        if !is_name(&variable) {
            return Err(Trouble("a loop has no variable"));
        }
        self.eat(&variable);
        self.skip_lines()?;
        let mut words = Vec::new();
        if self.bare_ahead() == "in" {
            self.eat("in");
            loop {
                self.skip_blanks();
                let word = self.word()?;
                if word.pieces.is_empty() {
                    break;
                }
                words.push(word);
            }
            if !self.eat(";") && self.peek() != Some('\n') {
                return Err(Trouble("a loop's words do not end"));
            }
        } else {
            self.eat(";");
        }
        self.skip_lines()?;
        Ok(Compound::Each { variable, words, body: self.do_group()? })
    }

    fn case(&mut self) -> Parsed<Compound> {
        self.eat("case");
        self.skip_blanks();
        let subject = self.word()?;
        if subject.pieces.is_empty() {
            return Err(Trouble("`case` has no word"));
        }
        self.skip_lines()?;
        self.keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.bare_ahead() == "esac" {
                self.eat("esac");
                return Ok(Compound::Case { subject, arms });
            }
            let patterns = self.patterns()?;
            let body = self.script()?;
            arms.push((patterns, body));
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.keyword("esac")?;
                return Ok(Compound::Case { subject, arms });
            }
        }
    }

    fn patterns(&mut self) -> Parsed<Vec<Word>> {
        self.eat("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            let pattern = self.word()?;
            if pattern.pieces.is_empty() {
                return Err(Trouble("a pattern is missing"));
            }
            patterns.push(pattern);
            self.skip_blanks();
            if self.eat(")") {
                return Ok(patterns);
            }
            self.require("|", "a pattern is not closed")?;
        }
    }

    fn coprocess(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        let start = self.position;
        let name = self.bare_ahead();
        let compound = ["{", "(", "if", "while", "until", "for", "select", "case", "[["];
        if is_name(&name) && !compound.contains(&name.as_str()) {
            self.eat(&name);
            self.skip_blanks();
            let next = self.bare_ahead();
            if self.peek() != Some('(') && !compound.contains(&next.as_str()) {
                self.position = start;
            }
        }
        let body = self.command()?;
        Ok(Command::Compound(Compound::Coprocess(Box::new(body)), Vec::new()))
    }

    fn function_by_keyword(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        let word = self.word()?;
        let Some(name) = word.bare().map(str::to_owned) else {
            return Err(Trouble("a function has no plain name"));
        };
        self.skip_blanks();
        if self.eat("(") {
            self.skip_blanks();
            self.require(")", "a parenthesis stands where none may")?;
        }
        self.function_body(name)
    }

    pub(super) fn function_body(&mut self, name: String) -> Parsed<Command> {
        self.skip_lines()?;
        match self.command()? {
            body @ Command::Compound(..) => Ok(Command::Function { name, body: Box::new(body) }),
            Command::Simple(_) | Command::Function { .. } => {
                Err(Trouble("a function's body is not a compound command"))
            }
        }
    }
}
