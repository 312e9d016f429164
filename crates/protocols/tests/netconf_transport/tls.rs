//! NETCONF over TLS, with `openssl s_client`.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use espalier_protocols::netconf::transport::TransportLimits;
use serde_json::json;

use crate::pki::{OpenSsl, Pki};
use crate::support::{SOON, Server, audit, configure, limits};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn server(limits: TransportLimits) -> (Server, Pki) {
    let folder = tempfile::tempdir().unwrap();
    let pki = Pki::new(folder.path());
    let server = Server::tls(limits, &pki, folder);
    (server, pki)
}

#[test]
fn the_user_is_that_of_the_certificate_in_both_versions() {
    let (server, pki) = server(limits());
    pki.client("maria");
    let port = server.address.port();
    for version in ["-tls1_2", "-tls1_3"] {
        let arguments = [words(version), pki.certificate("maria")].concat();
        let mut client = OpenSsl::connect(port, &arguments);
        assert_eq!(client.line(), "hello maria netconf-tls 127.0.0.1");
        client.send("one\n");
        assert_eq!(client.line(), "one");
        client.send("close\n");
        assert_eq!(client.rest(), "");
    }
    assert_eq!(
        audit(&server.service),
        ["login netconf-tls 127.0.0.1 maria "]
    );
    server.assert_idle();
}

/// Row 47 of the table of user-reported problems: netopeer2 issues 1381, 1623.
///
/// §5 row 47
#[test]
fn the_audit_log_names_the_check_that_failed() {
    let (server, pki) = server(limits());
    pki.client_between("old", (2001, 2002));
    pki.client_between("young", (2090, 2100));
    pki.client_of_other("foreign");
    pki.client_for_servers("purpose");
    let port = server.address.port();
    let mut seen = 0;
    for (certificate, reason) in [
        (None, "the client sent no certificate"),
        (Some("old"), "the certificate of the client is expired"),
        (
            Some("young"),
            "the certificate of the client is not valid yet",
        ),
        (
            Some("foreign"),
            "the certificate of the client is not signed by a trusted authority",
        ),
        (
            Some("purpose"),
            "the certificate of the client is not for clients (extended key usage)",
        ),
    ] {
        let arguments = certificate.map(|name| pki.certificate(name));
        let mut client = OpenSsl::connect(port, &arguments.unwrap_or_default());
        assert_eq!(client.rest(), "");
        server.assert_idle();
        let records = audit(&server.service);
        seen += 1;
        assert_eq!(records.len(), seen);
        let expected = format!("login-failed netconf-tls 127.0.0.1  {reason}");
        assert_eq!(records[seen - 1], expected);
    }
}

#[test]
fn a_certificate_without_a_user_and_one_that_is_mapped() {
    let (server, pki) = server(limits());
    pki.client("maria");
    pki.client("other");
    configure(
        &server.service,
        &json!({"ietf-system:system": {"authentication": {"espalier-system:cert-maps": {
            "cert-to-name": [{
                "id": 1,
                "fingerprint": fingerprint(&server, "maria"),
                "map-type": "ietf-x509-cert-to-name:specified",
                "name": "operator",
            }],
        }}}}),
    );
    let port = server.address.port();
    let mut client = OpenSsl::connect(port, &pki.certificate("maria"));
    assert_eq!(client.line(), "hello operator netconf-tls 127.0.0.1");
    drop(client);
    let mut client = OpenSsl::connect(port, &pki.certificate("other"));
    assert_eq!(client.rest(), "");
    server.assert_idle();
    let records = audit(&server.service);
    let expected = "the certificate has no user: no entry of cert-to-name matches";
    assert!(records[1].ends_with(expected), "{records:?}");
}

