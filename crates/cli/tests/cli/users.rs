//! Users, tokens and access rules of a server.

use std::io::Read;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::interfaces_data::store;
use crate::process::{Answer, Outcome, Sandbox, Server};

/// The password of all users. No output contains this text.
pub const PASSWORD: &str = "correct horse";

const INTERFACES: &str = "/restconf/data/ietf-interfaces:interfaces";

pub const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";

/// A longer time than the server takes to find a change of users by another process.
const CHANGE_MAX: Duration = Duration::from_secs(20);

pub fn add_user(sandbox: &Sandbox, arguments: &[&str]) {
    let command = [&["user", "add"], arguments, &["--store", "embedded:store"]].concat();
    sandbox.run_with(&command, PASSWORD.as_bytes(), &[]).ok();
}

/// Creates a token of `maria`.
fn create_token(sandbox: &Sandbox, options: &[&str]) -> serde_json::Value {
    let create = ["token", "create", "maria"];
    let store = ["--store", "embedded:store", "--json"];
    sandbox.run(&[&create, options, &store].concat()).json()
}

fn token_text(token: &serde_json::Value) -> String {
    token["token"].as_str().expect("a token").to_owned()
}

/// Runs a command with a password on the server.
pub fn run_as(sandbox: &Sandbox, server: &Server, user: &str, arguments: &[&str]) -> Outcome {
    let access = ["--server", &server.url, "--user", user];
    let arguments = [arguments, &access].concat();
    sandbox.run_with(&arguments, b"", &[("ESPALIER_PASSWORD", PASSWORD)])
}

fn run_with_token(sandbox: &Sandbox, server: &Server, token: &str, arguments: &[&str]) -> Outcome {
    let arguments = [arguments, &["--server", &server.url]].concat();
    sandbox.run_with(&arguments, b"", &[("ESPALIER_TOKEN", token)])
}

/// Sends a request with JSON and these headers.
pub fn send(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let json = ("content-type", "application/json");
    server.request_with(method, path, &[headers, &[json]].concat(), Some(body))
}

pub fn basic(user: &str, password: &str) -> String {
    use base64::Engine;
    let text = format!("{user}:{password}");
    let text = base64::engine::general_purpose::STANDARD.encode(text);
    format!("Basic {text}")
}

