//! Operations with the documents of URLs (RFC 6241 §8.8).

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use espalier_protocols::netconf::UrlSettings;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::PrivateKeyDer;

use crate::support::{Client, Fixture};

const CONFIG: &str = "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\
     <c xmlns=\"urn:m\"><title>of the file</title><e><k>a</k></e></c></config>";

fn fixture(folder: &Path) -> Fixture {
    Fixture::with_urls(&UrlSettings {
        folder: Some(folder.to_owned()),
        ..UrlSettings::default()
    })
}

fn copy(source: &str, target: &str) -> String {
    format!("<copy-config><target>{target}</target><source>{source}</source></copy-config>")
}

fn edit(url: &str) -> String {
    format!("<edit-config><target><running/></target><url>{url}</url></edit-config>")
}

fn edit_title(title: &str) -> String {
    format!(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>{title}</title></c></config></edit-config>"
    )
}

fn running(client: &mut Client<'_>) -> String {
    client.data("<get-config><source><running/></source></get-config>")
}

#[test]
fn without_settings_urls_are_not_supported() {
    let fixture = Fixture::new();
    let mut client = fixture.connect();
    let hello = client.greet(&[espalier_protocols::netconf::BASE_1_1]);
    assert!(!hello.contains("capability:url"), "{hello}");
    for operation in [
        edit("file:///etc/passwd"),
        copy("<url>file:///etc/passwd</url>", "<running/>"),
        copy("<running/>", "<url>file:///tmp/x</url>"),
        "<delete-config><target><url>file:///tmp/x</url></target></delete-config>".to_owned(),
        "<validate><source><url>file:///etc/passwd</url></source></validate>".to_owned(),
    ] {
        assert_eq!(
            client.error(&operation),
            "operation-not-supported",
            "{operation}"
        );
    }
}

#[test]
fn configurations_are_read_from_files_and_written_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("site")).expect("a folder");
    fs::write(folder.path().join("in.xml"), CONFIG).expect("a file");
    let fixture = fixture(folder.path());
    let mut client = fixture.connect();
    let hello = client.greet(&[espalier_protocols::netconf::BASE_1_1]);
    assert!(hello.contains("capability:url:1.0?scheme=file<"), "{hello}");
    assert!(hello.contains(",xpath,url<"), "{hello}");

    client.ok("<validate><source><url>file:///in.xml</url></source></validate>");
    client.ok(&edit("file:///in.xml"));
    assert!(running(&mut client).contains("of the file"));
    client.ok(&copy("<running/>", "<url>file:///site/out%20put.xml</url>"));
    let out = folder.path().join("site/out put.xml");
    let written = fs::read_to_string(&out).expect("a file");
    assert!(written.starts_with("<config xmlns="), "{written}");
    assert!(written.contains("<k>a</k>"), "{written}");
    let mode = fs::metadata(&out).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // From the file to another datastore, and from file to file.
    client.ok(&copy("<url>file:///site/out%20put.xml</url>", "<startup/>"));
    let startup = client.data("<get-config><source><startup/></source></get-config>");
    assert!(startup.contains("of the file"), "{startup}");
    client.ok(&copy(
        "<url>file:///in.xml</url>",
        "<url>file:///copy.xml</url>",
    ));
    client.ok(&copy(CONFIG, "<url>file:///copy.xml</url>"));
    let same = copy("<url>file:///in.xml</url>", "<url>file:///in.xml</url>");
    assert_eq!(client.error(&same), "invalid-value");
    client.ok("<delete-config><target><url>file:///copy.xml</url></target></delete-config>");
    assert!(!folder.path().join("copy.xml").exists());

    // A copy replaces what the file does not have.
    client.ok("<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><e><k>b</k></e></c></config></edit-config>");
    client.ok(&copy("<url>file:///in.xml</url>", "<running/>"));
    assert!(!running(&mut client).contains("<k>b</k>"));
    let names = fs::read_dir(folder.path()).expect("a folder");
    assert_eq!(names.count(), 2, "no temporary file is left");
}

#[test]
fn files_outside_the_folder_cannot_be_reached() {
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("x.xml"), CONFIG).expect("a file");
    let folder = tempfile::tempdir().expect("a folder");
    symlink(outside.path(), folder.path().join("link")).expect("a link");
    symlink(outside.path().join("x.xml"), folder.path().join("x.xml")).expect("a link");
    fs::create_dir(folder.path().join("folder")).expect("a folder");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .expect("a pipe");
    let fixture = fixture(folder.path());
    let mut client = fixture.session();
    for (url, tag) in [
        ("file:///link/x.xml", "operation-failed"),
        ("file:///x.xml", "operation-failed"),
        ("file:///folder", "operation-failed"),
        ("file:///pipe", "operation-failed"),
        ("file:///missing", "operation-failed"),
        ("file:///../x.xml", "invalid-value"),
        ("file:///folder/%2e%2e/x", "invalid-value"),
        ("file://host/x.xml", "invalid-value"),
        ("ftp://host/x.xml", "invalid-value"),
        ("https://host/x.xml", "invalid-value"),
        ("x.xml:", "invalid-value"),
        ("", "invalid-value"),
    ] {
        assert_eq!(client.error(&edit(url)), tag, "{url}");
        let load = copy(&format!("<url>{url}</url>"), "<candidate/>");
        assert_eq!(client.error(&load), tag, "{url}");
    }
    let through_link = copy("<running/>", "<url>file:///link/new.xml</url>");
    assert_eq!(client.error(&through_link), "operation-failed");
    // A link that is a target is replaced, and not followed.
    client.ok(&copy("<running/>", "<url>file:///x.xml</url>"));
    let outside_text = fs::read_to_string(outside.path().join("x.xml")).expect("a file");
    assert_eq!(outside_text, CONFIG);
    assert!(!outside.path().join("new.xml").exists());
}

