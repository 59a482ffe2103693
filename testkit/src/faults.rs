//! Owns what can go wrong with an answer on its way, each fault drawn from a seed: the network, a
//! gateway in between, and the server itself. Must not know what the answer says.

use std::time::Duration;

use fastrand::Rng;

use crate::Wire;
use crate::reply::{End, Reply};

/// Makes of an answer what arrives of it.
pub type Fault = fn(&Wire, Reply, &mut Rng) -> Reply;

/// Every fault, with a name for reports.
pub const FAULTS: [(&str, Fault); 18] = [
    ("silence", |_, reply, _| reply.ends_after(0, End::Silent)),
    ("cut", |_, reply, rng| cut(reply, rng, End::Cut)),
    ("ended", |_, reply, rng| cut(reply, rng, End::Whole)),
    ("hang", |_, reply, rng| cut(reply, rng, End::Open)),
    ("slow", |_, reply, rng| {
        let pause = Duration::from_millis(rng.u64(1..6));
        Reply { pause, ..pieces(reply, rng, 6) }
    }),
    ("split", |_, reply, rng| pieces(reply, rng, 200)),
    ("corrupt", |_, reply, rng| corrupt(reply, rng)),
    ("rate limit", |wire, _, rng| status(wire, rng, 429, "rate_limit_error", "slow down")),
    ("overload", |wire, _, rng| status(wire, rng, 529, "overloaded_error", "Overloaded")),
    ("broken", |wire, _, rng| status(wire, rng, 500, "api_error", "Internal server error")),
    ("other status", |wire, _, rng| {
        let (code, kind) = rng.choice(STATUSES).unwrap_or_default();
        status(wire, rng, code, kind, "no")
    }),
    ("overload within", |wire, reply, rng| {
        let body = reply.pieces.concat();
        let before = &body[..after_event(&body, rng)];
        let event = (wire.error_event)("overloaded_error", "Overloaded");
        Reply { pieces: vec![before.to_vec(), event.into_bytes()], ..reply }
    }),
    ("page", |_, _, rng| page(200, rng)),
    ("gateway page", |_, _, rng| page(502, rng)),
    ("empty", |_, reply, _| reply.ends_after(0, End::Whole)),
    ("wrong type", |_, mut reply, rng| {
        let kinds = ["text/plain", "application/json", "text/html", ""];
        reply.headers = vec![("content-type".into(), kinds[rng.usize(..kinds.len())].into())];
        reply
    }),
    ("event left out", |_, reply, rng| without_event(reply, rng)),
    ("pings", |_, mut reply, rng| {
        let pings = ": ping\n\n".repeat(rng.usize(1..50));
        reply.pieces.insert(0, pings.into_bytes());
        reply
    }),
];

/// Answers that no retry helps against, and some that one does.
const STATUSES: [(u16, &str); 9] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (408, "timeout_error"),
    (413, "request_too_large"),
    (302, "moved"),
    (204, "nothing"),
];

fn cut(reply: Reply, rng: &mut Rng, end: End) -> Reply {
    let bytes = rng.usize(..=reply.len());
    pieces(reply.ends_after(bytes, end), rng, 3)
}

/// Split at so many random places, within characters too.
fn pieces(reply: Reply, rng: &mut Rng, most: usize) -> Reply {
    let (length, count) = (reply.len(), rng.usize(..=most));
    let mut offsets: Vec<usize> = (0..count).map(|_| rng.usize(..=length)).collect();
    offsets.sort_unstable();
    reply.split_at(&offsets)
}

fn corrupt(mut reply: Reply, rng: &mut Rng) -> Reply {
    for _ in 0..rng.usize(1..4) {
        if let Some(piece) = reply.pieces.iter_mut().find(|piece| !piece.is_empty()) {
            let at = rng.usize(..piece.len());
            piece[at] = rng.u8(..);
        }
    }
    reply
}

/// With or without a word on when to come back.
fn status(wire: &Wire, rng: &mut Rng, status: u16, kind: &str, text: &str) -> Reply {
    let mut reply = Reply::error(status, kind, text);
    reply.pieces = vec![(wire.error)(kind, text).to_string().into_bytes()];
    match rng.u8(..5) {
        0 => reply.header("retry-after", "0"),
        1 => reply.header("retry-after-ms", "20"),
        2 => reply.header("retry-after", "soon"),
        3 => reply.header("x-should-retry", "false"),
        _ => reply,
    }
}

fn page(status: u16, rng: &mut Rng) -> Reply {
    let page = "<!doctype html>\n<html><body><h1>Bad gateway</h1></body></html>\n".repeat(rng.usize(1..50));
    let mut reply = Reply::stream(&page);
    (reply.status, reply.headers) = (status, vec![("content-type".into(), "text/html".into())]);
    reply
}

/// An offset right behind a random event.
fn after_event(body: &[u8], rng: &mut Rng) -> usize {
    let ends: Vec<usize> =
        body.windows(2).enumerate().filter(|(_, two)| two == b"\n\n").map(|(at, _)| at + 2).collect();
    ends.get(rng.usize(..ends.len().max(1))).copied().unwrap_or(0)
}

/// A call without its end, a text without its start, an answer without its reason to stop.
fn without_event(reply: Reply, rng: &mut Rng) -> Reply {
    let text = String::from_utf8_lossy(&reply.pieces.concat()).into_owned();
    let mut events: Vec<&str> = text.split_inclusive("\n\n").collect();
    if !events.is_empty() {
        events.remove(rng.usize(..events.len()));
    }
    Reply { pieces: vec![events.concat().into_bytes()], ..reply }
}
