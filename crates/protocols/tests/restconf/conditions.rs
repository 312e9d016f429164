//! Entity tags, times, and conditional requests.

use crate::support::{JSON, Server, XML, check_error};

const KEYED: &str = "/restconf/data/garden:keyed=a";

fn server() -> Server {
    let server = Server::start();
    server.put("/garden:keyed=a", r#"{"garden:keyed":[{"k":"a","v":"1"}]}"#);
    server.put("/garden:keyed=b", r#"{"garden:keyed":[{"k":"b","v":"1"}]}"#);
    server
}

fn tag(server: &Server, path: &str, accept: &str) -> String {
    let response = server.send("GET", path, &[("accept", accept)], "");
    response.header("etag").to_owned()
}

#[test]
fn tags_change_with_the_resource_only() {
    let server = server();
    let before = tag(&server, KEYED, JSON);
    server.put("/garden:keyed=b/v", r#"{"garden:v":"2"}"#);
    assert_eq!(tag(&server, KEYED, JSON), before);
    let all = tag(&server, "/restconf/data", JSON);
    server.put("/garden:keyed=a/v", r#"{"garden:v":"2"}"#);
    assert_ne!(tag(&server, KEYED, JSON), before);
    assert_ne!(tag(&server, "/restconf/data", JSON), all);
    assert_ne!(tag(&server, KEYED, JSON), tag(&server, KEYED, XML));
}

#[test]
fn unmodified_resources_are_304() {
    let server = server();
    let tag = tag(&server, KEYED, JSON);
    let modified = server
        .send("GET", KEYED, &[], "")
        .header("last-modified")
        .to_owned();
    let table = [
        ("if-none-match", tag.as_str(), 304),
        ("if-none-match", "\"other\"", 200),
        ("if-match", tag.as_str(), 200),
        ("if-match", "\"other\"", 412),
        ("if-modified-since", modified.as_str(), 304),
        ("if-modified-since", "Sat, 01 Jan 2000 00:00:00 GMT", 200),
        ("if-unmodified-since", modified.as_str(), 200),
        ("if-unmodified-since", "Sat, 01 Jan 2000 00:00:00 GMT", 412),
    ];
    for (name, value, status) in table {
        for method in ["GET", "HEAD"] {
            let response = server.send(method, KEYED, &[(name, value)], "");
            assert_eq!(response.status, status, "{method} {name}: {value}");
            if status == 304 {
                assert_eq!(
                    (response.body.as_str(), response.header("etag")),
                    ("", tag.as_str())
                );
            }
        }
    }
    let missing = server.send(
        "GET",
        "/restconf/data/garden:keyed=z",
        &[("if-match", "*")],
        "",
    );
    check_error(&missing, 404, "invalid-value");
}

#[test]
fn writes_are_conditional() {
    let server = server();
    let body = r#"{"garden:keyed":[{"k":"a","v":"9"}]}"#;
    let tag = tag(&server, KEYED, XML);
    let put = |path: &str, name: &str, value: &str, body: &str| {
        let headers = [("content-type", JSON), (name, value)];
        server.send("PUT", path, &headers, body)
    };
    check_error(
        &put(KEYED, "if-match", "\"other\"", body),
        412,
        "operation-failed",
    );
    check_error(
        &put(KEYED, "if-none-match", "*", body),
        412,
        "operation-failed",
    );
    let past = "Sat, 01 Jan 2000 00:00:00 GMT";
    check_error(
        &put(KEYED, "if-unmodified-since", past, body),
        412,
        "operation-failed",
    );
    let first = put(KEYED, "if-match", &tag, body);
    assert_eq!(first.status, 204, "{first:?}");
    check_error(&put(KEYED, "if-match", &tag, body), 412, "operation-failed");
    let second = put(KEYED, "if-match", first.header("etag"), body);
    assert_eq!(second.status, 204);
    let absent = "/restconf/data/garden:keyed=z";
    let body = r#"{"garden:keyed":[{"k":"z"}]}"#;
    check_error(&put(absent, "if-match", "*", body), 412, "operation-failed");
    assert_eq!(put(absent, "if-none-match", "*", body).status, 201);
    let deleted = server.send("DELETE", absent, &[("if-match", "\"other\"")], "");
    check_error(&deleted, 412, "operation-failed");
    assert_eq!(
        server
            .send("DELETE", absent, &[("if-match", "*")], "")
            .status,
        204
    );
    let patch = [("content-type", JSON), ("if-match", "\"other\"")];
    let body = r#"{"garden:keyed":[{"k":"a"}]}"#;
    check_error(
        &server.send("PATCH", KEYED, &patch, body),
        412,
        "operation-failed",
    );
}

/// The conditions of a document that is loaded as a stream.
#[test]
fn loads_are_conditional() {
    let server = server();
    let body = format!(
        r#"{{"garden:garden":{{"title":"{}"}}}}"#,
        "x".repeat(2 << 20)
    );
    let headers = [("content-type", JSON), ("if-match", "\"other\"")];
    let response = server.send("PUT", "/restconf/data", &headers, &body);
    check_error(&response, 412, "operation-failed");
    assert_eq!(server.send("GET", KEYED, &[], "").status, 200);
}

/// Sixteen clients increment the same number, each only if it is unchanged.
#[test]
fn no_update_is_lost() {
    let server = server();
    server.put("/garden:keyed=a/v", r#"{"garden:v":"0"}"#);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let path = format!("{KEYED}/v");
                loop {
                    let current = server.send("GET", &path, &[], "");
                    let value: serde_json::Value = serde_json::from_str(&current.body).unwrap();
                    let value: u32 = value["garden:v"].as_str().unwrap().parse().unwrap();
                    let body = format!(r#"{{"garden:v":"{}"}}"#, value + 1);
                    let headers = [("content-type", JSON), ("if-match", current.header("etag"))];
                    match server.send("PUT", &path, &headers, &body).status {
                        204 => break,
                        status => assert_eq!(status, 412),
                    }
                }
            });
        }
    });
    assert!(
        server
            .send("GET", KEYED, &[], "")
            .body
            .contains(r#""v":"8""#)
    );
}