/// Waits until a request without credentials, or with those of `authorization`, gets a status.
pub fn wait_for_status(server: &Server, authorization: Option<&str>, status: u16) {
    let headers: Vec<_> = authorization
        .map(|value| ("authorization", value))
        .into_iter()
        .collect();
    let start = Instant::now();
    loop {
        let answer = send(server, "GET", INTERFACES, &headers, "");
        if answer.status == status {
            return;
        }
        assert!(
            start.elapsed() < CHANGE_MAX,
            "{answer:?}, expected {status}"
        );
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_with_users_requires_a_login() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    assert_eq!(send(&server, "GET", INTERFACES, &[], "").status, 200);
    add_user(&sandbox, &["maria", "--admin"]);
    wait_for_status(&server, None, 401);
    for (path, status) in [
        ("/healthz", 200),
        ("/metrics", 401),
        ("/stats/keys", 401),
        ("/documents", 401),
        ("/espalier/schema", 401),
        ("/", 401),
    ] {
        assert_eq!(send(&server, "GET", path, &[], "").status, status, "{path}");
    }
    let wrong = [("authorization", &*basic("maria", "wrong"))];
    assert_eq!(send(&server, "GET", INTERFACES, &wrong, "").status, 401);
    let unknown = [("authorization", &*basic("nobody", PASSWORD))];
    assert_eq!(send(&server, "GET", INTERFACES, &unknown, "").status, 401);
    let set = ["set", &*format!("{ETH0}/description"), "by maria"];
    run_as(&sandbox, &server, "maria", &set).ok();
    // The author of the commit is the user.
    let history = run_as(
        &sandbox,
        &server,
        "maria",
        &["history", "--limit", "1", "--json"],
    )
    .json();
    assert_eq!(history["author"], "maria");
    // Another user reads everything and changes nothing.
    add_user(&sandbox, &["reader"]);
    wait_for_status(&server, Some(&basic("reader", PASSWORD)), 200);
    let read = run_as(&sandbox, &server, "reader", &["get", ETH0]).ok();
    assert!(read.contains("by maria"), "{read}");
    let set = ["set", &*format!("{ETH0}/description"), "by reader"];
    let output = run_as(&sandbox, &server, "reader", &set).failed(1);
    assert!(output.contains("access denied"), "{output}");
    let delete = ["user", "delete", "reader", "--store", "embedded:store"];
    sandbox.run(&delete).ok();
    wait_for_status(&server, Some(&basic("reader", PASSWORD)), 401);
    assert!(sandbox.run(&delete).failed(1).contains("no user"));
    // Without the last user, everybody on this machine is served again.
    let last = sandbox
        .run(&["user", "delete", "maria", "--store", "embedded:store"])
        .ok();
    assert!(last.contains("no users any more"), "{last}");
    wait_for_status(&server, None, 200);
}

#[test]
fn tokens_are_created_listed_and_revoked() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    let server = sandbox.serve(&access);
    let full = create_token(&sandbox, &[]);
    let read_only = create_token(&sandbox, &["--scope", "read-only", "--name", "backup"]);
    let text = token_text;
    let get = ["get", ETH0];
    let set = ["set", &*format!("{ETH0}/description"), "by token"];
    run_with_token(&sandbox, &server, &text(&full), &set).ok();
    run_with_token(&sandbox, &server, &text(&read_only), &get).ok();
    let output = run_with_token(&sandbox, &server, &text(&read_only), &set).failed(1);
    assert!(output.contains("the token may only read"), "{output}");
    for (path, body) in [
        ("/stats/track", r#"{"metric":"m","values":{"a":1}}"#),
        ("/documents/orders/items", "{}"),
    ] {
        let bearer = format!("Bearer {}", text(&read_only));
        let answer = send(&server, "POST", path, &[("authorization", &*bearer)], body);
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    let list = sandbox
        .run(&["token", "list", "--store", "embedded:store"])
        .ok();
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains("backup") && !list.contains("esp_"), "{list}");
    let id = full["id"].as_str().expect("an id");
    sandbox
        .run(&["token", "revoke", id, "--store", "embedded:store"])
        .ok();
    run_with_token(&sandbox, &server, &text(&full), &get).failed(1);
    // A token given for its id is not repeated.
    let output = sandbox
        .run(&[
            "token",
            "revoke",
            &text(&read_only),
            "--store",
            "embedded:store",
        ])
        .failed(2);
    assert!(!output.contains(&text(&read_only)), "{output}");
    let output = sandbox
        .run(&["token", "create", "nobody", "--store", "embedded:store"])
        .failed(1);
    assert!(output.contains("user add"), "{output}");
    // The tokens of a deleted user are revoked.
    sandbox
        .run(&["user", "delete", "maria", "--store", "embedded:store"])
        .ok();
    assert_eq!(
        sandbox
            .run(&["token", "list", "--store", "embedded:store"])
            .ok(),
        ""
    );
}

#[test]
fn a_public_address_is_served_to_users_over_tls_only() {
    let (sandbox, access) = store();
    let serve = |more: &[&str]| {
        let command = ["serve", "--listen", "0.0.0.0:0"];
        sandbox.run(&[&command, more, &access[..]].concat())
    };
    let output = serve(&["--tls-self-signed", "tls"]).failed(2);
    assert!(output.contains("espalier user add"), "{output}");
    add_user(&sandbox, &["maria", "--admin"]);
    let output = serve(&[]).failed(2);
    assert!(output.contains("without TLS"), "{output}");
    let output = serve(&["--insecure-no-authentication"]).failed(2);
    assert!(output.contains("has users"), "{output}");
    let arguments = [&access[..], &["--tls-self-signed", "tls"]].concat();
    let server = sandbox.serve_at("0.0.0.0:0", &arguments, &[]);
    let port = server.url.rsplit_once(':').expect("a port").1;
    let url = format!("https://127.0.0.1:{port}");
    let get = ["get", ETH0, "--server", &url, "--server-ca", "tls/cert.pem"];
    let with_user = [&get[..], &["--user", "maria"]].concat();
    sandbox
        .run_with(&with_user, b"", &[("ESPALIER_PASSWORD", PASSWORD)])
        .ok();
    assert!(sandbox.run(&get).failed(1).contains("log in"));
    use std::os::unix::fs::PermissionsExt;
    for (file, mode) in [("tls/key.pem", 0o600), ("tls", 0o700)] {
        let metadata = std::fs::metadata(sandbox.path(file)).expect(file);
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "{file}");
    }
    // Credentials are not sent over a network in clear text.
    let output = sandbox.run_with(
        &[
            "get",
            "/",
            "--server",
            "http://192.0.2.1:1",
            "--user",
            "maria",
        ],
        b"",
        &[("ESPALIER_PASSWORD", PASSWORD)],
    );
    assert!(output.failed(2).contains("in clear text"));
}

