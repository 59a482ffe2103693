//! Scripts of `sed`: which ones only print. Everything that is not understood is refused.

/// Commands without an argument that neither write nor run anything.
const PLAIN: &str = "=dDgGhHnNpPxFz";

/// Why a script may do more than edit what passes through it; `None` if it only does that.
pub fn objection(script: &str) -> Option<String> {
    let mut reader = Reader { chars: script.chars().collect(), position: 0 };
    let refusal = reader.script().err()?;
    Some(match refusal {
        Refusal::Command(letter) => {
            format!("the `{letter}` in the script of `sed` may write or run")
        }
        Refusal::Unknown => "the script of `sed` is not understood".into(),
    })
}

enum Refusal {
    Command(char),
    Unknown,
}

struct Reader {
    chars: Vec<char>,
    position: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.position).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.position += usize::from(next.is_some());
        next
    }

    fn skip(&mut self, unwanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&unwanted) {
            self.position += 1;
        }
    }

    fn skip_one(&mut self, unwanted: char) {
        self.position += usize::from(self.peek() == Some(unwanted));
    }

    fn script(&mut self) -> Result<(), Refusal> {
        loop {
            self.skip(|next| next.is_ascii_whitespace() || next == ';');
            if self.peek().is_none() {
                return Ok(());
            }
            self.addresses()?;
            self.command()?;
        }
    }

    fn addresses(&mut self) -> Result<(), Refusal> {
        if self.address()? {
            self.blanks();
            if self.peek() == Some(',') {
                self.position += 1;
                self.blanks();
                if matches!(self.peek(), Some('+' | '~')) {
                    self.position += 1;
                }
                if !self.address()? {
                    return Err(Refusal::Unknown);
                }
            }
        }
        self.skip(|next| matches!(next, ' ' | '\t' | '!'));
        Ok(())
    }

    fn blanks(&mut self) {
        self.skip(|next| matches!(next, ' ' | '\t'));
    }

    fn address(&mut self) -> Result<bool, Refusal> {
        match self.peek() {
            Some('0'..='9') => self.skip(|next| next.is_ascii_digit() || next == '~'),
            Some('$') => self.position += 1,
            Some('/') => {
                self.position += 1;
                self.delimited('/')?;
                self.skip(|next| matches!(next, 'I' | 'M'));
            }
            Some('\\') => {
                self.position += 1;
                let delimiter = self.delimiter()?;
                self.delimited(delimiter)?;
                self.skip(|next| matches!(next, 'I' | 'M'));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A delimiter that no version of `sed` reads in a way of its own.
    fn delimiter(&mut self) -> Result<char, Refusal> {
        match self.next() {
            Some(next) if next.is_ascii_punctuation() && !matches!(next, '\\' | '[' | ']') => Ok(next),
            _ => Err(Refusal::Unknown),
        }
    }

    /// Skips to the next delimiter that is not escaped. A delimiter inside brackets ends the pattern in some versions
    /// and not in others, so it is refused.
    fn delimited(&mut self, delimiter: char) -> Result<(), Refusal> {
        let mut bracket = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(Refusal::Unknown),
                Some('\\') => {
                    self.next();
                }
                Some(next) if next == delimiter => {
                    return if bracket { Err(Refusal::Unknown) } else { Ok(()) };
                }
                // A class in brackets has brackets of its own.
                Some('[') if bracket && matches!(self.peek(), Some(':' | '.' | '=')) => {
                    self.next();
                    self.skip(|next| next.is_ascii_alphanumeric());
                    self.next();
                    if self.next() != Some(']') {
                        return Err(Refusal::Unknown);
                    }
                }
                Some('[') => {
                    bracket = true;
                    // A closing bracket that comes first stands for itself.
                    self.skip_one('^');
                    self.skip_one(']');
                }
                Some(']') => bracket = false,
                Some(_) => {}
            }
        }
    }

    /// The replacement of `s` and the lists of `y`: brackets mean nothing, an escaped newline is text.
    fn replacement(&mut self, delimiter: char) -> Result<(), Refusal> {
        loop {
            match self.next() {
                None | Some('\n') => return Err(Refusal::Unknown),
                Some('\\') => {
                    self.next();
                }
                Some(next) if next == delimiter => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn command(&mut self) -> Result<(), Refusal> {
        let Some(letter) = self.next() else {
            return Err(Refusal::Unknown);
        };
        match letter {
            // A block's commands follow; what closes it is a command of its own.
            '{' => Ok(()),
            '#' => {
                self.skip(|next| next != '\n');
                Ok(())
            }
            's' => {
                let delimiter = self.delimiter()?;
                self.delimited(delimiter)?;
                self.replacement(delimiter)?;
                self.flags()?;
                self.end()
            }
            'y' => {
                let delimiter = self.delimiter()?;
                self.replacement(delimiter)?;
                self.replacement(delimiter)?;
                self.end()
            }
            'a' | 'i' | 'c' => {
                self.text();
                Ok(())
            }
            ':' | 'b' | 't' | 'T' => {
                self.blanks();
                self.skip(|next| next.is_ascii_alphanumeric() || next == '_');
                self.end()
            }
            'q' | 'Q' | 'l' | 'L' => {
                self.blanks();
                self.skip(|next| next.is_ascii_digit());
                self.end()
            }
            '}' => self.end(),
            plain if PLAIN.contains(plain) => self.end(),
            other => Err(Refusal::Command(other)),
        }
    }

    fn flags(&mut self) -> Result<(), Refusal> {
        while let Some(next) = self.peek() {
            match next {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => self.position += 1,
                'w' | 'e' => return Err(Refusal::Command(next)),
                _ => break,
            }
        }
        Ok(())
    }

    /// The text of `a`, `i` and `c`: up to a newline that is not escaped.
    fn text(&mut self) {
        while let Some(next) = self.next() {
            match next {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    /// A command has to end here.
    fn end(&mut self) -> Result<(), Refusal> {
        self.blanks();
        match self.peek() {
            None | Some('\n' | ';' | '}' | '#') => Ok(()),
            Some(_) => Err(Refusal::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn scripts_that_only_print() {
        let scripts = [
            "10,40p",
            "1,20p",
            "/start/,/end/p",
            "s/foo/bar/g",
            "s/we/ew/g",
            "s/e/w/g",
            "/write/p",
            "$p",
            "s/-i/--in-place/",
            "/^## /p",
            "s/^(w+)e$/\\1/p",
            "a\\\nappended text",
            "1!d",
            "/a/{p;q}",
            "s|a|b|;s,c,d,",
            "1~2d",
            "0,/x/d",
            "2q",
            "y/abc/xyz/",
            ":a;N;$!ba;s/\\n/ /g",
            "s/[a-z]*/x/2g",
            "s/[[:space:]]*$//",
            "/a/,+3p",
            "\\,x,p",
            "1,3{=;p}",
            "# note\np",
            "s/a\\/b/c/",
            "",
        ];
        for script in scripts {
            assert_eq!(objection(script), None, "{script}");
        }
    }

    #[test]
    fn scripts_that_write_or_run() {
        let scripts = [
            "s/a/b/gw out.txt",
            "1,2w out.txt",
            "W out.txt",
            "1e touch x",
            "w out.txt",
            "s,a,b,e",
            "s/x/y/;w out.txt",
            "1!{w out.txt\n}",
            "s/a\\/b/c/w out.txt",
            "e",
            "r file",
            "R file",
            "s/[/]/x/w f/",
            "sxaxbxw f",
            "p w out",
            "s/a/b/ w out",
            "}w f",
            "/x/ w f",
            "s/a/b",
            "v",
            "s/[]/]/p;w f/",
            "s/[[:alpha:]/]/p;y/x/",
            "s/a/b/\u{a0}w f",
        ];
        for script in scripts {
            assert!(objection(script).is_some(), "{script}");
        }
    }
}
