//! Owns the way of sandboxed commands to hosts that are named: an HTTP proxy on a Unix socket. It looks a name
//! up itself, and connects to the address that it has checked, so that no second lookup can lead elsewhere.
//! Must not know who is connected.
//!
//! Each connection carries one request: `CONNECT`, or a plain one that is sent on. A redirect is the client's
//! next request, and is checked like the first.

mod names;
mod request;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub(super) use names::check;

use names::{allows, is_public};
use request::{Request, read};

/// How long a connection to a host may take to be made, and a request to arrive.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many connections there may be at a time.
const MOST: usize = 256;

/// What the proxy asks the world; tests ask their own.
struct World {
    lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>,
    is_public: fn(IpAddr) -> bool,
}

const REAL: World = World { lookup: |host, port| Ok((host, port).to_socket_addrs()?.collect()), is_public };

/// A proxy that listens until this is dropped.
pub(super) struct Proxy {
    socket: PathBuf,
    over: Arc<AtomicBool>,
}

impl Proxy {
    /// Listens at this path for requests to these hosts, in a thread that sleeps until one comes.
    pub(super) fn start(socket: &Path, hosts: &[String]) -> io::Result<Self> {
        Self::in_world(socket, hosts, &REAL)
    }

    fn in_world(socket: &Path, hosts: &[String], world: &'static World) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let over = Arc::new(AtomicBool::new(false));
        let (stop, hosts) = (over.clone(), Arc::<[String]>::from(hosts));
        let serve = move || {
            let open = Arc::new(AtomicUsize::new(0));
            for client in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (hosts, counted) = (hosts.clone(), open.clone());
                let talk = move || {
                    // Whom it concerns was told over the connection.
                    let _ = talk(client, &hosts, world);
                    counted.fetch_sub(1, Ordering::Relaxed);
                };
                if std::thread::Builder::new().spawn(talk).is_err() {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        };
        std::thread::Builder::new().spawn(serve)?;
        Ok(Self { socket: socket.to_owned(), over })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes it up, so that it sees that it is over.
        let _ = UnixStream::connect(&self.socket);
    }
}

fn talk(mut client: UnixStream, hosts: &[String], world: &World) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let request = match read(&mut client) {
        Ok(request) => request,
        Err(fault) => return refuse(&mut client, "400 Bad Request", &fault),
    };
    let Request { host, port, .. } = &request;
    if !allows(hosts, host) {
        let fault = format!("the host {host} is not in sandbox.network.allowedDomains");
        return refuse(&mut client, "403 Forbidden", &fault);
    }
    let addresses = match (world.lookup)(host, *port) {
        Ok(addresses) => addresses,
        Err(fault) => return refuse(&mut client, "502 Bad Gateway", &format!("cannot find {host}: {fault}")),
    };
    // A name that leads here and elsewhere is up to no good.
    if addresses.iter().any(|address| !(world.is_public)(address.ip())) {
        let fault = format!("{host} leads to an address of this machine or of its own network");
        return refuse(&mut client, "403 Forbidden", &fault);
    }
    let mut connections = addresses.iter().map(|address| TcpStream::connect_timeout(address, PATIENCE));
    let server = match connections.find(Result::is_ok) {
        Some(Ok(server)) => server,
        Some(Err(_)) | None => {
            return refuse(&mut client, "502 Bad Gateway", &format!("cannot connect to {host}:{port}"));
        }
    };
    client.set_read_timeout(None)?;
    match &request.forward {
        Some(head) => (&server).write_all(head.as_bytes())?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    (&server).write_all(&request.rest)?;
    carry(client, server)
}

/// Both ways until both are over.
fn carry(client: UnixStream, server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let upward = std::thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    })?;
    let (mut from_server, mut to_client) = (server, client);
    let _ = io::copy(&mut from_server, &mut to_client);
    // A client that goes on writing to nobody must not hold a thread.
    let _ = to_client.shutdown(Shutdown::Both);
    let _ = upward.join();
    Ok(())
}

fn refuse(client: &mut UnixStream, status: &str, fault: &str) -> io::Result<()> {
    let body = format!("blocked by the sandbox: {fault}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    // What it still says is taken, so that it can read the answer.
    io::copy(&mut client.take(1 << 20), &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests;
