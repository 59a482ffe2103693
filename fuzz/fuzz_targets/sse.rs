//! However bytes are split, the events are the same, and no more is kept than came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use models::sse::SseReader;

#[path = "../src/split.rs"]
mod split;

type Told = (String, String, Option<String>);

fuzz_target!(|input: &[u8]| {
    let Some((_, bytes, pieces)) = split::split(input) else { return };
    let whole = read(&[bytes]);
    assert_eq!(read(&pieces), whole, "split");
    assert_eq!(read(&bytes.iter().map(std::slice::from_ref).collect::<Vec<_>>()), whole, "byte by byte");
    let kept: usize =
        whole.iter().map(|(name, data, id)| name.len() + data.len() + id.as_ref().map_or(0, String::len)).sum();
    // A byte that is not UTF-8 becomes three.
    assert!(kept <= 3 * bytes.len(), "{kept} bytes out of {}", bytes.len());
});

fn read(pieces: &[&[u8]]) -> Vec<Told> {
    let mut reader = SseReader::new();
    let mut told = Vec::new();
    for piece in pieces {
        reader.push(piece);
        // Inputs are shorter than the longest event.
        while let Some(event) = reader.next_event().unwrap() {
            told.push((event.name.into_owned(), event.data.into_owned(), event.id.map(String::from)));
        }
        assert!(reader.next_event().unwrap().is_none(), "an event came late");
    }
    let last = reader.finish();
    told.extend(last.map(|event| (event.name.into_owned(), event.data.into_owned(), event.id.map(String::from))));
    assert!(reader.finish().is_none(), "the end came twice");
    told
}
