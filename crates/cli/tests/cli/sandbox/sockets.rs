//! Ways out that go by sockets. All of them lead to this machine.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

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
