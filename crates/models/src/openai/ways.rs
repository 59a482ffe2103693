//! Owns which ways of a provider change the bytes of a message, and the name under which messages keep
//! those bytes. Must not know what the bytes are.

use crate::table::Shape;

/// A message keeps one form for each way, under a name of its own: this word, so much longer.
const NAMES: &str = "openai................................";
const SHORTEST: usize = "openai".len();

/// What of a shape the bytes of a message depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ways {
    /// Images may be sent.
    pub(super) images: bool,
    /// Documents may be sent as files.
    pub(super) files: bool,
    /// Ids have nine letters and digits.
    pub(super) short_ids: bool,
    /// Turns with tools carry their reasoning text.
    pub(super) echo: bool,
    /// Reasoning goes back in the form in which it came.
    pub(super) details: bool,
}

impl Ways {
    pub(super) fn of(shape: &Shape) -> Self {
        let quirks = &shape.quirks;
        Self {
            images: shape.images,
            files: quirks.files,
            short_ids: quirks.short_ids,
            echo: shape.echo,
            details: quirks.reasoning_details,
        }
    }

    /// The name of the form.
    pub(super) fn name(self) -> &'static str {
        let Self { images, files, short_ids, echo, details } = self;
        let bits = [images, files, short_ids, echo, details];
        let number = bits.iter().fold(0, |number, bit| number * 2 + usize::from(*bit));
        &NAMES[..SHORTEST + number]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_way_has_its_name() {
        let bit = |number: u32, at: u32| number & (1 << at) != 0;
        let name = |number| {
            let (images, files, short_ids) = (bit(number, 0), bit(number, 1), bit(number, 2));
            Ways { images, files, short_ids, echo: bit(number, 3), details: bit(number, 4) }.name()
        };
        let names: HashSet<&str> = (0..32).map(name).collect();
        assert_eq!(names.len(), 32);
    }
}
