//! Owns the way from a command in a network of its own to the proxy outside: a port on its loopback that
//! leads to a Unix socket. Must not know what is said over it.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::spec::PROXY_PORT;

/// Listens from now on, in threads that the restrictions to come do not bind.
pub(super) fn start(socket: &Path) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    let socket = socket.to_owned();
    let serve = move || {
        for client in listener.incoming().flatten() {
            let socket = socket.clone();
            // Without a thread the client sees its connection close.
            let _ = std::thread::Builder::new().spawn(move || carry(client, &socket));
        }
    };
    std::thread::Builder::new().spawn(serve).map(drop)
}

fn carry(client: TcpStream, socket: &PathBuf) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    let (mut from_client, mut to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    let upward = std::thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_proxy);
        let _ = to_proxy.shutdown(Shutdown::Write);
    })?;
    let (mut from_proxy, mut to_client) = (proxy, client);
    let _ = io::copy(&mut from_proxy, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = upward.join();
    Ok(())
}
