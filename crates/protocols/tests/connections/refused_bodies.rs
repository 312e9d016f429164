//! Requests that are rejected before their bodies were read: the response reaches the client.

use std::io::Write;

use espalier_protocols::server::Limits;

use crate::support::{connect, read_response, rest, start, status};

/// Requests that are rejected because of their headers.
const REFUSED: [(&str, &str, &str, u16); 8] = [
    ("POST /stats/track", "localhost", "text/plain", 415),
    ("POST /documents/cars/items", "localhost", "text/plain", 415),
    ("PUT /restconf/data", "localhost", "text/plain", 415),
    (
        "PUT /restconf/data/garden:nothing",
        "localhost",
        "application/json",
        404,
    ),
    ("POST /healthz", "localhost", "text/plain", 405),
    ("POST /nowhere", "localhost", "text/plain", 404),
    ("POST /stats/track", "evil.example", "application/json", 421),
    ("PATCH /stats/track", "localhost", "application/json", 405),
];

fn check(length: usize) {
    let server = start(Limits::default());
    let body = vec![b'x'; length];
    for (line, host, media, expected) in REFUSED {
        let mut stream = connect(&server);
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {media}\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        // The response is in the socket while the body is still being sent; the write must not fail.
        std::thread::sleep(std::time::Duration::from_millis(20));
        for piece in body.chunks(10_000) {
            stream.write_all(piece).expect("the server keeps reading");
        }
        let response = rest(&mut stream);
        assert_eq!(status(&response), expected, "{line}: {response:?}");
    }
}

#[test]
fn an_early_error_reaches_a_client_with_a_small_body() {
    check(100);
}

#[test]
fn an_early_error_reaches_a_client_with_a_large_body() {
    check(4 << 20);
}

/// A client must not send its next request on a connection that ends.
#[test]
fn an_error_before_the_body_was_read_closes_the_connection() {
    let server = start(Limits::default());
    for (line, host, media, expected) in REFUSED {
        let mut stream = connect(&server);
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {media}\r\nContent-Length: 100\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let response = read_response(&mut stream);
        assert_eq!(status(&response), expected, "{line}: {response:?}");
        let response = response.to_ascii_lowercase();
        assert!(
            response.contains("connection: close"),
            "{line}: {response:?}"
        );
    }
    let mut stream = connect(&server);
    let get = "POST /stats/track HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    for _ in 0..2 {
        stream.write_all(get.as_bytes()).expect("sent");
        assert_eq!(status(&read_response(&mut stream)), 415);
    }
}

/// A body whose declared length is too large is rejected at once, while the client may still be sending.
#[test]
fn a_body_that_is_too_large_is_413() {
    let server = start(Limits::default());
    let requests = [
        (
            "PUT /restconf/data/garden:keyed=a",
            "application/yang-data+json",
        ),
        ("POST /stats/track", "application/json"),
        ("POST /documents/cars/items", "application/json"),
    ];
    for (line, media) in requests {
        let mut stream = connect(&server);
        let length = (16 << 20) + 1;
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        for _ in 0..length / 65_536 {
            stream
                .write_all(&[b' '; 65_536])
                .expect("the server keeps reading");
        }
        stream.write_all(b" ").expect("the server keeps reading");
        let response = rest(&mut stream);
        assert_eq!(status(&response), 413, "{line}: {response:?}");
    }
}
