//! The proxy with connections on loopback, in a world in which that is public.

use std::net::TcpListener;

use super::*;

/// Every name is this machine, and every address is public.
const OPEN: World = World { lookup: |_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]), is_public: |_| true };
/// Every name is this machine.
const CLOSED: World = World { lookup: OPEN.lookup, is_public };

fn answer(world: &'static World, request: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("proxy");
    let _proxy = Proxy::in_world(&socket, &["good.example".to_owned()], world).unwrap();
    let mut client = UnixStream::connect(&socket).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    said
}

/// A server that answers with what it was sent.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        client.write_all(&said).unwrap();
    });
    port
}

#[test]
fn a_host_on_the_list_is_reached() {
    let port = echo();
    let said = answer(&OPEN, &format!("CONNECT good.example:{port} HTTP/1.1\r\n\r\nhello"));
    assert_eq!(said, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    let port = echo();
    let said = answer(&OPEN, &format!("GET http://good.example:{port}/a HTTP/1.1\r\nAccept: x\r\n\r\n"));
    assert_eq!(said, format!("GET /a HTTP/1.1\r\nHost: good.example:{port}\r\nConnection: close\r\nAccept: x\r\n\r\n"));
}

#[test]
fn everything_else_is_refused_in_words() {
    let port = echo();
    for (world, request, status, words) in [
        (
            &OPEN,
            format!("CONNECT bad.example:{port}"),
            "403",
            "the host bad.example is not in sandbox.network.allowedDomains",
        ),
        (&OPEN, format!("CONNECT 127.0.0.1:{port}"), "403", "the host 127.0.0.1 is not in"),
        (&OPEN, format!("GET http://bad.example:{port}/"), "403", "the host bad.example is not in"),
        (&CLOSED, format!("CONNECT good.example:{port}"), "403", "good.example leads to an address of this machine"),
        (&OPEN, "CONNECT good.example:1".to_owned(), "502", "cannot connect to good.example:1"),
        (&OPEN, "HELLO".to_owned(), "400", "the request line has not three words"),
    ] {
        let said = answer(world, &format!("{request} HTTP/1.1\r\n\r\n"));
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {said}");
        assert!(body.starts_with(&format!("blocked by the sandbox: {words}")), "{request}: {said}");
    }
}
