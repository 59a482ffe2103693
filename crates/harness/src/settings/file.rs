//! Owns how one settings file is read: bounded, never waited for, and with errors that name file,
//! line, column and key. Must not know which layer it belongs to.

use std::path::Path;

use host::files::{FileError, read_whole};
use serde_json::{Map, Value};

use super::content::Settings;
use super::error::SettingsError;

/// The longest file that is read, in bytes.
pub(super) const LIMIT: u64 = 2 * 1024 * 1024;

/// The text of a file; `None` where there is none. `shared` is for the words of an error.
pub(super) fn text(path: &Path, shared: bool) -> Result<Option<String>, SettingsError> {
    let fault = |fault: String| SettingsError::Unreadable { path: path.into(), fault, shared };
    let whole = match read_whole(path, LIMIT + 1) {
        Ok(whole) => whole,
        Err(FileError::Missing(_)) => return Ok(None),
        // A file in a folder's place: what should be in it is not there.
        Err(FileError::System { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(FileError::Directory(_)) => return Err(fault("it is a folder, not a file".into())),
        Err(FileError::Special { kind, .. }) => return Err(fault(format!("it is {kind}, not a file"))),
        Err(FileError::System { source, .. }) => return Err(fault(source.to_string())),
        Err(other) => return Err(fault(other.to_string())),
    };
    if whole.bytes.len() as u64 > LIMIT {
        return Err(fault(format!("it has more than {LIMIT} bytes")));
    }
    let text = String::from_utf8(whole.bytes).map_err(|_| fault("it is not UTF-8".into()))?;
    // Editors on some systems begin a file with a byte order mark.
    Ok(Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)))
}

/// The object that a text is; an empty text is an empty object. The error is at a line and a column.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, Fault> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text).map_err(|fault| Fault::of(&fault, None))? {
        Value::Object(map) => Ok(map),
        _ => Err(Fault { line: 1, column: 1, text: "it must be an object".into() }),
    }
}

/// Reads a text with its types. The error is at a line and a column, and names the key.
pub(super) fn typed(text: &str) -> Result<Settings, Fault> {
    if text.trim().is_empty() {
        return Ok(Settings::default());
    }
    let reader = &mut serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(reader).map_err(|fault| {
        let path = fault.path().to_string();
        Fault::of(fault.inner(), Some(path).filter(|path| path != "."))
    })
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) text: String,
}

impl Fault {
    fn of(fault: &serde_json::Error, key: Option<String>) -> Self {
        // The parser's text less the position, which we give in our own form.
        let text = fault.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        let text = key.map_or(what.to_owned(), |key| format!("`{key}`: {what}"));
        Self { line: fault.line(), column: fault.column(), text }
    }

    /// The same as the error of a file.
    pub(super) fn in_file(self, path: &Path, shared: bool) -> SettingsError {
        let Self { line, column, text } = self;
        SettingsError::Malformed { path: path.into(), line, column, fault: text, shared }
    }
}
