//! Access control of a server: write requests from other sites, clients, hosts, and checks of every route below
//! `/espalier`.

use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};

/// Headers that a page of another site can send without a CORS preflight, and no headers.
const FORGEABLE: [&[(&str, &str)]; 4] = [
    &[],
    &[("content-type", "text/plain")],
    &[("content-type", "application/x-www-form-urlencoded")],
    &[("content-type", "multipart/form-data; boundary=x")],
];

const JSON: (&str, &str) = ("content-type", "application/json");

/// The method and path of every route below `/espalier`.
fn routes(server: &Server) -> Vec<(String, String)> {
    let described = server.request_with("GET", "/openapi/espalier.json", &[], None);
    let described: serde_json::Value = serde_json::from_str(&described.body).expect("JSON");
    let paths = described["paths"].as_object().expect("paths");
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(|method| (method.to_uppercase(), path.clone()))
    });
    let routes: Vec<_> = routes.collect();
    assert!(routes.len() >= 9, "{routes:?}");
    routes
}

#[test]
fn every_route_rejects_cross_site_requests() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    let data = server.request("GET", "/restconf/data", None).body;
    for (method, path) in routes(&server) {
        let body = (method == "POST").then_some("{}");
        for (header, expected) in [
            (("host", "evil.example"), 421),
            (("origin", "https://evil.example"), 403),
            (("origin", "null"), 403),
        ] {
            let answer = server.request_with(&method, &path, &[JSON, header], body);
            assert_eq!(answer.status, expected, "{method} {path} {header:?}");
            assert!(answer.body.contains("ietf-restconf:errors"), "{answer:?}");
        }
        if method == "GET" {
            continue;
        }
        for headers in FORGEABLE {
            let answer = server.request_with(&method, &path, headers, body);
            assert_eq!(answer.status, 415, "{method} {path} {headers:?}");
            assert!(answer.body.contains("ietf-restconf:errors"), "{answer:?}");
        }
    }
    // Regression: a cross-site form could reduce the retention, and another could roll back.
    let form = [("content-type", "text/plain")];
    let retention = r#"{"versions":1,"x":"="}"#;
    let answer = server.request_with("POST", "/espalier/retention", &form, Some(retention));
    assert_eq!(answer.status, 415);
    assert_eq!(server.request("GET", "/restconf/data", None).body, data);
}

#[test]
fn unknown_members_are_rejected() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    for (path, body) in [
        ("/espalier/retention", r#"{"versions":1,"x":1}"#),
        ("/espalier/retention", r#"{"versions":1,"age-ms":1}"#),
        (
            "/espalier/rollback",
            r#"{"version":0,"author":"","comment":"","x":1}"#,
        ),
        (
            "/espalier/datastores",
            r#"{"datastore":"running","act":"locks","x":1}"#,
        ),
        (
            "/espalier/datastores",
            r#"{"datastore":"running","act":{"lock":{"paths":[],"x":1}}}"#,
        ),
    ] {
        let answer = server.request_with("POST", path, &[JSON], Some(body));
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.body.contains("unknown field"), "{answer:?}");
    }
    let versions = server.request_with("GET", "/espalier/retention", &[], None);
    assert!(!versions.body.contains("\"versions\":1,"), "{versions:?}");
}

#[test]
fn address_beyond_loopback_requires_client_authentication() {
    let (sandbox, access) = store();
    let serve = |more: &[&str]| sandbox.run(&[&["serve"], more, &access[..]].concat());
    for address in ["0.0.0.0:0", "[::]:0"] {
        let output = serve(&["--listen", address]).failed(2);
        for word in ["--client-ca", "--insecure-no-authentication"] {
            assert!(output.contains(word), "{output}");
        }
    }
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    sandbox.write("cert.pem", made.cert.pem());
    sandbox.write("key.pem", made.signing_key.serialize_pem());
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let output = serve(&[&tls[..], &["--listen", "0.0.0.0:0"]].concat()).failed(2);
    assert!(output.contains("--client-ca"), "{output}");
    let output = serve(&["--client-ca", "cert.pem"]).failed(2);
    assert!(output.contains("--tls-cert"), "{output}");
    sandbox.write("empty.pem", "");
    let output = serve(&[&tls[..], &["--client-ca", "empty.pem"]].concat()).failed(2);
    assert!(output.contains("empty.pem"), "{output}");
}

