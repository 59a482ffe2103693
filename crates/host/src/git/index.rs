//! Owns finding the submodules that a repository's index names: git looks into each of them when it
//! looks at the state of the outer one. Must not know their configuration.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// Longer paths than this no system opens.
const MAX_NAME: usize = 64 * 1024;
/// The type of an entry in its mode, and that of a submodule.
const TYPE: u32 = 0o170_000;
const SUBMODULE: u32 = 0o160_000;

/// The paths of all submodules in an index of `size` bytes whose object names have `hash` bytes; `None`
/// where it cannot be read, or is split over several files.
pub(super) fn submodules(file: impl Read, size: u64, hash: usize) -> Option<Vec<PathBuf>> {
    let mut index = Index { file: BufReader::with_capacity(256 * 1024, file), taken: 0 };
    let [b'D', b'I', b'R', b'C', v0, v1, v2, v3, n0, n1, n2, n3] = index.array::<12>()? else { return None };
    let version = u32::from_be_bytes([v0, v1, v2, v3]);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Vec::new();
    let mut name = Vec::new();
    for _ in 0..u32::from_be_bytes([n0, n1, n2, n3]) {
        let mode = index.entry(version, hash, &mut name)?;
        if mode & TYPE == SUBMODULE {
            found.push(path(&name));
        }
    }
    // Extensions stand between the entries and the checksum.
    let end = size.checked_sub(u64::try_from(hash).ok()?)?;
    while index.taken < end {
        let [a, b, c, d, l0, l1, l2, l3] = index.array::<8>()?;
        if [a, b, c, d] == *b"link" {
            return None;
        }
        index.skip(u64::from(u32::from_be_bytes([l0, l1, l2, l3])))?;
    }
    (index.taken == end).then_some(found)
}

struct Index<R> {
    file: BufReader<R>,
    taken: u64,
}

impl<R: Read> Index<R> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).ok()?;
        self.taken += u64::try_from(N).ok()?;
        Some(bytes)
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        let skipped = std::io::copy(&mut (&mut self.file).take(length), &mut std::io::sink()).ok()?;
        self.taken += skipped;
        (skipped == length).then_some(())
    }

    /// Reads one entry: its mode, and its name in the place of the one before.
    fn entry(&mut self, version: u32, hash: usize, name: &mut Vec<u8>) -> Option<u32> {
        let start = self.taken;
        self.skip(24)?;
        let mode = u32::from_be_bytes(self.array()?);
        self.skip(12 + u64::try_from(hash).ok()?)?;
        let extended = u16::from_be_bytes(self.array()?) & 0x4000 != 0;
        if extended {
            self.skip(2)?;
        }
        let shared = if version == 4 { name.len().checked_sub(self.number()?)? } else { 0 };
        name.truncate(shared);
        self.text(name)?;
        if version < 4 {
            // Entries are padded with one to eight NULs; the text took the first.
            let length = self.taken - start - 1;
            self.skip(7 - length % 8)?;
        }
        Some(mode)
    }

    /// Takes a text and the NUL behind it.
    fn text(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let before = text.len();
        let limit = u64::try_from(MAX_NAME).ok()?;
        let taken = (&mut self.file).take(limit).read_until(0, text).ok()?;
        self.taken += u64::try_from(taken).ok()?;
        (text.pop() == Some(0) && text.len() >= before).then_some(())
    }

    /// A number of any length: seven bits a byte, each further byte counting from where the last ended.
    fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        loop {
            let [byte] = self.array()?;
            number = number.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
            if byte & 128 == 0 {
                return Some(number);
            }
            number += 1;
        }
    }
}

#[cfg(unix)]
fn path(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(OsString::from_vec(name.to_vec()))
}

#[cfg(not(unix))]
fn path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from(String::from_utf8_lossy(name).into_owned()))
}