#[test]
fn the_unix_socket_serves_the_user_of_the_server_without_a_login() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    let socket = ["--unix-socket", "socket"];
    let server = sandbox.serve(&[&access[..], &socket].concat());
    let get = ["get", ETH0, "--server", "unix:socket"];
    let over_socket = sandbox.run(&get).ok();
    assert_eq!(
        over_socket,
        run_as(&sandbox, &server, "maria", &["get", ETH0]).ok()
    );
    sandbox
        .run(&[
            "set",
            &format!("{ETH0}/description"),
            "x",
            "--server",
            "unix:socket",
        ])
        .ok();
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(sandbox.path("socket")).expect("a socket");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    // Another server does not take it, a file is not replaced, an abandoned socket is.
    let second = [&["serve", "--listen", "127.0.0.1:0"], &access[..], &socket].concat();
    assert!(sandbox.run(&second).failed(1).contains("another process"));
    sandbox.write("file", "x");
    let file = [
        &["serve", "--listen", "127.0.0.1:0", "--unix-socket", "file"],
        &access[..],
    ]
    .concat();
    assert!(sandbox.run(&file).failed(1).contains("another file"));
    server.kill();
    assert!(sandbox.run(&get).failed(1).contains("nothing listens"));
    let server = sandbox.serve(&[&access[..], &socket].concat());
    sandbox.run(&get).ok();
    assert_eq!(server.terminate(), Some(0));
    assert!(!sandbox.path("socket").exists());
}

/// A server with `maria`, who may do everything, and `clerk`, who has a few rules.
fn served_with_rules() -> (Sandbox, Server) {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    add_user(&sandbox, &["clerk", "--group", "clerks"]);
    let rules = r#"{"ietf-netconf-acm:nacm":{"read-default":"deny","rule-list":[{"name":"clerks","group":["clerks"],"rule":[
        {"name":"orders","espalier-access:collection":"orders","action":"permit"},
        {"name":"look","espalier-access:collection":"stock*","access-operations":"read","action":"permit"},
        {"name":"sales","espalier-access:statistics":"sales::*","action":"permit"},
        {"name":"interfaces","module-name":"ietf-interfaces","espalier-access:anchor":"other","action":"permit"}]}]}}"#;
    sandbox.write("rules.json", rules);
    let anchor = ["--dataspace", "espalier", "--anchor", "server"];
    let load = [&["load", "rules.json"], &access[..], &anchor].concat();
    sandbox.run(&load).ok();
    let server = sandbox.serve(&access);
    (sandbox, server)
}

/// Sends a request with JSON as a user; returns the status.
fn status_as(server: &Server, user: &str, method: &str, path: &str, body: &str) -> u16 {
    let login = basic(user, PASSWORD);
    let answer = send(server, method, path, &[("authorization", &*login)], body);
    answer.status
}

fn body_as(server: &Server, user: &str, path: &str) -> String {
    let login = basic(user, PASSWORD);
    send(server, "GET", path, &[("authorization", &*login)], "").body
}

#[test]
fn rules_apply_to_collections() {
    let (_sandbox, server) = served_with_rules();
    for name in ["orders", "stock-1", "secret"] {
        let collection = format!("/documents/{name}");
        assert_eq!(status_as(&server, "maria", "PUT", &collection, "{}"), 201);
        let items = format!("{collection}/items");
        assert_eq!(status_as(&server, "maria", "POST", &items, "{}"), 201);
    }
    for (name, read, write) in [
        ("orders", 200, 201),
        ("stock-1", 200, 403),
        ("secret", 403, 403),
        ("none", 403, 403),
    ] {
        let status =
            |method: &str, path: &str, body: &str| status_as(&server, "clerk", method, path, body);
        let items = format!("/documents/{name}/items");
        assert_eq!(status("GET", &items, ""), read, "{name}");
        assert_eq!(status("POST", &items, "{}"), write, "{name}");
        let operations = format!(
            r#"{{"operations":[{{"op":"insert","collection":"{name}","document":{{}}}}]}}"#
        );
        let expected = if write == 201 { 200 } else { 403 };
        assert_eq!(
            status("POST", "/documents", &operations),
            expected,
            "{name}"
        );
    }
    let list = body_as(&server, "clerk", "/documents");
    assert!(
        list.contains("orders") && list.contains("stock-1"),
        "{list}"
    );
    assert!(!list.contains("secret"), "{list}");
}

