//! Documents that are too large for memory, in both directions.

use std::io::Read;
use std::io::Write;
use std::net::TcpStream;

use espalier_protocols::restconf::RestconfConfig;

use crate::support::{Server, XML, check_json, error_tag};

const ENTRIES: usize = 60_000;

fn document() -> String {
    let mut text = String::from(r#"{"ietf-restconf:data":{"garden:keyed":["#);
    for index in 0..ENTRIES {
        let comma = if index == 0 { "" } else { "," };
        text.push_str(&format!(
            r#"{comma}{{"k":"{index:08}","v":"some value of {index}"}}"#
        ));
    }
    text.push_str("]}}");
    text
}

/// A document that is loaded as a stream is streamed back unchanged, in JSON and (through XML) again.
#[test]
fn a_large_datastore_is_loaded_and_read_back() {
    let server = Server::start();
    let document = document();
    let put = server.json("PUT", "", &document);
    assert_eq!(put.status, 201, "{put:?}");
    let response = server.get("");
    assert_eq!(response.header("content-length"), "");
    check_json(&response, &document);
    let head = server.send("HEAD", "/restconf/data", &[], "");
    assert_eq!(
        (head.status, head.header("etag")),
        (200, response.header("etag"))
    );
    let xml = server.get_xml("").body;
    assert_eq!(xml.matches("<keyed").count(), ENTRIES);
    let other = Server::start();
    assert_eq!(other.xml("PUT", "", &xml).status, 201);
    assert_eq!(
        other
            .send("GET", "/restconf/data", &[("accept", XML)], "")
            .body,
        xml
    );
}

#[test]
fn a_broken_large_document_changes_nothing() {
    let server = Server::start();
    server.put("/garden:keyed=a", r#"{"garden:keyed":[{"k":"a"}]}"#);
    let document = document().replace(r#""k":"00059000""#, r#""k":"00000000""#);
    let put = server.json("PUT", "", &document);
    assert_eq!(put.status, 400, "{}", &put.body[..put.body.len().min(500)]);
    check_json(
        &server.get("/garden:keyed"),
        r#"{"garden:keyed":[{"k":"a"}]}"#,
    );
}

#[test]
fn a_large_post_creates_one_resource() {
    let server = Server::start();
    let body = format!(
        r#"{{"garden:keyed":[{{"v":"{}","k":"a/b"}}]}}"#,
        "x".repeat(2 << 20)
    );
    let response = server.json("POST", "", &body);
    assert_eq!(response.status, 201, "{response:?}");
    assert_eq!(
        response.header("location"),
        "/restconf/data/garden:keyed=a%2Fb"
    );
    assert_eq!(server.json("POST", "", &body).status, 409);
}

/// A body that is shorter than its declared length is not stored.
#[test]
fn a_truncated_document_changes_nothing() {
    let server = Server::start();
    let document = document();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "PUT /restconf/data HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yang-data+json\r\n\
         Content-Length: {}\r\n\r\n",
        document.len() + 10
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(document.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    assert!(
        !response.starts_with(b"HTTP/1.1 204"),
        "{}",
        String::from_utf8_lossy(&response)
    );
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

/// A client that disconnects during a response releases its resources.
#[test]
fn clients_may_disconnect() {
    let server = Server::start();
    assert_eq!(server.json("PUT", "", &document()).status, 201);
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .write_all(b"GET /restconf/data HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let mut start = [0; 1000];
        stream.read_exact(&mut start).unwrap();
    }
    check_json(
        &server.get("/garden:keyed=00000001/k"),
        r#"{"garden:k":"00000001"}"#,
    );
    assert_eq!(server.get("").status, 200);
}

/// Shutdown closes idle connections and completes responses in progress.
#[test]
fn shutdown_is_graceful() {
    let server = Server::start();
    assert_eq!(server.json("PUT", "", &document()).status, 201);
    let mut idle = TcpStream::connect(server.address).unwrap();
    let mut busy = TcpStream::connect(server.address).unwrap();
    busy.write_all(b"GET /restconf/data HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut response = vec![0; 1000];
    busy.read_exact(&mut response).unwrap();
    let rest = std::thread::spawn(move || {
        busy.read_to_end(&mut response).unwrap();
        response
    });
    server.shut_down();
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
    assert!(rest.join().unwrap().ends_with(b"\r\n0\r\n\r\n"));
}

/// A patch that is too large for memory is merged as a stream, unless it contains operations.
#[test]
fn a_large_patch_is_merged_or_rejected() {
    let mut config = RestconfConfig::default();
    config.limits.edit_bytes_max = 1000;
    let server = Server::with(config, None);
    server.put("/garden:keyed=a", r#"{"garden:keyed":[{"k":"a"}]}"#);
    let document = document();
    assert_eq!(server.json("PATCH", "", &document).status, 204);
    assert_eq!(server.get("/garden:keyed=a").status, 200);
    assert_eq!(server.get("/garden:keyed=00000001").status, 200);
    let deleting = document.replace(
        r#"{"k":"00059000""#,
        r#"{"@":{"ietf-netconf:operation":"delete"},"k":"00059000""#,
    );
    let refused = server.json("PATCH", "", &deleting);
    assert_eq!(
        (refused.status, error_tag(&refused).as_str()),
        (400, "unknown-attribute")
    );
    assert_eq!(server.get("/garden:keyed=00059000").status, 200);
}
