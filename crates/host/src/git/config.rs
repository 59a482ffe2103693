//! Owns the reading of a git configuration file, as strictly as git reads it and stricter where git is lenient.
//! Must not know which settings matter.

/// One setting, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The section, in lower case.
    pub section: String,
    /// The subsection, in whose name case counts.
    pub subsection: Option<String>,
    /// The key, in lower case.
    pub key: String,
    /// The value; `None` for a key alone, which means true.
    pub value: Option<String>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subsection {
            None => write!(f, "{}.{}", self.section, self.key),
            Some(subsection) => write!(f, "{}.{subsection}.{}", self.section, self.key),
        }
    }
}

/// Every setting of a file, in order; the number of the line that cannot be read otherwise.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Setting>, usize> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Comments apart, nothing in such a file has a reason to hold these; a carriage return inside a
    // value has been used to make git and a reader disagree.
    let mut reader = Reader { rest: bytes, line: 1 };
    let settings = reader.settings();
    settings.ok_or(reader.line)
}

struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
}

impl Reader<'_> {
    /// The next byte; a line break in either form is one `\n`. A lone carriage return stays itself.
    fn peek(&self) -> Option<u8> {
        match self.rest {
            [b'\r', b'\n', ..] => Some(b'\n'),
            [first, ..] => Some(*first),
            [] => None,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        let length = if self.rest.starts_with(b"\r\n") { 2 } else { 1 };
        self.rest = self.rest.get(length..).unwrap_or_default();
        Some(byte)
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.next();
        }
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
    }

    /// Bytes that fit, as text. Only used for ASCII.
    fn word(&mut self, fits: impl Fn(u8) -> bool) -> String {
        let mut word = String::new();
        while let Some(byte) = self.peek().filter(|byte| fits(*byte)) {
            word.push(char::from(byte));
            self.next();
        }
        word
    }

    fn settings(&mut self) -> Option<Vec<Setting>> {
        let mut settings = Vec::new();
        let mut head: Option<(String, Option<String>)> = None;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.next();
                    self.line += 1;
                }
                b' ' | b'\t' => self.skip_blanks(),
                b'#' | b';' => self.comment()?,
                b'[' => head = Some(self.head()?),
                _ if byte.is_ascii_alphabetic() => {
                    let (section, subsection) = head.clone()?;
                    let key = self.word(|byte| byte.is_ascii_alphanumeric() || byte == b'-').to_ascii_lowercase();
                    self.skip_blanks();
                    let value = match self.peek() {
                        None | Some(b'\n') => None,
                        Some(b'=') => {
                            self.next();
                            Some(self.value()?)
                        }
                        Some(_) => return None,
                    };
                    settings.push(Setting { section, subsection, key, value });
                }
                _ => return None,
            }
        }
        Some(settings)
    }

    fn comment(&mut self) -> Option<()> {
        while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
            if matches!(byte, b'\0' | b'\r') {
                return None;
            }
            self.next();
        }
        Some(())
    }

    /// `[section]`, `[section "subsection"]`, or the old `[section.subsection]`.
    fn head(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let name = self.word(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')).to_ascii_lowercase();
        if name.is_empty() {
            return None;
        }
        if self.take(b']') {
            let (section, subsection) = match name.split_once('.') {
                None => (name.as_str(), None),
                Some((section, subsection)) => (section, Some(subsection.to_owned())),
            };
            return Some((section.to_owned(), subsection));
        }
        // Both ways of naming a subsection at once mean nothing that anybody wants.
        if name.contains('.') || !matches!(self.peek(), Some(b' ' | b'\t')) {
            return None;
        }
        self.skip_blanks();
        if !self.take(b'"') {
            return None;
        }
        let mut subsection = Vec::new();
        loop {
            let byte = match self.next()? {
                b'"' => break,
                b'\\' => self.next()?,
                byte => byte,
            };
            if matches!(byte, b'\n' | b'\r' | b'\0') {
                return None;
            }
            subsection.push(byte);
        }
        self.take(b']').then(|| (name, Some(String::from_utf8_lossy(&subsection).into_owned())))
    }

    /// What stands behind `=`, with quotes and escapes taken off, up to the end of the line or a comment.
    fn value(&mut self) -> Option<String> {
        let mut value = Vec::new();
        // How much of the value stays whatever blanks follow.
        let mut kept = 0;
        let mut quoted = false;
        self.skip_blanks();
        loop {
            let byte = match self.peek() {
                None | Some(b'\n') if quoted => return None,
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !quoted => {
                    self.comment()?;
                    break;
                }
                Some(byte) => byte,
            };
            self.next();
            match byte {
                b'"' => {
                    quoted = !quoted;
                    kept = value.len();
                    continue;
                }
                b'\\' => {
                    value.push(match self.next()? {
                        b'\n' => {
                            self.line += 1;
                            continue;
                        }
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'b' => 8,
                        byte @ (b'"' | b'\\') => byte,
                        _ => return None,
                    });
                    kept = value.len();
                    continue;
                }
                b'\r' | b'\0' => return None,
                _ => value.push(byte),
            }
            if quoted || !matches!(byte, b' ' | b'\t') {
                kept = value.len();
            }
        }
        value.truncate(kept);
        Some(String::from_utf8_lossy(&value).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<Vec<String>, usize> {
        let line = |setting: &Setting| match &setting.value {
            None => setting.to_string(),
            Some(value) => format!("{setting}={value}"),
        };
        Ok(read(text.as_bytes())?.iter().map(line).collect())
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        for (text, expected) in [
            ("", vec![]),
            ("\u{feff}[a]\nb=c", vec!["a.b=c"]),
            ("# x\n; [a]\n", vec![]),
            ("[Core]\n\tFileMode = true # why\n", vec!["core.filemode=true"]),
            ("[core] bare\n[a \"B.c\"] d=1", vec!["core.bare", "a.B.c.d=1"]),
            ("[Remote.Origin]\nurl=x", vec!["remote.origin.url=x"]),
            ("[a \"q\\\"\\x\"]\nk = \" v \" w ", vec!["a.q\"x.k= v  w"]),
            ("[a]\nk = one\\\n  two\r\nl=3\r\n", vec!["a.k=one  two", "a.l=3"]),
            ("[a]\nk = \"x;y\" ; z", vec!["a.k=x;y"]),
            ("[a]\nk = a\\tb\\\\c\\\"", vec!["a.k=a\tb\\c\""]),
            ("[a]\nk =\nl = \"\"", vec!["a.k=", "a.l="]),
            ("[a]\nk = \\\n[b]", vec!["a.k=[b]"]),
        ] {
            assert_eq!(shown(text), Ok(expected.into_iter().map(str::to_owned).collect()), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        for (text, line) in [
            ("k=v", 1),
            ("[a\nk=v", 1),
            ("[]\nk=v", 1),
            ("[a \"b]\nk=v", 1),
            ("[a \"b\" ]\nk=v", 1),
            ("[a.b \"c\"]\nk=v", 1),
            ("[a]\n\nk=\"v\n", 3),
            ("[a]\nk=\\q", 2),
            ("[a]\nk=v\rw", 2),
            ("[a]\nk=v\0", 2),
            ("[a]\n# x\0\nk=v", 2),
            ("[a]\n# x\rk=v", 2),
            ("[a]\nk v", 2),
            ("[a]\n_k=v", 2),
            ("[a]\nk=1\\\n2\\\n3\\", 4),
        ] {
            assert_eq!(shown(text), Err(line), "{text:?}");
        }
    }
}