#[test]
fn serving_without_authentication_logs_a_warning() {
    let (sandbox, access) = store();
    let listen = [
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--insecure-no-authentication",
        "--json",
    ];
    let mut child = sandbox
        .command(&[&listen, &access[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    let stderr = child.stderr.take().expect("standard error");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let warned = lines.find(|line| {
        let line = line.as_deref().unwrap_or_default();
        line.contains("WARN") && line.contains("--insecure-no-authentication")
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(warned.is_some());
}

#[test]
fn only_clients_with_a_certificate_are_served() {
    let (sandbox, access) = store();
    for name in ["server", "client"] {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let made = made.expect("a certificate");
        sandbox.write(&format!("{name}.pem"), made.cert.pem());
        sandbox.write(&format!("{name}-key.pem"), made.signing_key.serialize_pem());
    }
    let tls = [
        "--tls-cert",
        "server.pem",
        "--tls-key",
        "server-key.pem",
        "--client-ca",
        "client.pem",
    ];
    let server = sandbox.serve(&[&tls, &access[..]].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    let direct = sandbox.run(&[&["export"], &access[..]].concat()).ok();
    let export_over_tls = ["export", "--server", &url, "--server-ca", "server.pem"];
    let shown = [
        "--client-cert",
        "client.pem",
        "--client-key",
        "client-key.pem",
    ];
    assert_eq!(
        sandbox.run(&[&export_over_tls, &shown[..]].concat()).ok(),
        direct
    );
    sandbox.run(&export_over_tls).failed(1);
    let other = [
        "--client-cert",
        "server.pem",
        "--client-key",
        "server-key.pem",
    ];
    sandbox
        .run(&[&export_over_tls, &other[..]].concat())
        .failed(1);
    let half = sandbox.run(&[&export_over_tls[..], &["--client-cert", "client.pem"]].concat());
    assert!(half.failed(2).contains("--client-key"));
}

/// Hosts can be allowed by flag, environment or file.
#[test]
fn hosts_are_allowed_by_flag_environment_or_file() {
    let (sandbox, access) = store();
    let rejected = sandbox.run(&[&["serve", "--allowed-host", "a:1"], &access[..]].concat());
    assert!(rejected.failed(2).contains("without a port"));
    sandbox.write("espalier.toml", "allowed-host = [\"file.example\"]\n");
    let status = |server: &Server, host: &str| {
        server
            .request_with("GET", "/restconf/data", &[("host", host)], None)
            .status
    };
    let server = sandbox.serve(&access);
    assert_eq!(status(&server, "file.example"), 200);
    assert_eq!(status(&server, "localhost"), 200);
    assert_eq!(status(&server, "flag.example"), 421);
    drop(server);
    let flags = [
        "--allowed-host",
        "flag.example",
        "--allowed-host",
        "*.below.example",
    ];
    let server = sandbox.serve(&[&flags, &access[..]].concat());
    for host in ["flag.example:8080", "x.below.example"] {
        assert_eq!(status(&server, host), 200, "{host}");
    }
    assert_eq!(status(&server, "file.example"), 421);
    let origin = [JSON, ("origin", "https://flag.example")];
    assert_eq!(
        server.request_with("GET", "/healthz", &origin, None).status,
        200
    );
}

/// Half a request line, and half a body, do not delay SIGTERM.
#[test]
fn stalled_clients_do_not_delay_shutdown() {
    let (sandbox, access): (Sandbox, _) = store();
    let server = sandbox.serve(&access);
    let address = server.url.trim_start_matches("http://").to_owned();
    let stop = |output: &str| {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.write_all(output.as_bytes()).expect("sent");
        stream
    };
    let body = "POST /espalier/rollback HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let stopped = ["", "GET /resto", "PRI * HT", body].map(stop);
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    assert_eq!(server.terminate(), Some(0));
    // Running requests have 20 s to finish.
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    drop(stopped);
}

#[test]
fn unwritable_spill_folder_is_reported_at_start() {
    let sandbox = Sandbox::new();
    let with_access = ["serve", "--store", "memory:", "--spill-dir", "nowhere"];
    let error = sandbox.run(&with_access).failed(2);
    assert!(
        error.contains("nowhere") && error.contains("--spill-dir"),
        "{error}"
    );
}
