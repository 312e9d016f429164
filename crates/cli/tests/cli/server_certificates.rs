//! Which certificates of servers are accepted, and what is said where one is not.

use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use crate::documents::store;
use crate::guide::{block, shell};
use crate::process::{Bench, Server};

/// Writes `NAME.pem` and `NAME.key`: a certificate that signs itself, as `openssl req -x509` makes it.
fn self_signed(bench: &Bench, name: &str, host: &str, years: (i32, i32)) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    bench.write(&format!("{name}.pem"), certificate.pem());
    bench.write(&format!("{name}.key"), key.serialize_pem());
}

fn serve(bench: &Bench, access: &[&str], name: &str) -> (Server, String) {
    let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let server = bench.serve(&[&tls, access].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    (server, url)
}

/// rustls takes a certificate with CA:TRUE as an authority alone (CaUsedAsEndEntity).
#[test]
fn a_certificate_that_may_sign_others_is_accepted_as_the_servers_own() {
    let (bench, access) = store();
    for (name, host, years) in [
        ("good", "localhost", (2020, 2100)),
        ("same", "localhost", (2020, 2100)),
        ("old", "localhost", (2020, 2021)),
        ("elsewhere", "other.example", (2020, 2100)),
    ] {
        self_signed(&bench, name, host, years);
    }
    let direct = bench.run(&[&["export"], &access[..]].concat()).ok();
    let export =
        |url: &str, file: &str| bench.run(&["export", "--server", url, "--server-ca", file]);
    let (_server, url) = serve(&bench, &access, "good");
    assert_eq!(export(&url, "good.pem").ok(), direct);
    // Among others, too.
    let both =
        ["old", "good"].map(|name| std::fs::read_to_string(bench.path(&format!("{name}.pem"))));
    bench.write("both.pem", both.map(|text| text.expect("a file")).concat());
    assert_eq!(export(&url, "both.pem").ok(), direct);
    // Another of the same names is another.
    let told = export(&url, "same.pem").failed(1);
    assert!(told.contains("not signed by a trusted authority"), "{told}");
    for (name, problem) in [("old", "expired"), ("elsewhere", "another host")] {
        let (_server, url) = serve(&bench, &access, name);
        let told = export(&url, &format!("{name}.pem")).failed(1);
        assert!(
            told.contains(problem) && !told.contains("espalier serve"),
            "{told}"
        );
    }
    bench.write("none.pem", "no certificate");
    let told = export(&url, "none.pem").failed(2);
    assert!(
        told.contains("none.pem") && told.contains("no certificate"),
        "{told}"
    );
}

/// The commands of the guide, as printed.
#[test]
fn the_certificate_of_the_guide_is_accepted() {
    let (bench, _) = store();
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
    let told = shell(
        &bench,
        &format!("{before}& server=$!\n{waiting}{after}\nkill $server"),
    );
    assert!(told.contains("eth0"), "{told}");
}

#[test]
fn why_a_server_does_not_answer_and_what_to_do_is_told_by_cause() {
    let (bench, access) = store();
    let export = |url: &str| bench.run(&["export", "--server", url]).failed(1);
    let told = export("http://127.0.0.1:1");
    assert!(told.contains("nothing listens there"), "{told}");
    self_signed(&bench, "good", "localhost", (2020, 2100));
    let (_server, url) = serve(&bench, &access, "good");
    let told = export(&url.replace("https:", "http:"));
    assert!(told.contains("use an https:// URL"), "{told}");
    let told = export(&url);
    assert!(told.contains("--server-ca FILE"), "{told}");
    let plain = bench.serve(&access);
    let told = export(&plain.url.replace("http:", "https:"));
    assert!(
        told.contains("does not speak TLS") && told.contains("write the URL with http:"),
        "{told}"
    );
    let told = export("http://no-such-host.invalid");
    assert!(!told.contains("espalier serve"), "{told}");
    // One that accepts and closes.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let closing = std::thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            drop(stream);
        }
    });
    let told = export(&format!("http://{address}"));
    assert!(!told.contains("espalier serve"), "{told}");
    drop(closing);
}

/// A 400 of a port that serves TLS was taken for one about a version.
#[test]
fn a_version_is_not_blamed_for_the_wrong_scheme() {
    let (bench, access) = store();
    self_signed(&bench, "good", "localhost", (2020, 2100));
    let (_server, url) = serve(&bench, &access, "good");
    let plain = url.replace("https:", "http:");
    let told = bench.run(&["history", "--server", &plain]).failed(1);
    assert!(
        told.contains("https://") && !told.contains("versions that are kept"),
        "{told}"
    );
    let trusted = ["--server", &url, "--server-ca", "good.pem"];
    let told = bench.run(&[&["diff", "900", "901"], &trusted[..]].concat());
    assert!(
        told.failed(1).contains("versions that are kept"),
        "a version that is not there"
    );
}
