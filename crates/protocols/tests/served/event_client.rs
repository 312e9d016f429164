//! A client of server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A client that reads events one by one.
pub struct Client(BufReader<TcpStream>);

#[derive(Debug, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: String,
    /// JSON, or a text.
    pub data: Value,
}

impl Client {
    pub fn open(server: SocketAddr, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(server).expect("connected");
        let wait = Some(Duration::from_secs(30));
        stream.set_read_timeout(wait).expect("a timeout");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"
        )
        .expect("sent");
        let mut client = Self(BufReader::new(stream));
        let head: Vec<String> = std::iter::from_fn(|| client.line())
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        let media = "content-type: text/event-stream";
        assert!(head.iter().any(|line| line == media), "{head:?}");
        client
    }

    /// Reads a line; none at the end. The lines include chunk lengths.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).expect("a line");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads the next event; none if the feed ended cleanly.
    pub fn next(&mut self) -> Option<Event> {
        let (mut id, mut kind, mut data) = (None, String::new(), Vec::new());
        loop {
            let line = self.line().expect("the feed was aborted");
            if line == "0" {
                return None;
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("event: ") {
                kind = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data.push(text.to_owned());
            } else if line.is_empty() && !data.is_empty() {
                let data = data.join("\n");
                let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
                return Some(Event { id, kind, data });
            }
        }
    }

    pub fn expect(&mut self, kind: &str) -> Event {
        let event = self.next().expect("an event");
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }
}
