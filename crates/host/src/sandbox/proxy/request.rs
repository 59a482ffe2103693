//! Owns the head of one request to the proxy: whom it is for, and what is sent on. Must not know who may be
//! asked.

use std::io::Read;

/// The longest head, in bytes.
const LIMIT: usize = 64 * 1024;

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The host as it was named.
    pub(super) host: String,
    /// Its port.
    pub(super) port: u16,
    /// The head that the server gets; none where a tunnel was asked for.
    pub(super) forward: Option<String>,
    /// What came after the head already.
    pub(super) rest: Vec<u8>,
}

/// Reads a request up to the end of its head.
pub(super) fn read(from: &mut impl Read) -> Result<Request, String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > LIMIT {
            return Err("the request has no end".into());
        }
        let length = from.read(&mut piece).map_err(|fault| format!("no request: {fault}"))?;
        if length == 0 {
            return Err("the request was cut".into());
        }
        bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
    };
    let rest = bytes.split_off(end + 4);
    let head = std::str::from_utf8(bytes.get(..end).unwrap_or_default()).map_err(|_| "the request is no text")?;
    parse(head, rest)
}

fn parse(head: &str, rest: Vec<u8>) -> Result<Request, String> {
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, version] = words.as_slice() else { return Err("the request line has not three words".into()) };
    if !version.starts_with("HTTP/1.") || head.contains('\0') || head.replace("\r\n", "").contains(['\r', '\n']) {
        return Err("the request is no HTTP/1".into());
    }
    if *method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Request { host, port, forward: None, rest });
    }
    let after = target.strip_prefix("http://").ok_or("a proxy takes addresses that begin with http:// only")?;
    let split = after.find(['/', '?']).unwrap_or(after.len());
    let (named, path) = after.split_at(split);
    let (host, port) = authority(named, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The one host that was checked, and one request: the server must not take another from what follows.
    let mut forward = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n");
    for line in lines {
        let (name, _) = line.split_once(':').ok_or("a header has no colon")?;
        let name = name.to_ascii_lowercase();
        let hop = name.starts_with("proxy-")
            || ["host", "connection", "keep-alive", "upgrade", "te"].contains(&name.as_str());
        if !hop {
            forward.push_str(line);
            forward.push_str("\r\n");
        }
    }
    forward.push_str("\r\n");
    Ok(Request { host, port, forward: Some(forward), rest })
}

/// `HOST:PORT`, the port perhaps understood.
fn authority(text: &str, usual: Option<u16>) -> Result<(String, u16), String> {
    let fault = || format!("`{text}` names no host and port");
    match (text.rsplit_once(':'), usual) {
        (Some((host, port)), _) => Ok((host.to_owned(), port.parse().map_err(|_| fault())?)),
        (None, Some(port)) => Ok((text.to_owned(), port)),
        (None, None) => Err(fault()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Request, String> {
        read(&mut text.as_bytes())
    }

    #[test]
    fn a_tunnel_and_a_plain_request() {
        let tunnel = of("CONNECT example.com:443 HTTP/1.1\r\nHost: other\r\n\r\nrest").unwrap();
        let expected = Request { host: "example.com".into(), port: 443, forward: None, rest: b"rest".to_vec() };
        assert_eq!(tunnel, expected);
        let text = "POST http://example.com:8080?q HTTP/1.0\r\nHost: evil\r\nProxy-Authorization: x\r\n\
                    Connection: keep-alive\r\nContent-Length: 1\r\n\r\nb";
        let forward = "POST /?q HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\nContent-Length: 1\r\n\r\n";
        let expected =
            Request { host: "example.com".into(), port: 8080, forward: Some(forward.into()), rest: b"b".to_vec() };
        assert_eq!(of(text), Ok(expected));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "CONNECT a:99999 HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "GET http://a/ b HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
        ] {
            assert!(of(text).is_err(), "{text:?}");
        }
        assert_eq!(of(&"a".repeat(LIMIT * 2)), Err("the request has no end".into()));
    }
}