#[test]
fn rules_apply_to_statistics() {
    let (_sandbox, server) = served_with_rules();
    for (metric, status) in [("sales::web", 200), ("hidden", 403)] {
        let body = format!(r#"{{"metric":"{metric}","values":{{"a":1}}}}"#);
        for (user, expected) in [("maria", 200), ("clerk", status)] {
            let tracked = status_as(&server, user, "POST", "/stats/track", &body);
            assert_eq!(tracked, expected, "{user} {metric}");
        }
        let values = format!("/stats/values?metric={metric}&granularity=1h");
        assert_eq!(
            status_as(&server, "clerk", "GET", &values, ""),
            status,
            "{metric}"
        );
        let key = format!("/stats/keys?metric={metric}&label=no=such");
        let expected = if status == 200 { 404 } else { 403 };
        assert_eq!(
            status_as(&server, "clerk", "DELETE", &key, ""),
            expected,
            "{metric}"
        );
    }
    let keys = body_as(&server, "clerk", "/stats/keys");
    assert!(
        keys.contains("sales::web") && !keys.contains("hidden"),
        "{keys}"
    );
    let lines = r#"{"metric":"sales::web","values":{"a":1}}
{"metric":"hidden","values":{"a":1}}"#;
    let headers = [
        ("authorization", &*basic("clerk", PASSWORD)),
        ("content-type", "application/jsonl"),
    ];
    let imported = server.request_with("POST", "/stats/import?format=jsonl", &headers, Some(lines));
    let report: serde_json::Value = serde_json::from_str(&imported.body).expect("JSON");
    let (writes, line) = (&report["writes"], &report["lines"][0]["line"]);
    assert_eq!((writes, line), (&1.into(), &2.into()), "{report}");
    assert_eq!(
        status_as(&server, "clerk", "PATCH", "/stats/settings", "{}"),
        403
    );
}

#[test]
fn rules_of_other_anchors_do_not_apply_and_decisions_are_explained() {
    let (sandbox, server) = served_with_rules();
    assert_eq!(status_as(&server, "clerk", "GET", INTERFACES, ""), 404);
    let explain = |user: &str, path: &str, operation: &str| {
        let command = ["access", "explain", user, path, operation, "--json"];
        let store = ["--store", "embedded:store"];
        sandbox.run(&[&command[..], &store].concat()).json()
    };
    let explained = explain("clerk", ETH0, "read");
    assert_eq!(explained["permitted"], false, "{explained}");
    assert_eq!(explained["reason"], "no rule matches: read-default");
    let explained = explain("maria", ETH0, "update");
    assert_eq!(explained["permitted"], true, "{explained}");
    assert_eq!(explained["rule"], "permit-all", "{explained}");
    let explained = explain("clerk", "ietf-netconf:kill-session", "exec");
    assert_eq!(explained["permitted"], false, "{explained}");
    // Operations of the server are marked in its own modules.
    let explained = explain("maria", "ietf-factory-default:factory-reset", "exec");
    assert_eq!(explained["rule"], "permit-all", "{explained}");
    let explained = explain("clerk", "ietf-factory-default:factory-reset", "exec");
    assert_eq!(explained["permitted"], false, "{explained}");
    assert_eq!(explained["user-is-configured"], true, "{explained}");
    let explained = explain("stranger", "ietf-netconf:close-session", "exec");
    assert_eq!(explained["permitted"], true, "{explained}");
    assert_eq!(explained["user-is-configured"], false, "{explained}");
    let unknown = ["access", "explain", "clerk", "ietf-netconf:nothing", "exec"];
    let unknown = sandbox.run(&[&unknown[..], &["--store", "embedded:store"]].concat());
    assert!(unknown.failed(2).contains("nothing"));
    // The state of the server is data of every anchor.
    let state = "/ietf-netconf-monitoring:netconf-state/sessions";
    let explained = explain("maria", state, "read");
    assert_eq!(explained["rule"], "permit-all", "{explained}");
    assert_eq!(explain("clerk", state, "read")["permitted"], false);
}

#[test]
fn decisions_on_another_anchor_are_explained_with_the_rules_of_the_served_one() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    let rules = r#"{"ietf-netconf-acm:nacm":{"read-default":"deny"}}"#;
    sandbox.write("rules.json", rules);
    let yang = ["--yang", "ietf-netconf-acm", "--anchor", "with-rules"];
    let load = [&["load", "rules.json"], &access[..], &yang].concat();
    sandbox.run(&load).ok();
    let explain = |of: &[&str], anchor: &str| {
        let command = ["access", "explain", "clerk", ETH0, "read", "--json"];
        let served = ["--anchor", anchor, "--of-anchor"];
        sandbox
            .run(&[&command[..], &access, &served, of].concat())
            .json()["permitted"]
            .clone()
    };
    assert_eq!(explain(&["default"], "with-rules"), false);
    assert_eq!(explain(&["default"], "default"), true);
}

