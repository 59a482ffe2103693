//! Owns a test double of the Messages API on loopback: scripted answers, captured requests.
//! Must not know what the tests assert.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// One request as it came over the wire.
#[derive(Debug, Clone)]
pub struct Captured {
    pub line: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// On which connection, from 0.
    pub connection: usize,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Whole,
    /// The connection closes before the last chunk.
    Cut,
    /// Nothing more comes until the client closes the connection.
    Open,
    /// The connection is reset before the last chunk.
    Reset,
}

/// One scripted answer. Each piece is a chunk of its own.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub pieces: Vec<Vec<u8>>,
    pub end: End,
}

impl Reply {
    pub fn new(status: &'static str, content_type: &str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            pieces: vec![body.as_bytes().to_vec()],
            end: End::Whole,
        }
    }

    pub fn events(body: &str) -> Self {
        Self::new("200 OK", "text/event-stream; charset=utf-8", body)
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn pieces(mut self, pieces: Vec<Vec<u8>>) -> Self {
        self.pieces = pieces;
        self
    }

    pub fn open(mut self) -> Self {
        self.end = End::Open;
        self
    }

    pub fn reset(mut self) -> Self {
        self.end = End::Reset;
        self
    }

    pub fn cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }
}

pub struct Server {
    pub url: String,
    /// Told of each connection that a client has closed.
    pub closed: Arc<Notify>,
    captured: Arc<Mutex<Vec<Captured>>>,
}

impl Server {
    /// Gives these answers in turn, and the last one for ever.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let captured: Arc<Mutex<Vec<Captured>>> = Arc::default();
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let seen = captured.clone();
        let closed: Arc<Notify> = Arc::default();
        let told = closed.clone();
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                stream.set_nodelay(true).unwrap();
                let (replies, seen, told) = (replies.clone(), seen.clone(), told.clone());
                tokio::spawn(async move {
                    serve(stream, connection, replies, seen).await;
                    told.notify_one();
                });
            }
        });
        Self { url, closed, captured }
    }

    pub fn requests(&self) -> Vec<Captured> {
        self.captured.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    captured: Arc<Mutex<Vec<Captured>>>,
) {
    while let Some(request) = read_request(&mut stream, connection).await {
        captured.lock().unwrap().push(request);
        let reply = {
            let mut replies = replies.lock().unwrap();
            match replies.len() {
                0 | 1 => replies.front().unwrap().clone(),
                _ => replies.pop_front().unwrap(),
            }
        };
        let mut head = format!("HTTP/1.1 {}\r\ntransfer-encoding: chunked\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
            bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
            bytes.extend(piece);
            bytes.extend(b"\r\n");
        }
        if reply.end == End::Whole {
            bytes.extend(b"0\r\n\r\n");
        }
        if stream.write_all(&bytes).await.is_err() || reply.end == End::Cut {
            return;
        }
        if reply.end == End::Reset {
            stream.set_zero_linger().unwrap();
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, connection: usize) -> Option<Captured> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse().unwrap();
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Captured { line, headers, body: String::from_utf8(body).unwrap(), connection })
}