#[test]
fn clients_without_tls_and_half_open_handshakes() {
    let (server, _pki) = server(TransportLimits {
        login_grace: Duration::from_millis(400),
        ..limits()
    });
    for sent in [&b"<hello/>]]>]]>"[..], b"", &[22, 3, 1, 2, 0, 1]] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(sent).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut received = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut received);
        server.assert_idle();
    }
    let records = audit(&server.service);
    assert_eq!(records.len(), 1);
    assert!(
        records[0].contains("the client does not use TLS"),
        "{records:?}"
    );
}

#[test]
fn sessions_are_not_resumed() {
    let (server, pki) = server(limits());
    pki.client("maria");
    let session = server.folder.path().join("session");
    let session = session.to_str().unwrap().to_owned();
    let port = server.address.port();
    for version in ["-tls1_2", "-tls1_3"] {
        let kept = words(&format!("{version} -sess_out {session}"));
        let mut client = OpenSsl::connect(port, &[kept, pki.certificate("maria")].concat());
        assert_eq!(client.line(), "hello maria netconf-tls 127.0.0.1");
        client.send("close\n");
        assert_eq!(client.rest(), "");
        // Without its certificate, a resumed session would have the user of the first.
        let again = words(&format!("{version} -sess_in {session}"));
        let mut client = OpenSsl::connect(port, &again);
        assert_eq!(client.rest(), "");
    }
    server.assert_idle();
}

#[test]
fn a_session_too_many_is_closed() {
    let (server, pki) = server(TransportLimits {
        sessions_of_user_max: 1,
        ..limits()
    });
    pki.client("maria");
    let connect = || OpenSsl::connect(server.address.port(), &pki.certificate("maria"));
    let mut first = connect();
    assert_eq!(first.line(), "hello maria netconf-tls 127.0.0.1");
    assert_eq!(connect().rest(), "");
    first.send("close\n");
    assert_eq!(first.rest(), "");
    server.assert_idle();
    assert_eq!(connect().line(), "hello maria netconf-tls 127.0.0.1");
}

/// RFC 7589 §3, RFC 7407: an entry of the map may have the fingerprint of the certificate of the client itself.
#[test]
fn a_pinned_certificate_needs_no_authority() {
    let (server, pki) = server(limits());
    pki.client_of_other("device");
    pki.client_of_other("stranger");
    pki.client_of_other_between("old", (2001, 2002));
    let map = |names: &[&str]| {
        let entry = |(id, name): (usize, &&str)| {
            json!({
                "id": id,
                "fingerprint": fingerprint(&server, name),
                "map-type": "ietf-x509-cert-to-name:specified",
                "name": format!("user of {name}"),
            })
        };
        let entries: Vec<_> = names.iter().enumerate().map(entry).collect();
        json!({"ietf-system:system": {"authentication": {"espalier-system:cert-maps": {
            "cert-to-name": entries,
        }}}})
    };
    let port = server.address.port();
    let first_line = |name: &str, version: &str| {
        let arguments = [words(version), pki.certificate(name)].concat();
        OpenSsl::connect(port, &arguments).line()
    };
    assert_eq!(first_line("device", "-tls1_3"), "");
    configure(&server.service, &map(&["device", "old"]));
    for version in ["-tls1_2", "-tls1_3"] {
        let hello = "hello user of device netconf-tls 127.0.0.1";
        assert_eq!(first_line("device", version), hello);
        assert_eq!(first_line("stranger", version), "");
        assert_eq!(first_line("old", version), "", "it is expired");
    }
    server.assert_idle();
}

/// The fingerprint of a certificate of the test, as in RFC 7407.
fn fingerprint(server: &Server, name: &str) -> String {
    let mut command = std::process::Command::new("openssl");
    let file = server.folder.path().join(format!("{name}.pem"));
    command.args(["x509", "-noout", "-fingerprint", "-sha256", "-in"]);
    let text = crate::support::run(command.arg(file));
    let (_, hash) = text.trim().split_once('=').unwrap();
    // 04 is SHA-256 (RFC 7407 §4.2).
    format!("04:{hash}")
}
