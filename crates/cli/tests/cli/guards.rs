//! Who may write to a server, from where, and what every route below `/espalier` demands.

use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::documents::store;
use crate::process::{Answer, Bench, Server};

/// What a page of any site can send without asking the browser whether it may, and nothing at all.
const FORGEABLE: [&[(&str, &str)]; 4] = [
    &[],
    &[("content-type", "text/plain")],
    &[("content-type", "application/x-www-form-urlencoded")],
    &[("content-type", "multipart/form-data; boundary=x")],
];

const JSON: (&str, &str) = ("content-type", "application/json");

/// A request with these headers alone.
fn send(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Answer {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.build().into();
    let mut request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = match body {
        Some(body) => agent.run(request.body(body.to_owned()).expect("a request")),
        None => agent.run(request.body(()).expect("a request")),
    };
    let mut answer = answer.expect("an answer");
    Answer {
        status: answer.status().as_u16(),
        body: answer.body_mut().read_to_string().expect("text"),
    }
}

/// Method and path of every route below `/espalier`.
fn routes(server: &Server) -> Vec<(String, String)> {
    let described = send(server, "GET", "/openapi/espalier.json", &[], None);
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
fn every_route_refuses_what_a_page_of_another_site_can_send() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    let data = server.request("GET", "/restconf/data", None).body;
    for (method, path) in routes(&server) {
        let body = (method == "POST").then_some("{}");
        for (header, expected) in [
            (("host", "evil.example"), 421),
            (("origin", "https://evil.example"), 403),
            (("origin", "null"), 403),
        ] {
            let answer = send(&server, &method, &path, &[JSON, header], body);
            assert_eq!(answer.status, expected, "{method} {path} {header:?}");
            assert!(answer.body.contains("ietf-restconf:errors"), "{answer:?}");
        }
        if method == "GET" {
            continue;
        }
        for headers in FORGEABLE {
            let answer = send(&server, &method, &path, headers, body);
            assert_eq!(answer.status, 415, "{method} {path} {headers:?}");
            assert!(answer.body.contains("ietf-restconf:errors"), "{answer:?}");
        }
    }
    // What the report of a stranger had: a form that forgets the history, and one that goes back.
    let form = [("content-type", "text/plain")];
    let retention = r#"{"versions":1,"x":"="}"#;
    let answer = send(
        &server,
        "POST",
        "/espalier/retention",
        &form,
        Some(retention),
    );
    assert_eq!(answer.status, 415);
    assert_eq!(server.request("GET", "/restconf/data", None).body, data);
}

#[test]
fn members_that_are_not_known_are_refused() {
    let (bench, access) = store();
    let server = bench.serve(&access);
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
        let answer = send(&server, "POST", path, &[JSON], Some(body));
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.body.contains("unknown field"), "{answer:?}");
    }
    let versions = send(&server, "GET", "/espalier/retention", &[], None);
    assert!(!versions.body.contains("\"versions\":1,"), "{versions:?}");
}

#[test]
fn an_address_beyond_loopback_needs_clients_that_prove_who_they_are() {
    let (bench, access) = store();
    let serve = |more: &[&str]| bench.run(&[&["serve"], more, &access[..]].concat());
    for address in ["0.0.0.0:0", "[::]:0"] {
        let said = serve(&["--listen", address]).failed(2);
        for word in ["--client-ca", "--insecure-no-authentication"] {
            assert!(said.contains(word), "{said}");
        }
    }
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    bench.write("cert.pem", made.cert.pem());
    bench.write("key.pem", made.signing_key.serialize_pem());
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let said = serve(&[&tls[..], &["--listen", "0.0.0.0:0"]].concat()).failed(2);
    assert!(said.contains("--client-ca"), "{said}");
    let said = serve(&["--client-ca", "cert.pem"]).failed(2);
    assert!(said.contains("--tls-cert"), "{said}");
    bench.write("empty.pem", "");
    let said = serve(&[&tls[..], &["--client-ca", "empty.pem"]].concat()).failed(2);
    assert!(said.contains("empty.pem"), "{said}");
}

#[test]
fn serving_everybody_is_warned_of() {
    let (bench, access) = store();
    let listen = [
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--insecure-no-authentication",
        "--json",
    ];
    let mut child = bench
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
fn clients_with_a_certificate_are_served_and_others_are_not() {
    let (bench, access) = store();
    for name in ["server", "client"] {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let made = made.expect("a certificate");
        bench.write(&format!("{name}.pem"), made.cert.pem());
        bench.write(&format!("{name}-key.pem"), made.signing_key.serialize_pem());
    }
    let tls = [
        "--tls-cert",
        "server.pem",
        "--tls-key",
        "server-key.pem",
        "--client-ca",
        "client.pem",
    ];
    let server = bench.serve(&[&tls, &access[..]].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    let direct = bench.run(&[&["export"], &access[..]].concat()).ok();
    let through = ["export", "--server", &url, "--server-ca", "server.pem"];
    let shown = [
        "--client-cert",
        "client.pem",
        "--client-key",
        "client-key.pem",
    ];
    assert_eq!(bench.run(&[&through, &shown[..]].concat()).ok(), direct);
    bench.run(&through).failed(1);
    let other = [
        "--client-cert",
        "server.pem",
        "--client-key",
        "server-key.pem",
    ];
    bench.run(&[&through, &other[..]].concat()).failed(1);
    let half = bench.run(&[&through[..], &["--client-cert", "client.pem"]].concat());
    assert!(half.failed(2).contains("--client-key"));
}

/// A host that is allowed by flag, environment or file.
#[test]
fn hosts_are_allowed_by_every_kind_of_setting() {
    let (bench, access) = store();
    let refused = bench.run(&[&["serve", "--allowed-host", "a:1"], &access[..]].concat());
    assert!(refused.failed(2).contains("without a port"));
    bench.write("espalier.toml", "allowed-host = [\"file.example\"]\n");
    let status = |server: &Server, host: &str| {
        send(server, "GET", "/restconf/data", &[("host", host)], None).status
    };
    let server = bench.serve(&access);
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
    let server = bench.serve(&[&flags, &access[..]].concat());
    for host in ["flag.example:8080", "x.below.example"] {
        assert_eq!(status(&server, host), 200, "{host}");
    }
    assert_eq!(status(&server, "file.example"), 421);
    let origin = [JSON, ("origin", "https://flag.example")];
    assert_eq!(send(&server, "GET", "/healthz", &origin, None).status, 200);
}

/// Half a request line, and half a body, do not delay SIGTERM.
#[test]
fn clients_that_stopped_do_not_delay_a_signal() {
    let (bench, access): (Bench, _) = store();
    let server = bench.serve(&access);
    let address = server.url.trim_start_matches("http://").to_owned();
    let stop = |said: &str| {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.write_all(said.as_bytes()).expect("sent");
        stream
    };
    let body = "POST /espalier/rollback HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let stopped = ["", "GET /resto", "PRI * HT", body].map(stop);
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    assert_eq!(server.terminate(), Some(0));
    // Requests under way have 20 s.
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    drop(stopped);
}

#[test]
fn a_folder_for_bodies_that_takes_no_files_is_told_at_the_start() {
    let bench = Bench::new();
    let with = ["serve", "--store", "memory:", "--spill-dir", "nowhere"];
    let error = bench.run(&with).failed(2);
    assert!(
        error.contains("nowhere") && error.contains("--spill-dir"),
        "{error}"
    );
}
