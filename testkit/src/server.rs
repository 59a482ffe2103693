//! Owns a small HTTP/1.1 server on loopback that answers by script. It keeps connections open, as
//! the real one does, validates every request, and remembers all of them.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::reply::{End, Reply};
use crate::wire;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    /// Such as `POST /v1/messages`.
    pub line: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, null where it is no JSON.
    pub body: Value,
    /// The body's bytes.
    pub bytes: Vec<u8>,
    /// The rule of the API that it breaks.
    pub fault: Option<String>,
}

impl Request {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

type Script = dyn Fn(usize, &Request) -> Reply + Send + Sync;

struct Shared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

/// A running double. It stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Answers the n-th request, from 0, with what `script` gives. A request that breaks the API's
    /// rules is answered with the API's own 400 instead.
    pub fn start(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.stopped.load(Ordering::Acquire) {
                    return;
                }
                let Ok(connection) = connection else { return };
                accepting.connections.fetch_add(1, Ordering::AcqRel);
                let serving = accepting.clone();
                // A client that goes away in the middle is part of what is tested.
                thread::spawn(move || serve(&serving, connection));
            }
        });
        Self { address, shared }
    }

    /// Answers with these, in order, and with a 500 once they are used up.
    pub fn script(replies: Vec<Reply>) -> Self {
        Self::start(move |number, _| {
            replies
                .get(number)
                .cloned()
                .unwrap_or_else(|| Reply::error(400, "invalid_request_error", "script is used up"))
        })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Connections that were opened so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(shared: &Shared, connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::new(connection);
    while let Some(request) = read_request(&mut reader)? {
        let number = {
            let mut requests = shared.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        let reply = match &request.fault {
            Some(fault) => Reply::error(400, "invalid_request_error", fault),
            None => (shared.script)(number, &request),
        };
        write_reply(&mut writer, &reply)?;
        match reply.end {
            End::Whole => {}
            End::Open => return io::copy(&mut reader, &mut io::sink()).map(drop),
            End::Cut | End::Silent => return Ok(()),
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let line = line.trim_end().rsplit_once(' ').map_or("", |(line, _)| line).to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = header.trim_end().split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let fault = line.starts_with("POST ").then(|| (wire::at(&line).validate)(&body).err()).flatten();
    Ok(Some(Request { line, headers, body, bytes, fault }))
}

fn write_reply(writer: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    if reply.end == End::Silent {
        return Ok(());
    }
    write!(writer, "HTTP/1.1 {} Test\r\n", reply.status)?;
    for (name, value) in &reply.headers {
        write!(writer, "{name}: {value}\r\n")?;
    }
    write!(writer, "transfer-encoding: chunked\r\n\r\n")?;
    writer.flush()?;
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        thread::sleep(reply.pause);
        write!(writer, "{:x}\r\n", piece.len())?;
        writer.write_all(piece)?;
        writer.write_all(b"\r\n")?;
        writer.flush()?;
    }
    if reply.end == End::Whole {
        writer.write_all(b"0\r\n\r\n")?;
    }
    writer.flush()
}
