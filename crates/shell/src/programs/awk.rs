//! Programs of `awk`: which ones only compute and print to standard output. Everything doubtful is refused.

/// Words after which `/` begins a pattern.
const KEYWORDS: [&str; 26] = [
    "BEGIN",
    "BEGINFILE",
    "END",
    "ENDFILE",
    "break",
    "case",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "exit",
    "for",
    "func",
    "function",
    "getline",
    "if",
    "in",
    "next",
    "nextfile",
    "print",
    "printf",
    "return",
    "switch",
    "while",
    "not",
];

/// Words that run, read or write something else.
const REFUSED: [&str; 6] = ["system", "getline", "close", "fflush", "include", "load"];

/// Why a program may do more than print; `None` if it only does that.
pub fn objection(program: &str) -> Option<String> {
    let mut reader = Reader { chars: program.chars().collect(), ..Reader::default() };
    while let Some(next) = reader.chars.get(reader.position).copied() {
        if let Err(what) = reader.token(next) {
            return Some(format!("{what} in the program of `awk` may write or run"));
        }
    }
    // After `)` a slash may divide or begin a pattern. A pattern with a quote in it would shift every string after it.
    (reader.doubtful && reader.slashes).then(|| "a slash in the program of `awk` has two readings".to_owned())
}

#[derive(Default)]
struct Reader {
    chars: Vec<char>,
    position: usize,
    braces: usize,
    parentheses: usize,
    /// What came before, as far as the meaning of `/` depends on it.
    before: Before,
    /// A slash after `)` was taken for a division.
    doubtful: bool,
    /// A string holds a slash.
    slashes: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An operator, an opening sign, a keyword, or nothing.
    #[default]
    Open,
    /// A value that can be divided.
    Value,
    /// `)`.
    Closed,
    /// `+`, `-` or `$`: too seldom before a slash to be worth telling apart.
    Odd,
}

impl Reader {
    fn token(&mut self, next: char) -> Result<(), String> {
        self.position += 1;
        match next {
            ' ' | '\t' => return Ok(()),
            '\\' if self.chars.get(self.position) == Some(&'\n') => {
                self.position += 1;
                return Ok(());
            }
            '#' => {
                while self.chars.get(self.position).is_some_and(|&next| next != '\n') {
                    self.position += 1;
                }
                return Ok(());
            }
            '"' => {
                self.quoted('"')?;
                self.before = Before::Value;
                return Ok(());
            }
            '/' => return self.slash(),
            '|' if self.chars.get(self.position) == Some(&'|') => self.position += 1,
            '|' | '@' | '\\' | '`' | '\'' => return Err(format!("`{next}`")),
            '>' if self.braces > 0 && self.parentheses == 0 => return Err("`>`".to_owned()),
            '{' => self.braces += 1,
            '(' | '[' => self.parentheses += 1,
            '}' => self.braces = self.braces.saturating_sub(1),
            ')' | ']' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.before = if next == ')' { Before::Closed } else { Before::Value };
                return Ok(());
            }
            '+' | '-' | '$' => {
                self.before = Before::Odd;
                return Ok(());
            }
            _ if next == '_' || next.is_ascii_alphanumeric() => return self.word(),
            '.' => {
                self.before = Before::Value;
                return Ok(());
            }
            _ if next.is_ascii() => {}
            _ => return Err(format!("`{next}`")),
        }
        self.before = Before::Open;
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let start = self.position - 1;
        while self
            .chars
            .get(self.position)
            .is_some_and(|&next| next == '_' || next == '.' || next.is_ascii_alphanumeric())
        {
            self.position += 1;
        }
        let word: String = self.chars.get(start..self.position).unwrap_or_default().iter().collect();
        if REFUSED.contains(&word.as_str()) {
            return Err(format!("`{word}`"));
        }
        self.before = if KEYWORDS.contains(&word.as_str()) { Before::Open } else { Before::Value };
        Ok(())
    }

    fn slash(&mut self) -> Result<(), String> {
        match self.before {
            Before::Open => {
                self.quoted('/')?;
                self.before = Before::Value;
            }
            Before::Value => self.before = Before::Open,
            Before::Closed => {
                self.doubtful = true;
                self.before = Before::Open;
            }
            Before::Odd => return Err("`/`".to_owned()),
        }
        Ok(())
    }

    /// Skips a string or pattern to its end.
    fn quoted(&mut self, end: char) -> Result<(), String> {
        let mut bracket = false;
        while let Some(next) = self.chars.get(self.position).copied() {
            self.position += 1;
            match next {
                '\\' => self.position += 1,
                '\n' => break,
                // Inside brackets a slash ends the pattern in some versions only.
                '/' if end == '/' && bracket => break,
                _ if next == end => return Ok(()),
                '/' => self.slashes = true,
                '[' => bracket = true,
                ']' => bracket = false,
                _ => {}
            }
        }
        Err("a string or pattern without a clear end".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn programs_that_only_print() {
        let programs = [
            "{s+=$1} END {print s}",
            "{print \"system(1)\"}",
            "{print \"a > b\"}",
            "NR>1",
            "{print $NF}",
            "NR==n",
            "{a[$1]++} END{for(k in a) print k, a[k]}",
            "{print ($1 > 2)}",
            "/foo/ {print $2}",
            "$1 ~ /a|b/",
            "{if ($3 > 100) print $1}",
            "END {print s/NR}",
            "{print ($1+$2)/2}",
            "!seen[$0]++",
            "NR==1 || /x/",
            "{printf \"%s\\n\", $1}",
            "{print} # > f",
        ];
        for program in programs {
            assert_eq!(objection(program), None, "{program}");
        }
    }

    #[test]
    fn programs_that_write_or_run() {
        let programs = [
            "{print > \"out.txt\"}",
            "{printf \"%s\\n\", $1 > \"out.txt\"}",
            "{print > $1}",
            "BEGIN { system (\"touch x\") }",
            "BEGIN{\"date\" | getline d; print d}",
            "BEGIN{\"touch x\" |& getline}",
            "BEGIN{f=\"system\"; @f(\"touch x\")}",
            "BEGIN{close(\"x\"); print \"a\" > \"x\"}",
            "{print | \"sh\"}",
            "{print >> \"f\"}",
            "@load \"filefuncs\"",
            "{print /\"/; print > \"f\"; y=/\"/ }",
            "{ a = 1 / 2; print > \"f\"; b = 1 / 2 }",
            "{if (x) /\"/; print > \"f/g\"; z=\"/\"}",
            "{print \"a",
            "{print(1)>\"f\"}",
            "{x=y++ / \"/; print > \"f\"; /\"/}",
        ];
        for program in programs {
            assert!(objection(program).is_some(), "{program}");
        }
    }
}