#[test]
fn wrong_documents_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = fixture(folder.path());
    let mut client = fixture.session();
    client.ok(&edit_title("kept"));
    for (name, document) in [
        ("empty", ""),
        (
            "open",
            "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><c xmlns=\"urn:m\">",
        ),
        (
            "unknown",
            "<config><c xmlns=\"urn:m\"><nothing/></c></config>",
        ),
        ("data", "<c xmlns=\"urn:m\"><title>x</title></c>"),
        ("two", "<config/><config/>"),
        ("binary", "\u{1}\u{2}"),
    ] {
        fs::write(folder.path().join(name), document).expect("a file");
        let url = format!("file:///{name}");
        let tag = client.error(&edit(&url));
        let load = copy(&format!("<url>{url}</url>"), "<running/>");
        assert_eq!(client.error(&load), tag, "{name}");
    }
    assert!(running(&mut client).contains("kept"));
    // A configuration that is larger than what is held of it.
    let padding = " ".repeat(100 << 10);
    let large = CONFIG.replace("</config>", &format!("{padding}</config>"));
    fs::write(folder.path().join("large"), large).expect("a file");
    client.ok(&copy("<url>file:///large</url>", "<running/>"));
    assert!(running(&mut client).contains("of the file"));
    // An empty configuration is one.
    fs::write(
        folder.path().join("none"),
        "<?xml version='1.0'?><config xmlns='urn:ietf:params:xml:ns:netconf:base:1.0'/>",
    )
    .expect("a file");
    client.ok(&copy("<url>file:///none</url>", "<running/>"));
    assert_eq!(running(&mut client), "");
    let both =
        "<edit-config><target><running/></target><config/><url>file:///a</url></edit-config>";
    assert_eq!(client.error(both), "bad-element");
}

/// Serves some documents, until the process ends.
fn https_server(key: &rcgen::KeyPair, certificate: &rcgen::Certificate) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        );
    let config = Arc::new(config.expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            // Clients that reject the certificate close it.
            let _ = serve_one(StreamOwned::new(connection, stream.expect("a stream")));
        }
    });
    address
}

fn serve_one(
    mut stream: StreamOwned<ServerConnection, std::net::TcpStream>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (status, more) = match head.split(' ').nth(1).unwrap_or_default() {
        "/configs/a.xml" => ("200 OK", ""),
        "/configs/moved.xml" => ("302 Found", "Location: /configs/a.xml\r\n"),
        _ => ("404 Not Found", ""),
    };
    let length = CONFIG.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n{CONFIG}"
    )?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn documents_of_named_https_servers_are_read() {
    let key = rcgen::KeyPair::generate().expect("a key");
    let names = vec!["localhost".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).expect("names");
    let certificate = certificate.self_signed(&key).expect("a certificate");
    let port = https_server(&key, &certificate).port();
    let folder = tempfile::tempdir().expect("a folder");
    let authorities = folder.path().join("ca.pem");
    fs::write(&authorities, certificate.pem()).expect("a file");
    let settings = UrlSettings {
        https: vec![format!("https://localhost:{port}/configs/")],
        https_authorities: Some(authorities),
        ..UrlSettings::default()
    };
    let fixture = Fixture::with_urls(&settings);
    let mut client = fixture.connect();
    let hello = client.greet(&[espalier_protocols::netconf::BASE_1_1]);
    assert!(
        hello.contains("capability:url:1.0?scheme=https<"),
        "{hello}"
    );
    let url = |path: &str| format!("https://localhost:{port}{path}");
    for (path, tag) in [
        ("/configs/moved.xml", "operation-failed"),
        ("/configs/missing.xml", "operation-failed"),
        ("/other/a.xml", "invalid-value"),
        ("/configs/../other/a.xml", "invalid-value"),
    ] {
        assert_eq!(client.error(&edit(&url(path))), tag, "{path}");
    }
    let target = format!("<url>{}</url>", url("/configs/b.xml"));
    assert_eq!(client.error(&copy("<running/>", &target)), "invalid-value");
    assert_eq!(running(&mut client), "");
    client.ok(&edit(&url("/configs/a.xml")));
    client.ok(&copy(
        &format!("<url>{}</url>", url("/configs/a.xml")),
        "<startup/>",
    ));
    assert!(running(&mut client).contains("of the file"));

    // Mozilla's authorities have not signed it.
    let fixture = Fixture::with_urls(&UrlSettings {
        https_authorities: None,
        ..settings
    });
    let mut client = fixture.session();
    assert_eq!(
        client.error(&edit(&url("/configs/a.xml"))),
        "operation-failed"
    );
}
