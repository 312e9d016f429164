//! The checks on every route of every front end: a host of this server, no foreign origin, and the media
//! type of requests that change something. The routes are taken from the OpenAPI descriptions, so new ones
//! are tested automatically.

use espalier_protocols::server::Limits;

use crate::served::Server;
use crate::support::start;

/// The content types that a page of any site can send without a CORS preflight, and no content type.
const FORGEABLE: [&[(&str, &str)]; 4] = [
    &[],
    &[("content-type", "text/plain")],
    &[("content-type", "application/x-www-form-urlencoded")],
    &[("content-type", "multipart/form-data; boundary=x")],
];

/// The method and path of every described route.
fn routes(server: &Server) -> Vec<(String, String)> {
    let mut routes = Vec::new();
    for description in ["/openapi/stats.json", "/openapi/documents.json"] {
        let described = server.get(description).with(200).json();
        for (path, methods) in described["paths"].as_object().expect("paths") {
            let path = path.replace("{collection}", "cars").replace("{key}", "1");
            let path = path.replace("{index}", "none");
            for method in methods.as_object().expect("methods").keys() {
                routes.push((method.to_uppercase(), path.clone()));
            }
        }
        routes.push(("GET".to_owned(), description.to_owned()));
    }
    for (method, path) in [
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/nowhere"),
        ("GET", "/restconf"),
        ("GET", "/.well-known/host-meta"),
        ("GET", "/restconf/data"),
        ("PUT", "/restconf/data"),
        ("PATCH", "/restconf/data"),
        ("POST", "/restconf/data"),
        ("PUT", "/restconf/data/garden:garden"),
        ("PATCH", "/restconf/data/garden:garden"),
        ("POST", "/restconf/data/garden:garden"),
        ("DELETE", "/restconf/data/garden:garden"),
    ] {
        routes.push((method.to_owned(), path.to_owned()));
    }
    assert!(routes.len() > 40, "{routes:?}");
    routes
}

/// The media type of errors at a path.
fn error_media(path: &str) -> &'static str {
    match path.split('/').nth(1) {
        Some("stats" | "documents" | "openapi") => "application/problem+json",
        Some("healthz" | "metrics") => "text/plain; charset=utf-8",
        _ => "application/yang-data+json",
    }
}

/// Sends a request with a JSON body, unless the method has none.
fn send(
    server: &Server,
    (method, path): &(String, String),
    headers: &[(&str, &str)],
    expected: u16,
) {
    let body = matches!(method.as_str(), "POST" | "PUT" | "PATCH").then_some("{}");
    let response = server.request(method, path, headers, body);
    let shown = format!("{method} {path} {headers:?}: {response:?}");
    assert_eq!(response.status, expected, "{shown}");
    assert_eq!(
        response.header("content-type"),
        error_media(path),
        "{shown}"
    );
    assert!(!response.body.is_empty(), "{shown}");
}

#[test]
fn every_route_rejects_foreign_hosts_and_origins() {
    let server = start(Limits::default());
    let json = ("content-type", "application/json");
    for route in routes(&server) {
        send(&server, &route, &[json, ("host", "evil.example")], 421);
        send(
            &server,
            &route,
            &[json, ("origin", "https://evil.example")],
            403,
        );
        send(&server, &route, &[json, ("origin", "null")], 403);
    }
}

#[test]
fn every_route_that_changes_something_requires_its_media_type() {
    let server = start(Limits::default());
    let mut tried = 0;
    for route in routes(&server) {
        if matches!(route.0.as_str(), "POST" | "PUT" | "PATCH") {
            tried += 1;
            for headers in FORGEABLE {
                send(&server, &route, headers, 415);
            }
        }
    }
    assert!(tried > 15, "{tried}");
}
