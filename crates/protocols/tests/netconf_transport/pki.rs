//! Certificates of tests, and clients of TLS.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};

use espalier_protocols::server::{Tls, TlsFiles, tls_config};

/// Authorities and certificates in a folder.
pub struct Pki {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
    other: CertifiedIssuer<'static, KeyPair>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("an authority")
}

impl Pki {
    pub fn new(folder: &Path) -> Self {
        let pki = Self {
            folder: folder.to_owned(),
            authority: authority("authority"),
            other: authority("other"),
        };
        fs::write(folder.join("ca.pem"), pki.authority.pem()).expect("a file");
        pki.make("server", &pki.authority, |params| {
            let name = "localhost".try_into().expect("a name");
            params.subject_alt_names = vec![rcgen::SanType::DnsName(name)];
        });
        pki
    }

    /// Writes `NAME.pem` and `NAME.key` for a certificate of `issuer` with the common name NAME.
    fn make(
        &self,
        name: &str,
        issuer: &CertifiedIssuer<'static, KeyPair>,
        change: impl FnOnce(&mut CertificateParams),
    ) {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, issuer).expect("a certificate");
        let path = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        fs::write(path("pem"), certificate.pem()).expect("a file");
        fs::write(path("key"), key.serialize_pem()).expect("a file");
    }

    /// A client's certificate with this common name.
    pub fn client(&self, name: &str) {
        self.make(name, &self.authority, |_| {});
    }

    /// A client's certificate that is valid between two years.
    pub fn client_between(&self, name: &str, years: (i32, i32)) {
        self.make(name, &self.authority, |params| {
            params.not_before = date_time_ymd(years.0, 1, 1);
            params.not_after = date_time_ymd(years.1, 1, 1);
        });
    }

    /// A certificate that is for servers only.
    pub fn client_for_servers(&self, name: &str) {
        self.make(name, &self.authority, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        });
    }

    /// A client's certificate of an authority that the server does not trust.
    pub fn client_of_other(&self, name: &str) {
        self.make(name, &self.other, |_| {});
    }

    /// The same, valid between two years.
    pub fn client_of_other_between(&self, name: &str, years: (i32, i32)) {
        self.make(name, &self.other, |params| {
            params.not_before = date_time_ymd(years.0, 1, 1);
            params.not_after = date_time_ymd(years.1, 1, 1);
        });
    }

    /// The TLS of the server.
    pub fn tls(&self) -> Tls {
        let files = TlsFiles {
            certificate: self.folder.join("server.pem"),
            key: self.folder.join("server.key"),
            client_authorities: Some(self.folder.join("ca.pem")),
        };
        tls_config(&files).expect("TLS")
    }

    /// The arguments by which `openssl` presents a certificate.
    pub fn certificate(&self, name: &str) -> Vec<String> {
        let file = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let (certificate, key) = (file("pem"), file("key"));
        let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
        vec!["-cert".into(), text(certificate), "-key".into(), text(key)]
    }
}

/// A running `openssl s_client` or `s_server`.
pub struct OpenSsl {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl OpenSsl {
    pub fn start(arguments: &[String]) -> Self {
        let mut command = Command::new("openssl");
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("output")),
            child,
        }
    }

    /// `openssl s_client -connect 127.0.0.1:PORT -quiet` with further arguments.
    pub fn connect(port: u16, further: &[String]) -> Self {
        let server = format!("127.0.0.1:{port}");
        let first = ["s_client", "-connect", &server, "-quiet", "-no_ign_eof"];
        Self::start(&[&first.map(String::from)[..], further].concat())
    }

    pub fn send(&mut self, text: &str) {
        let input = self.input.as_mut().expect("input");
        input.write_all(text.as_bytes()).expect("a connection");
        input.flush().expect("a connection");
    }

    /// The next line; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }

    /// The rest of the output.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("UTF-8");
        rest
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects a stream that was accepted with a client that connects by itself.
pub struct Relay {
    port: u16,
}

impl Relay {
    pub fn new(stream: TcpStream) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client");
            let (from, to) = (client.try_clone(), stream.try_clone());
            let (mut from, mut to) = (from.expect("a socket"), to.expect("a socket"));
            let forward = std::thread::spawn(move || {
                // An error is the end too.
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            let (mut from, mut to) = (stream, client);
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
            forward.join().expect("the other direction");
        });
        Self { port }
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }
}
