//! Ways out that go by sockets. All of them lead to this machine.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use super::super::support::Ran;
use super::{Layer, Yard, got_through, on_both_layers};

/// Tries a probe in the layer and in none. `arrived` says whether it was heard outside.
fn is_not_heard<T>(layer: Layer, listen: impl Fn(&Yard) -> (T, String), arrived: impl Fn(&T) -> bool) {
    for (layer, expected) in [(layer, false), (Layer::Off, true)] {
        let yard = Yard::new(layer);
        let (listener, probe) = listen(&yard);
        let ran = yard.probe(&probe);
        assert_eq!(arrived(&listener), expected, "{layer:?}: {ran:?}");
    }
}

fn accepted<T>(result: std::io::Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(fault) if fault.kind() == ErrorKind::WouldBlock => false,
        Err(fault) => panic!("{fault}"),
    }
}

fn tcp_listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn tcp(layer: Layer) {
    let listen = |_: &Yard| {
        let (listener, port) = tcp_listener();
        (listener, format!("tcp {port}"))
    };
    is_not_heard(layer, listen, |listener| accepted(listener.accept()));
}

fn tcp_fast_open(layer: Layer) {
    let listen = |_: &Yard| {
        let (listener, port) = tcp_listener();
        (listener, format!("fast-open {port}"))
    };
    is_not_heard(layer, listen, |listener| accepted(listener.accept()));
}

fn udp(layer: Layer) {
    let listen = |_: &Yard| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let port = socket.local_addr().unwrap().port();
        (socket, format!("udp {port}"))
    };
    is_not_heard(layer, listen, |socket| accepted(socket.recv(&mut [0; 8])));
}

fn an_abstract_unix_socket(layer: Layer) {
    let listen = |_: &Yard| {
        let name = format!("rsagent-test-{}-{}", std::process::id(), fastrand::u64(..));
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        listener.set_nonblocking(true).unwrap();
        (listener, format!("abstract {name}"))
    };
    is_not_heard(layer, listen, |listener| accepted(listener.accept()));
}

fn a_unix_socket_in_the_workspace(layer: Layer) {
    let listen = |yard: &Yard| {
        let listener = UnixListener::bind(yard.place.work().join("s")).unwrap();
        listener.set_nonblocking(true).unwrap();
        (listener, "unix s".to_owned())
    };
    is_not_heard(layer, listen, |listener| accepted(listener.accept()));
}

fn a_pair_that_is_pointed_elsewhere(layer: Layer) {
    let listen = |yard: &Yard| {
        let socket = UnixDatagram::bind(yard.place.work().join("s")).unwrap();
        socket.set_nonblocking(true).unwrap();
        (socket, "pair s".to_owned())
    };
    is_not_heard(layer, listen, |socket| accepted(socket.recv(&mut [0; 8])));
}

fn calls_that_are_refused(layer: Layer) {
    for probe in
        ["netlink", "packet", "vsock", "rings", "user-namespace", "mount-namespace", "ptrace", "keys", "typing"]
    {
        let refused = |layer| {
            let ran = Yard::new(layer).probe(probe);
            (!got_through(&ran), ran)
        };
        let (inside, ran) = refused(layer);
        assert!(inside, "{probe} got through {layer:?}: {ran:?}");
        let (outside, ran) = refused(Layer::Off);
        assert!(!outside, "{probe} is refused even without a sandbox: {ran:?}");
    }
}

on_both_layers!(
    tcp,
    tcp_fast_open,
    udp,
    an_abstract_unix_socket,
    a_unix_socket_in_the_workspace,
    a_pair_that_is_pointed_elsewhere,
    calls_that_are_refused,
);

/// Pairs of connected sockets are what many programs are made of.
#[test]
fn a_pair_of_streams_works() {
    for layer in [Layer::Bubblewrap, Layer::Landlock] {
        let ran = Yard::new(layer).probe("stream-pair");
        assert!(got_through(&ran), "{layer:?}: {ran:?}");
    }
}

/// A server and its tests talk within one sandbox.
#[test]
fn a_command_can_talk_to_itself() {
    let ran = Yard::new(Layer::Bubblewrap).probe("own-server");
    assert!(got_through(&ran), "{ran:?}");
}

/// With hosts that are named there is one way out, and it leads to them alone.
#[test]
fn the_proxy_leads_to_named_hosts_and_never_back() {
    let (listener, port) = tcp_listener();
    for (target, answer) in [
        (format!("other.example:{port}"), "the host other.example is not in sandbox.network.allowedDomains"),
        (format!("127.0.0.1:{port}"), "the host 127.0.0.1 is not in sandbox.network.allowedDomains"),
        (format!("localhost:{port}"), "localhost leads to an address of this machine or of its own network"),
    ] {
        let yard = Yard::new(Layer::Bubblewrap);
        let ran = Ran::of(yard.probing(&["--allow-host", "localhost"], &format!("proxy {target}")).output().unwrap());
        assert!(got_through(&ran), "{target}: {ran:?}");
        assert!(ran.stdout.contains("HTTP/1.1 403 Forbidden"), "{target}: {ran:?}");
        assert!(ran.stdout.contains(&format!("blocked by the sandbox: {answer}")), "{target}: {ran:?}");
    }
    let yard = Yard::new(Layer::Bubblewrap);
    for probe in [format!("tcp {port}"), "unix /var/run/x".to_owned()] {
        let ran = Ran::of(yard.probing(&["--allow-host", "localhost"], &probe).output().unwrap());
        assert!(!got_through(&ran), "{ran:?}");
        std::fs::remove_file(yard.place.work().join("tests")).unwrap();
    }
    assert!(!accepted(listener.accept()));
}

#[test]
fn all_of_the_network_is_there_where_that_is_said() {
    let (listener, port) = tcp_listener();
    let ran =
        Ran::of(Yard::new(Layer::Bubblewrap).probing(&["--allow-host", "*"], &format!("tcp {port}")).output().unwrap());
    assert!(got_through(&ran) && accepted(listener.accept()), "{ran:?}");
}

#[test]
fn hosts_that_cannot_be_let_through_are_refused() {
    let refused = |layer, host: &str| {
        let ran = Ran::of(Yard::new(layer).command(&["--allow-host", host], &["true"]).output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        ran.stderr
    };
    let fault = refused(Layer::Bubblewrap, "10.0.0.1");
    assert!(fault.contains("`10.0.0.1` is no name of a host; write `example.com` or `*.example.com`"), "{fault}");
    let fault = refused(Layer::Landlock, "example.com");
    assert!(fault.contains("landlock: it cannot let single hosts through. Install bubblewrap"), "{fault}");
}