#[cfg(not(feature = "pam"))]
#[test]
fn a_program_without_pam_refuses_its_option() {
    let (sandbox, access) = store();
    let serve = [&["serve", "--pam-service", "login"], &access[..]].concat();
    let error = sandbox.run(&serve).failed(2);
    assert!(error.contains("built without PAM"), "{error}");
    assert!(error.contains("libpam0g-dev"), "{error}");
}

/// Collects the content of all files below a folder.
fn contents(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else if path.is_file() {
            let mut file = std::fs::File::open(&path).expect("a file");
            file.read_to_end(&mut all).expect("its content");
        }
    }
    all
}

#[test]
fn passwords_and_tokens_are_stored_and_printed_nowhere() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    let token = token_text(&create_token(&sandbox, &[]));
    let secret = token.rsplit_once('_').expect("a secret").1;
    let mut child = sandbox
        .command(
            &[
                &[
                    "serve",
                    "--listen",
                    "127.0.0.1:0",
                    "--json",
                    "--log",
                    "trace",
                ],
                &access[..],
            ]
            .concat(),
        )
        .stdout(std::process::Stdio::piped())
        .stderr(std::fs::File::create(sandbox.path("log")).expect("a file"))
        .spawn()
        .expect("the binary");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("standard output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("a line");
    let url = serde_json::from_str::<serde_json::Value>(&line).expect("JSON")["url"].clone();
    let url = url.as_str().expect("a URL");
    let run = |variable: (&str, &str), more: &[&str]| {
        let arguments = ["get", ETH0, "--server", url, "--log", "trace"];
        sandbox.run_with(&[&arguments, more].concat(), b"", &[variable])
    };
    let outcomes = [
        run(("ESPALIER_PASSWORD", PASSWORD), &["--user", "maria"]),
        run(("ESPALIER_PASSWORD", PASSWORD), &["--user", "nobody"]),
        run(("ESPALIER_TOKEN", &token), &[]),
        run(("ESPALIER_TOKEN", &token[..token.len() - 1]), &[]),
    ];
    let statuses = outcomes.each_ref().map(|outcome| outcome.status);
    assert_eq!(statuses, [0, 1, 0, 1], "{outcomes:?}");
    sandbox.run(&["backup", "embedded:store", "backup"]).ok();
    let _ = child.kill();
    let _ = child.wait();
    let printed = format!("{outcomes:?}");
    let files = contents(&sandbox.path(""));
    for secret in [
        PASSWORD,
        secret,
        &basic("maria", PASSWORD)["Basic ".len()..],
    ] {
        assert!(!printed.contains(secret), "{printed}");
        let mut windows = files.windows(secret.len());
        assert!(
            !windows.any(|part| part == secret.as_bytes()),
            "a file has {secret}"
        );
    }
}

#[test]
fn hidden_nodes_show_neither_in_entity_tags_nor_in_locks() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    add_user(&sandbox, &["reader", "--group", "readers"]);
    let path = "/ietf-interfaces:interfaces/ietf-interfaces:interface/ietf-interfaces:description";
    let rules = serde_json::json!({"ietf-netconf-acm:nacm": {"rule-list": [{
        "name": "readers", "group": ["readers"],
        "rule": [{"name": "hide", "path": path, "action": "deny"}],
    }]}});
    let rules = sandbox.write("rules.json", rules.to_string());
    let anchor = ["--dataspace", "espalier", "--anchor", "server"];
    let load = [&["load", &rules, "--store", "embedded:store"], &anchor[..]].concat();
    sandbox.run(&load).ok();
    let server = sandbox.serve(&access);
    let leaf = format!("{INTERFACES}/interface=eth0/type");
    let tag_of = |user: &str| {
        let headers = [("authorization", &*basic(user, PASSWORD))];
        let answer = send(&server, "GET", &leaf, &headers, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.headers.contains_key("etag")
    };
    assert!(tag_of("maria"));
    // The tag of a leaf is that of its entry, which changes with the hidden leaf.
    assert!(!tag_of("reader"));
    // A lock on an entry is shown; that the description is hidden does not matter.
    let session = ["--session", "s"];
    run_as(
        &sandbox,
        &server,
        "maria",
        &[&["lock", ETH0], &session[..]].concat(),
    )
    .ok();
    let locks = run_as(&sandbox, &server, "reader", &["locks", "--json"]).json();
    assert_eq!(
        locks["partial"][0]["paths"].as_array().map(Vec::len),
        Some(1)
    );
    let update = ["update", "--prefer", "running"];
    let denied = run_as(&sandbox, &server, "reader", &update).failed(1);
    assert!(denied.contains("access denied"), "{denied}");
}
