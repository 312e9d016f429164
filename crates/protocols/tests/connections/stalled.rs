//! Clients that stop: before a request, within its headers, within its body.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use espalier_protocols::server::Limits;

use crate::served::Server;
use crate::support::{SHORT, TIMEOUT, connect, read_response, rest, short, start, status, write};

/// The headers of a request with a body of a million bytes.
fn head(method: &str, path: &str, media: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n\
         Content-Length: 1000000\r\n\r\n"
    )
}

/// A request to each kind of route with a body.
const BODIES: [(&str, &str, &str); 9] = [
    ("PUT", "/restconf/data", "application/yang-data+json"),
    ("POST", "/restconf/data", "application/yang-data+json"),
    (
        "PATCH",
        "/restconf/data/garden:garden",
        "application/yang-data+xml",
    ),
    ("POST", "/stats/track", "application/json"),
    ("PATCH", "/stats/settings", "application/merge-patch+json"),
    (
        "POST",
        "/stats/import?format=statsd",
        "application/octet-stream",
    ),
    ("PUT", "/documents/cars/items/1", "application/json"),
    ("POST", "/documents/cars/import", "application/jsonl"),
    ("POST", "/documents/cars/repair", "application/json"),
];

#[test]
fn a_connection_with_incomplete_headers_is_closed() {
    let server = start(short());
    for start in [
        "",
        "G",
        "PRI * HT",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    ] {
        let mut stream = connect(&server);
        stream.write_all(start.as_bytes()).expect("sent");
        rest(&mut stream);
    }
}

/// Single bytes do not count as progress: the time for complete headers is limited.
#[test]
fn a_connection_with_trickling_headers_is_closed() {
    let server = start(short());
    let mut stream = connect(&server);
    let begin = Instant::now();
    let mut sent = stream.write_all(b"GET /");
    while sent.is_ok() {
        assert!(begin.elapsed() < TIMEOUT, "still open");
        std::thread::sleep(SHORT / 10);
        sent = stream.write_all(b"a");
    }
}

#[test]
fn an_idle_connection_is_closed_after_an_answer() {
    let server = start(short());
    let mut stream = connect(&server);
    let get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(get).expect("sent");
    assert_eq!(status(&read_response(&mut stream)), 200);
    assert_eq!(rest(&mut stream), "");
}

#[test]
fn a_body_that_stops_is_408_on_every_route() {
    let server = start(short());
    for (method, path, media) in BODIES {
        let mut stream = connect(&server);
        // The smallest body is limited to a kilobyte.
        let request = head(method, path, media).replace("1000000", "1000");
        stream.write_all(request.as_bytes()).expect("sent");
        stream.write_all(b"{\"a").expect("sent");
        let response = rest(&mut stream);
        assert_eq!(status(&response), 408, "{method} {path}: {response}");
        assert!(
            response.contains("no byte of the body arrived"),
            "{response}"
        );
    }
}

/// Single bytes do not keep a body open either.
#[test]
fn a_trickling_body_is_408() {
    let limits = Limits {
        body_grace: SHORT,
        body_pause_max: TIMEOUT,
        ..Limits::default()
    };
    let server = start(limits);
    for (method, path, media) in [BODIES[0], BODIES[3]] {
        let mut stream = connect(&server);
        let request = head(method, path, media);
        stream.write_all(request.as_bytes()).expect("sent");
        let mut dripping = stream.try_clone().expect("the same");
        let drip = std::thread::spawn(move || {
            while dripping.write_all(b"{").is_ok() {
                std::thread::sleep(SHORT / 10);
            }
        });
        let response = read_response(&mut stream);
        assert_eq!(status(&response), 408, "{method} {path}: {response}");
        assert!(response.contains("bytes per second"), "{response}");
        let _ = stream.shutdown(std::net::Shutdown::Both);
        drip.join().expect("the client");
    }
}

/// A body with short pauses is accepted.
#[test]
fn a_body_with_short_pauses_is_accepted() {
    let limits = Limits {
        body_pause_max: TIMEOUT,
        ..short()
    };
    let server = start(limits);
    let mut stream = connect(&server);
    let body = write();
    let request = head("POST", "/stats/track", "application/json");
    let request = request.replace("1000000", &body.len().to_string());
    stream.write_all(request.as_bytes()).expect("sent");
    for byte in body.bytes().take(4) {
        std::thread::sleep(SHORT / 2);
        stream.write_all(&[byte]).expect("sent");
    }
    stream.write_all(&body.as_bytes()[4..]).expect("sent");
    assert_eq!(status(&read_response(&mut stream)), 200);
}

/// Clients with stalled bodies of over a megabyte, on all routes that write.
fn stall_all(server: &Server) -> Vec<TcpStream> {
    let large = vec![b' '; 1_500_000];
    let stall = |(method, path, media): &(&str, &str, &str)| {
        let mut stream = connect(server);
        let request = head(method, path, media).replace("1000000", "9000000");
        stream.write_all(request.as_bytes()).expect("sent");
        // Some are rejected before they have sent everything.
        let _ = stream.write_all(&large);
        stream
    };
    BODIES.iter().map(stall).collect()
}

#[test]
fn stalled_bodies_do_not_delay_writes() {
    let server = start(Limits::default());
    let stalled = stall_all(&server);
    let yang = [("content-type", "application/yang-data+json")];
    let one = r#"{"garden:keyed":[{"k":"a"}]}"#;
    let many: String = (0..60_000).map(|n| format!(r#",{{"k":"{n}"}}"#)).collect();
    let all = format!(r#"{{"ietf-restconf:data":{{"garden:keyed":[{{"k":"a"}}{many}]}}}}"#);
    for (method, path, body) in [
        ("PUT", "/restconf/data/garden:keyed=a", one),
        ("PUT", "/restconf/data", all.as_str()),
        ("PATCH", "/restconf/data", all.as_str()),
    ] {
        let response = server.request(method, path, &yang, Some(body));
        assert!(matches!(response.status, 201 | 204), "{response:?}");
    }
    server
        .request("POST", "/stats/track", crate::served::JSON, Some(&write()))
        .with(200);
    server
        .request(
            "PUT",
            "/documents/cars/items/1",
            crate::served::JSON,
            Some("{}"),
        )
        .with(201);
    drop(stalled);
}

/// Neither silent clients nor stalled bodies delay the shutdown.
#[test]
fn stalled_clients_do_not_delay_shutdown() {
    let limits = Limits {
        shutdown_receive_timeout: SHORT,
        shutdown_timeout: 4 * TIMEOUT,
        ..Limits::default()
    };
    let server = start(limits);
    let mut streams = stall_all(&server);
    for start in ["", "PRI * HT", "GET /healthz HTTP/1.1\r\n"] {
        let mut stream = connect(&server);
        stream.write_all(start.as_bytes()).expect("sent");
        streams.push(stream);
    }
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    drop(server);
    assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
}
