//! The framing of events, on bytes.

use kernel::{Block, ErrorKind, ModelError, ModelEvent};
use models::sse::{MAX_EVENT, SseError, SseReader};
use proptest::prelude::*;
use testkit::cases::chunks;

use crate::decoding::{EVENTS, decode_reads};

/// `(name, data, id)` of every event of these chunks.
fn read<T: AsRef<[u8]>>(chunks: &[T]) -> Vec<(String, String, Option<String>)> {
    let mut reader = SseReader::new();
    let mut events = Vec::new();
    for chunk in chunks {
        reader.push(chunk.as_ref());
        while let Some(event) = reader.next_event().unwrap() {
            events.push((event.name.into(), event.data.into(), event.id.map(Into::into)));
        }
    }
    if let Some(event) = reader.finish() {
        events.push((event.name.into(), event.data.into(), event.id.map(Into::into)));
    }
    events
}

fn data<T: AsRef<[u8]>>(chunks: &[T]) -> Vec<String> {
    read(chunks).into_iter().map(|(_, data, _)| data).collect()
}

/// The text of an answer that must be whole.
fn says<T: AsRef<[u8]>>(reads: &[T]) -> String {
    let (events, fault) = decode_reads(EVENTS, reads);
    assert_eq!(fault, None);
    let texts = events.into_iter().filter_map(|event| match event {
        ModelEvent::Block(Block::Text { text, .. }) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// The decoder's part; how long such a server is waited for is the watchdog's.
#[test]
fn sse_fields_6823f3() {
    let stream = chunks("sse-fields-6823f3");
    assert_eq!(says(&stream), "hi");
    let comments: Vec<&[u8]> = stream[0].split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(says(&comments), "hi");
}

#[test]
fn sse_fields_362519() {
    let stream = chunks("sse-fields-362519").concat();
    let expected = ("foo".to_owned(), "{\n\"a\":1}".to_owned(), Some("7".to_owned()));
    for size in 1..=stream.len() {
        let split: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(read(&split), std::slice::from_ref(&expected), "in reads of {size}");
    }
}

#[test]
fn sse_line_ends_c1ab20() {
    assert_eq!(data(&chunks("sse-line-ends-c1ab20")), ["{}"]);
    assert_eq!(data(&["data: a\r\rdata: b\n\r\ndata: c\r\n\n"]), ["a", "b", "c"]);
}

#[test]
fn sse_utf8_split_53a48d() {
    assert_eq!(says(&chunks("sse-utf8-split-53a48d")), "🙂");
    let bytes = chunks("sse-utf8-split-53a48d").concat();
    for size in 1..100 {
        let split: Vec<&[u8]> = bytes.chunks(size).collect();
        assert_eq!(says(&split), "🙂", "in reads of {size}");
    }
}

#[test]
fn sse_utf8_invalid_335520() {
    assert_eq!(says(&chunks("sse-utf8-invalid-335520")), "\u{fffd}\u{fffd}");
    assert_eq!(
        data(&[b"data: a\xff\xfeb\ndata: \xe4\xbd\xa0\n\ndata: c\n\n".as_slice()]),
        ["a\u{fffd}\u{fffd}b\n你", "c"]
    );
}

#[test]
fn sse_line_separator_a4639e() {
    assert_eq!(data(&["data: a\u{2028}b\u{85}\n\n"]), ["a\u{2028}b\u{85}"]);
}

#[test]
fn sse_limits_593851() {
    let mut reader = SseReader::new();
    let piece = vec![b'a'; 1 << 20];
    let mut pushed = 0;
    let fault = loop {
        reader.push(&piece);
        pushed += piece.len();
        if let Err(fault) = reader.next_event() {
            break fault;
        }
    };
    assert_eq!(fault, SseError::TooLong);
    assert!(pushed <= MAX_EVENT + piece.len());
    // Whatever the header says of it: one error that will not be tried again.
    let endless: Vec<&[u8]> = (0..=MAX_EVENT / piece.len()).map(|_| piece.as_slice()).collect();
    let (events, fault) = decode_reads(EVENTS, &endless);
    let text = "the answer of anthropic (models.test) cannot be read: an event of the stream is longer than 16 MiB";
    assert_eq!((events, fault), (vec![], Some(ModelError::new(ErrorKind::Invalid, text))));
    let json: Vec<&[u8]> = [b"{".as_slice()].into_iter().chain(endless).collect();
    let text = "anthropic (models.test) sent an answer of more than 16 MiB";
    assert_eq!(decode_reads("application/json", &json).1, Some(ModelError::new(ErrorKind::Invalid, text)));
}

#[test]
fn an_event_has_data_and_forgets_the_last_one() {
    let stream = "event: a\n\ndata\n\nevent: b\nid: 1\0\ndata: 1\nretry: 3\nfoo: bar\n\ndata:  2\n\n";
    let of = |name: &str, data: &str| (name.to_owned(), data.to_owned(), None);
    assert_eq!(read(&[stream]), [of("", ""), of("b", "1"), of("", " 2")]);
}

#[test]
fn an_event_without_its_blank_line_counts_at_the_end() {
    assert_eq!(data(&["data: a\n\ndata: b"]), ["a", "b"]);
    assert_eq!(data(&["data: a\n\nevent: b\n"]), ["a"]);
}

/// Comments between events do not pile up: the reader must not fail however long a server keeps a
/// connection alive.
#[test]
fn comments_are_forgotten() {
    let mut reader = SseReader::new();
    let comments = ": keep-alive\n".repeat(MAX_EVENT / 13 / 4);
    for _ in 0..6 {
        reader.push(comments.as_bytes());
        assert_eq!(reader.next_event(), Ok(None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_split_gives_the_same_events(
        lines in prop::collection::vec((
            prop_oneof!["", "data: [a-z你\u{2028}🙂]{0,5}", "data", ": c", "event: e", "id:[0-9]", "\u{feff}data:x"],
            prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
        ), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let whole = read(&[bytes]);
        prop_assert_eq!(&read(&chunks), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(&single), &whole);
    }
}
