//! Owns how an input is read: a digit, so many bytes that say where the rest is split, and the rest.
//! So a seed can be written by hand.

/// A flag, the bytes, and the same bytes in pieces.
pub fn split(input: &[u8]) -> Option<(bool, &[u8], Vec<&[u8]>)> {
    let (first, rest) = input.split_first()?;
    let (splits, bytes) = rest.split_at_checked(usize::from(first & 7))?;
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for split in splits {
        let (piece, after) = rest.split_at(usize::from(*split).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    Some((first & 8 != 0, bytes, pieces))
}
