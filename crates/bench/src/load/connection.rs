//! A keep-alive connection of a client. It is minimal, so that the measurement is that of the server.

use std::net::SocketAddr;

use espalier_terminal::{Failure, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::JSON;

/// The largest response in bytes.
const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// A connection.
pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// A response. Its header fields are in lower case.
pub struct Response<'a> {
    /// The status.
    pub status: u16,
    /// The header fields.
    head: &'a str,
    /// The body.
    pub body: &'a str,
}

impl Response<'_> {
    /// The value of a header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(self.head, name)
    }
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            address,
            sent: Vec::new(),
            received: Vec::new(),
        })
    }

    /// Sends a request with a JSON body, which may be empty, and reads the response.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Response<'_>> {
        self.sent.clear();
        let address = self.address;
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\naccept: {JSON}\r\n");
        self.sent.extend_from_slice(head.as_bytes());
        if !body.is_empty() {
            let length = body.len();
            let fields = format!("content-type: {JSON}\r\ncontent-length: {length}\r\n");
            self.sent.extend_from_slice(fields.as_bytes());
        }
        self.sent.extend_from_slice(b"\r\n");
        self.sent.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.sent).await?;
        self.receive().await
    }

    async fn receive(&mut self) -> Result<Response<'_>> {
        self.received.clear();
        let head_bytes = loop {
            self.read_more().await?;
            let end = self
                .received
                .windows(4)
                .position(|part| part == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
        };
        self.received[..head_bytes].make_ascii_lowercase();
        let length = {
            let head = text(&self.received[..head_bytes])?;
            let length = field(head, "content-length").unwrap_or("0");
            let length = length.parse::<usize>();
            length.map_err(|_| Failure::data(format!("a response without a length: {head}")))?
        };
        while self.received.len() < head_bytes + length {
            self.read_more().await?;
        }
        let (head, body) = self.received.split_at(head_bytes);
        let head = text(head)?;
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Ok(Response {
            status: status.ok_or_else(|| Failure::data(format!("not a response: {head}")))?,
            head,
            body: text(body)?,
        })
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.received.len() > RESPONSE_BYTES_MAX {
            return Err(Failure::data("a response is too large"));
        }
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(Failure::data("the server closed the connection")),
            _ => Ok(()),
        }
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Failure::data("a response is not UTF-8"))
}
