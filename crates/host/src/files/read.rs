//! Owns reading: a window of lines of a text file, in memory bounded by the window and not by the
//! file or its lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{FileError, Special, ordinary};

/// How many characters of a line are kept.
pub const LINE_LIMIT: usize = 2_000;

/// As many bytes as hold any line that is kept whole.
const LINE_BYTES: usize = LINE_LIMIT * 4;
/// A NUL byte so near the beginning makes a file binary, as Git has it.
const PROBE: usize = 8 * 1024;
/// How much is read at once.
const CHUNK: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// How many lines the file has, where its end was reached.
    pub total: Option<usize>,
}

/// A line without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its first [`LINE_LIMIT`] characters. Invalid UTF-8 is replaced.
    pub text: String,
    /// How many bytes of it were left out.
    pub dropped: usize,
}

/// Reads `limit` lines from line `first` (from 1) on, and stops early once their text has
/// `max_bytes`; at least one line is returned where there is one. A byte order mark is left out.
pub fn read_window(path: &Path, first: usize, limit: usize, max_bytes: usize) -> Result<Window, FileError> {
    let fault = |source| FileError::new("read", path, source);
    let file = open(path)?;
    let size = file.metadata().map_err(fault)?.len();
    let mut reader = BufReader::with_capacity(CHUNK, file);
    let probe = reader.fill_buf().map_err(fault)?;
    if probe.iter().take(PROBE).any(|byte| *byte == 0) {
        return Err(FileError::Binary { path: path.to_path_buf(), size });
    }
    if probe.starts_with(BYTE_ORDER_MARK) {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    let mut window = Window { lines: Vec::new(), total: None };
    let mut bytes = 0;
    let mut seen = 0;
    loop {
        let inside = seen + 1 >= first;
        if inside && !window.lines.is_empty() && (window.lines.len() >= limit || bytes >= max_bytes) {
            // Only the very end tells whether the last line taken was the last of all.
            if reader.fill_buf().map_err(fault)?.is_empty() {
                window.total = Some(seen);
            }
            return Ok(window);
        }
        let keep = if inside { LINE_BYTES } else { 0 };
        let Some(line) = read_line(&mut reader, keep).map_err(fault)? else {
            window.total = Some(seen);
            return Ok(window);
        };
        seen += 1;
        if inside {
            bytes += line.text.len();
            window.lines.push(line);
        }
    }
}

/// A file, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Its bytes, up to the bound.
    pub bytes: Vec<u8>,
    /// How many it has.
    pub size: u64,
}

/// Reads an ordinary file up to `limit` bytes.
pub fn read_whole(path: &Path, limit: u64) -> Result<Whole, FileError> {
    let fault = |source| FileError::new("read", path, source);
    let file = open(path)?;
    let size = file.metadata().map_err(fault)?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(fault)?;
    Ok(Whole { bytes, size })
}

/// Opens an ordinary file without ever waiting for it.
pub(crate) fn open(path: &Path) -> Result<File, FileError> {
    // `/dev/stdin` may lead to an ordinary file, and `/proc/kmsg` says that it is one.
    let hidden = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let metadata = std::fs::metadata(path).map_err(|fault| FileError::new("read", path, fault))?;
    ordinary(path, &metadata)?;
    if hidden || path == Path::new("/proc/kmsg") {
        return Err(FileError::Special { path: path.to_path_buf(), kind: Special::Device });
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Somebody may put a pipe there between the look and the opening.
        let flag = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        options.custom_flags(flag);
    }
    let file = options.open(path).map_err(|fault| FileError::new("read", path, fault))?;
    let opened = file.metadata().map_err(|fault| FileError::new("read", path, fault))?;
    ordinary(path, &opened)?;
    Ok(file)
}

/// The next line, of which at most `keep` bytes are held. `None` at the end of the file.
fn read_line(reader: &mut impl BufRead, keep: usize) -> std::io::Result<Option<Line>> {
    let mut kept: Vec<u8> = Vec::new();
    let mut length = 0;
    let mut ended = false;
    while !ended {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            if length == 0 {
                return Ok(None);
            }
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let room = keep.saturating_sub(kept.len()).min(part.len());
        kept.extend_from_slice(part.get(..room).unwrap_or_default());
        length += part.len();
        ended = end.is_some();
        let used = part.len() + usize::from(ended);
        reader.consume(used);
    }
    Ok(Some(cut(&kept, length)))
}

/// Cuts a line of `length` bytes, of which `kept` are here, to its first characters.
fn cut(kept: &[u8], length: usize) -> Line {
    let whole = kept.len() == length;
    let kept = if whole { kept.strip_suffix(b"\r").unwrap_or(kept) } else { kept };
    let mut text = String::new();
    let mut room = LINE_LIMIT;
    let mut taken = 0;
    for chunk in kept.utf8_chunks() {
        for character in chunk.valid().chars().take(room) {
            text.push(character);
            taken += character.len_utf8();
            room -= 1;
        }
        if !chunk.invalid().is_empty() && room > 0 {
            text.push(char::REPLACEMENT_CHARACTER);
            taken += chunk.invalid().len();
            room -= 1;
        }
        if room == 0 {
            break;
        }
    }
    let length = if whole { kept.len() } else { length };
    Line { text, dropped: length - taken }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_by_characters() {
        let line = |bytes: &[u8]| read_line(&mut &*bytes, LINE_BYTES).unwrap().unwrap();
        let long = "你".repeat(LINE_LIMIT);
        assert_eq!(line(long.as_bytes()), Line { text: long.clone(), dropped: 0 });
        let longer = format!("{long}你好");
        assert_eq!(line(longer.as_bytes()), Line { text: long, dropped: 6 });
        let cut = line(&vec![b'x'; 50_000]);
        assert_eq!((cut.text.len(), cut.dropped), (LINE_LIMIT, 48_000));
        assert_eq!(line(b"a\r\nb"), Line { text: "a".into(), dropped: 0 });
        assert_eq!(line(b"\xffa\xe4\xbd"), Line { text: "\u{FFFD}a\u{FFFD}".into(), dropped: 0 });
        assert_eq!(read_line(&mut &b""[..], 1).unwrap(), None);
    }
}
