//! Randomly broken requests: the server neither fails nor panics.

use std::io::{Read, Write};
use std::net::TcpStream;

use espalier_testkit::seed;

use crate::support::Server;

const REQUESTS: usize = 1500;

/// Method, target, body.
const TEMPLATES: [(&str, &str, &str); 8] = [
    (
        "GET",
        "/restconf/data/garden:garden/bed=a/row=1,north?fields=crop;side&depth=2",
        "",
    ),
    (
        "GET",
        "/restconf/data?content=config&with-defaults=report-all-tagged",
        "",
    ),
    (
        "GET",
        "/restconf/data/garden:garden/bed?limit=2&offset=1&fields=name(x;y/z)",
        "",
    ),
    (
        "PUT",
        "/restconf/data/garden:garden",
        r#"{"garden:garden":{"title":"t","bed":[{"name":"a","row":[{"number":1,"side":"north"}]}]}}"#,
    ),
    (
        "POST",
        "/restconf/data/garden:garden?insert=after&point=/garden:garden/visit=a",
        r#"{"garden:visit":[{"who":"b","note":"\u00e9"}]}"#,
    ),
    (
        "PATCH",
        "/restconf/data",
        r#"{"ietf-restconf:data":{"garden:keyed":[{"@":{"ietf-netconf:operation":"remove"},"k":"1"}]}}"#,
    ),
    ("DELETE", "/restconf/data/garden:garden/bed=a", ""),
    (
        "GET",
        "/restconf/data/ietf-yang-library:yang-library/module-set=complete/module=garden?fields=name",
        "",
    ),
];

const TOKENS: [&str; 16] = [
    "%",
    "%00",
    "%2F",
    "=",
    ",",
    "/",
    ":",
    "'",
    "\"",
    "{",
    "]",
    "\u{1F331}",
    "(",
    ";",
    "@",
    "\\",
];

/// A small generator, so that a test is reproducible by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }

    fn broken(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(3) {
                0 if at < bytes.len() => {
                    bytes.remove(at);
                }
                1 if at < bytes.len() => {
                    let end = at + self.below(bytes.len() - at);
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    bytes.splice(at..at, token.bytes());
                }
            }
        }
        bytes
    }
}

#[test]
fn broken_requests_are_answered_or_rejected() {
    let server = Server::start();
    // A shift generator never leaves 0.
    let mut random = Random(seed::printed() | 1 << 40);
    for _ in 0..REQUESTS {
        let (method, target, body) = TEMPLATES[random.below(TEMPLATES.len())];
        let (target, body) = (random.broken(target), random.broken(body));
        let mut request = format!("{method} ").into_bytes();
        request.extend(&target);
        let headers = format!(
            " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/yang-data+json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        request.extend(headers.as_bytes());
        request.extend(&body);
        let status = exchange(&server, &request);
        let shown = String::from_utf8_lossy(&request);
        let is_fine = matches!(status, 200..=499 | 501);
        assert!(is_fine, "{status} for {shown}");
    }
    assert_eq!(server.get("").status, 200);
}

/// Sends bytes and reads the status of the response; 400 if the connection is closed.
fn exchange(server: &Server, request: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let _ = stream.write_all(request);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    let text = String::from_utf8_lossy(&response);
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    status.unwrap_or(400)
}
