//! TLS, with HTTP/2 by ALPN.

use std::io::Write;
use std::sync::Arc;

use espalier_protocols::restconf::RestconfConfig;
use espalier_protocols::server::{TlsFiles, tls_config};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::http2::requests;
use crate::support::Server;

struct Material {
    files: TlsFiles,
    certificate: CertificateDer<'static>,
    _folder: tempfile::TempDir,
}

fn material() -> Material {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::File::create(&path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        path
    };
    Material {
        files: TlsFiles {
            certificate: write("cert.pem", made.cert.pem()),
            key: write("key.pem", made.signing_key.serialize_pem()),
            client_authorities: None,
        },
        certificate: made.cert.der().clone(),
        _folder: folder,
    }
}

fn connector(trusted: &CertificateDer<'static>, protocol: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsConnector::from(Arc::new(config))
}

#[test]
fn http2_is_negotiated_and_served() {
    let material = material();
    let tls = tls_config(&material.files).unwrap();
    let server = Server::with(RestconfConfig::default(), Some(tls));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tcp = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = connector(&material.certificate, b"h2");
        let stream = connector.connect(name, tcp).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let responses = requests(stream, &[("GET", "/restconf/data", "")]).await;
        assert_eq!(responses[0].0, 200);
    });
}

#[test]
fn a_client_without_certificate_is_rejected() {
    let material = material();
    let files = TlsFiles {
        client_authorities: Some(material.files.certificate.clone()),
        ..material.files.clone()
    };
    let tls = tls_config(&files).unwrap();
    let server = Server::with(RestconfConfig::default(), Some(tls));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let is_refused = runtime.block_on(async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let tcp = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = connector(&material.certificate, b"http/1.1");
        let Ok(mut stream) = connector.connect(name, tcp).await else {
            return true;
        };
        let request = b"GET /restconf HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(request).await;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.is_err() || response.is_empty()
    });
    assert!(is_refused);
}

#[test]
fn missing_files_are_named() {
    let files = TlsFiles {
        certificate: "no-such-file.pem".into(),
        key: "no-such-key.pem".into(),
        client_authorities: None,
    };
    let error = tls_config(&files).unwrap_err().to_string();
    assert!(error.contains("no-such-file.pem"), "{error}");
}
