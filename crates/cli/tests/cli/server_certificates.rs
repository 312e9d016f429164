//! Accepted and rejected certificates of servers, with the error messages.

use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use crate::guide::{block, shell};
use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};

/// Writes `NAME.pem` and `NAME.key`: a self-signed certificate, as created by `openssl req -x509`.
fn self_signed(sandbox: &Sandbox, name: &str, host: &str, years: (i32, i32)) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    sandbox.write(&format!("{name}.pem"), certificate.pem());
    sandbox.write(&format!("{name}.key"), key.serialize_pem());
}

fn serve(sandbox: &Sandbox, access: &[&str], name: &str) -> (Server, String) {
    let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let server = sandbox.serve(&[&tls, access].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    (server, url)
}

/// rustls accepts a certificate with CA:TRUE as an authority only (CaUsedAsEndEntity).
#[test]
fn ca_certificate_is_accepted_as_the_servers_own() {
    let (sandbox, access) = store();
    for (name, host, years) in [
        ("good", "localhost", (2020, 2100)),
        ("same", "localhost", (2020, 2100)),
        ("old", "localhost", (2020, 2021)),
        ("elsewhere", "other.example", (2020, 2100)),
    ] {
        self_signed(&sandbox, name, host, years);
    }
    let direct = sandbox.run(&[&["export"], &access[..]].concat()).ok();
    let export =
        |url: &str, file: &str| sandbox.run(&["export", "--server", url, "--server-ca", file]);
    let (_server, url) = serve(&sandbox, &access, "good");
    assert_eq!(export(&url, "good.pem").ok(), direct);
    // Also if the file has other certificates.
    let both =
        ["old", "good"].map(|name| std::fs::read_to_string(sandbox.path(&format!("{name}.pem"))));
    sandbox.write("both.pem", both.map(|text| text.expect("a file")).concat());
    assert_eq!(export(&url, "both.pem").ok(), direct);
    // Another certificate with the same names is rejected.
    let output = export(&url, "same.pem").failed(1);
    assert!(
        output.contains("not signed by a trusted authority"),
        "{output}"
    );
    for (name, problem) in [("old", "expired"), ("elsewhere", "another host")] {
        let (_server, url) = serve(&sandbox, &access, name);
        let output = export(&url, &format!("{name}.pem")).failed(1);
        assert!(
            output.contains(problem) && !output.contains("espalier serve"),
            "{output}"
        );
    }
    sandbox.write("none.pem", "no certificate");
    let output = export(&url, "none.pem").failed(2);
    assert!(
        output.contains("none.pem") && output.contains("no certificate"),
        "{output}"
    );
}

/// Runs the commands of the guide as printed.
#[test]
fn certificate_of_the_guide_is_accepted() {
    let (sandbox, _) = store();
    let made = block("certificates.md", "## One server");
    let commands: Vec<_> = made.lines().filter(|line| !line.is_empty()).collect();
    assert!(commands[0].starts_with("openssl req -x509"), "{made}");
    let script = made
        .replace("embedded:data", "embedded:store")
        .replace(
            "--listen 127.0.0.1:8443",
            "--listen 127.0.0.1:0 --json > out.json",
        )
        .replace("https://localhost:8443", "$url");
    let waiting = "while [ ! -s out.json ]; do sleep 0.05; done
        url=$(sed 's/.*\"url\":\"\\([^\"]*\\)\".*/\\1/; s/127.0.0.1/localhost/' out.json)\n";
    let (before, after) = script
        .split_once("&\n")
        .expect("a server in the background");
    let output = shell(
        &sandbox,
        &format!("{before}& server=$!\n{waiting}{after}\nkill $server"),
    );
    assert!(output.contains("eth0"), "{output}");
}

#[test]
fn connection_failures_are_reported_by_cause_with_a_hint() {
    let (sandbox, access) = store();
    let export = |url: &str| sandbox.run(&["export", "--server", url]).failed(1);
    let output = export("http://127.0.0.1:1");
    assert!(output.contains("nothing listens there"), "{output}");
    self_signed(&sandbox, "good", "localhost", (2020, 2100));
    let (_server, url) = serve(&sandbox, &access, "good");
    let output = export(&url.replace("https:", "http:"));
    assert!(output.contains("use an https:// URL"), "{output}");
    let output = export(&url);
    assert!(output.contains("--server-ca FILE"), "{output}");
    let plain = sandbox.serve(&access);
    let output = export(&plain.url.replace("http:", "https:"));
    assert!(
        output.contains("does not speak TLS") && output.contains("write the URL with http:"),
        "{output}"
    );
    let output = export("http://no-such-host.invalid");
    assert!(!output.contains("espalier serve"), "{output}");
    // A server that accepts and closes connections.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let closing = std::thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            drop(stream);
        }
    });
    let output = export(&format!("http://{address}"));
    assert!(!output.contains("espalier serve"), "{output}");
    drop(closing);
}

/// Regression: status 400 of a TLS port was taken for a missing version.
#[test]
fn wrong_scheme_is_not_reported_as_a_missing_version() {
    let (sandbox, access) = store();
    self_signed(&sandbox, "good", "localhost", (2020, 2100));
    let (_server, url) = serve(&sandbox, &access, "good");
    let plain = url.replace("https:", "http:");
    let output = sandbox.run(&["history", "--server", &plain]).failed(1);
    assert!(
        output.contains("https://") && !output.contains("versions that are kept"),
        "{output}"
    );
    let trusted = ["--server", &url, "--server-ca", "good.pem"];
    let output = sandbox.run(&[&["diff", "900", "901"], &trusted[..]].concat());
    assert!(
        output.failed(1).contains("versions that are kept"),
        "a version that is not there"
    );
}
