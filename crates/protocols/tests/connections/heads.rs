//! Request headers that are too long or malformed, and pipelined requests.

use std::io::Write;
use std::net::Shutdown;

use espalier_protocols::server::Limits;

use crate::support::{connect, exchange, read_response, rest, start, status, write};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";

fn check(head: &str, expected: u16) {
    let server = start(Limits::default());
    let response = exchange(&server, head.as_bytes());
    let shown = &head[..head.len().min(200)];
    assert_eq!(status(&response), expected, "{shown:?} -> {response:?}");
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_request_line_that_is_too_long_is_414() {
    let long = "a".repeat(70_000);
    check(
        &format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        414,
    );
    // Without an end, and longer than the server reads.
    for length in [100_000, 300_000, 2_000_000] {
        check(&format!("GET /{}", "a".repeat(length)), 414);
    }
}

#[test]
fn a_later_request_line_that_is_too_long_is_414_too() {
    let server = start(Limits::default());
    let mut stream = connect(&server);
    let first = format!("{GET}\r\n");
    stream.write_all(first.as_bytes()).expect("sent");
    assert_eq!(status(&read_response(&mut stream)), 200);
    let second = format!("GET /{}", "a".repeat(300_000));
    stream.write_all(second.as_bytes()).expect("sent");
    let response = rest(&mut stream);
    assert_eq!(status(&response), 414, "{response:?}");
}

#[test]
fn a_head_that_is_too_long_or_has_too_many_fields_is_431() {
    let long = "a".repeat(300_000);
    check(&format!("{GET}x: {long}\r\n\r\n"), 431);
    let long = "a".repeat(2_000_000);
    check(&format!("{GET}x: {long}"), 431);
    let many = "x: 1\r\n".repeat(101);
    check(&format!("{GET}{many}\r\n"), 431);
}

#[test]
fn a_malformed_head_is_400() {
    for head in [
        "nonsense\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n".to_owned(),
        "GET /\u{1} HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!("{GET}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        format!("{GET}Content-Length: x\r\n\r\n"),
        format!("{GET}Content-Length: -1\r\n\r\n"),
        format!("{GET}Accept : */*\r\n\r\n"),
        format!("{GET}Accept: a,\r\n b\r\n\r\n"),
        format!("{GET}no colon\r\n\r\n"),
        format!("{GET}: no name\r\n\r\n"),
        format!("{GET}Transfer-Encoding: gzip\r\n\r\n"),
    ] {
        check(&head, 400);
    }
}

#[test]
fn a_host_that_is_missing_given_twice_or_bad_is_400() {
    for head in [
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
        "GET /healthz HTTP/1.1\r\nHost: \r\n",
        "GET /healthz HTTP/1.1\r\nHost: a b\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost:x\r\n",
        "GET /restconf/data HTTP/1.1\r\n",
        "GET /stats/keys HTTP/1.1\r\n",
    ] {
        check(&format!("{head}Connection: close\r\n\r\n"), 400);
    }
}

/// Bytes after a request do not delay its response.
#[test]
fn bytes_after_a_request_do_not_delay_its_response() {
    let server = start(Limits::default());
    for behind in [
        "\r\n",
        "\r\n\r\n",
        "G",
        "GET /healthz HT",
        "GET /healthz HTTP/1.1\r\nHo",
    ] {
        let mut stream = connect(&server);
        let request = format!("{GET}\r\n{behind}");
        stream.write_all(request.as_bytes()).expect("sent");
        let first = read_response(&mut stream);
        assert_eq!(status(&first), 200, "{behind:?}");
        assert!(first.ends_with("ok\n"), "{first}");
    }
}

#[test]
fn bytes_after_the_last_request_do_not_lose_its_response() {
    let server = start(Limits::default());
    for behind in ["x", "\r\n", GET, &"x".repeat(1_000_000)] {
        let request = format!("{GET}Connection: close\r\n\r\n{behind}");
        let response = exchange(&server, request.as_bytes());
        assert_eq!(status(&response), 200, "{:?}", &behind[..1]);
        assert!(response.ends_with("ok\n"), "{response}");
    }
}

#[test]
fn requests_that_are_sent_at_once_are_answered_in_order() {
    let server = start(Limits::default());
    let mut stream = connect(&server);
    let last = format!("{GET}Connection: close\r\n\r\n");
    let requests = format!("{GET}\r\n").repeat(40) + &last;
    stream.write_all(requests.as_bytes()).expect("sent");
    assert_eq!(rest(&mut stream).matches("HTTP/1.1 200 OK").count(), 41);
}

#[test]
fn a_half_closed_connection_is_answered_and_closed() {
    let server = start(Limits::default());
    let body = write();
    let post = format!(
        "POST /stats/track HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for request in [format!("{GET}\r\n"), post] {
        let mut stream = connect(&server);
        stream.write_all(request.as_bytes()).expect("sent");
        stream
            .shutdown(Shutdown::Write)
            .expect("the half is closed");
        let response = rest(&mut stream);
        assert_eq!(status(&response) / 100, 2, "{request} -> {response}");
    }
}
