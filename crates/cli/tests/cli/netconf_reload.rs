//! SIGHUP: a running server reads its files and some settings again.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::netconf_client::create_store;
use crate::netconf_session::{WAIT_MAX, eventually};
use crate::process::{Sandbox, Server};

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("a program");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn hang_up(server: &Server) {
    let id = server.process_id().to_string();
    let sent = Command::new("kill").args(["-HUP", &id]).status();
    assert!(sent.expect("kill").success());
}

/// A certificate and its key, signed by itself, with this common name.
fn certificate(sandbox: &Sandbox, file: &str, name: &str) {
    let path = |ending: &str| sandbox.path(&format!("{file}{ending}"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt"]);
    openssl.args(["ec_paramgen_curve:P-256", "-noenc", "-days", "9"]);
    openssl.args(["-subj", &format!("/CN={name}")]);
    openssl.arg("-keyout").arg(path(".key"));
    openssl.arg("-out").arg(path(".pem"));
    run(&mut openssl);
    assert!(path(".pem").exists(), "openssl");
}

/// The subject of the certificate of a server.
fn subject(address: &str) -> String {
    let shown = run(Command::new("openssl").args(["s_client", "-connect", address]));
    let subject = shown.lines().find(|line| line.starts_with("subject="));
    subject.unwrap_or_default().to_owned()
}

/// The public key of a host.
fn host_key(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').expect("a port");
    run(Command::new("ssh-keyscan").args(["-t", "ed25519", "-p", port, host]))
}

#[test]
fn certificates_and_host_keys_are_read_again() {
    let sandbox = Sandbox::new();
    create_store(&sandbox);
    certificate(&sandbox, "server", "first");
    certificate(&sandbox, "clients", "clients");
    let options = "--store embedded:store --tls-cert server.pem --tls-key server.key --client-ca clients.pem \
        --netconf-tls 127.0.0.1:0 --netconf-ssh 127.0.0.1:0 --netconf-host-keys k";
    let server = sandbox.serve(&options.split_whitespace().collect::<Vec<_>>());
    let netconf = |name: &str| {
        server.netconf[name]
            .as_str()
            .expect("an address")
            .to_owned()
    };
    let http = server.url.strip_prefix("https://").expect("TLS").to_owned();
    let tls = netconf("tls");
    let is_served = |name: &str| [&http, &tls].iter().all(|at| subject(at).ends_with(name));
    assert!(is_served("first"));
    let old_key = host_key(&netconf("ssh"));
    assert!(old_key.contains("ssh-ed25519"), "{old_key}");

    certificate(&sandbox, "server", "second");
    fs::remove_file(sandbox.path("k/ssh_host_ed25519_key")).expect("a key");
    hang_up(&server);
    eventually("the new certificate is served", || is_served("second"));
    let new_key = host_key(&netconf("ssh"));
    assert!(new_key.contains("ssh-ed25519") && new_key != old_key);

    // A wrong file changes nothing.
    sandbox.write("server.key", "no key");
    hang_up(&server);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(is_served("second"));
    assert_eq!(host_key(&netconf("ssh")), new_key);
    assert_eq!(server.terminate(), Some(0));
}

/// Accepts the call of a server.
fn called(listener: &TcpListener) -> BufReader<TcpStream> {
    let (stream, _) = listener.accept().expect("a call");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert!(line.starts_with("SSH-2.0-Espalier"), "{line}");
    reader
}

#[test]
fn clients_that_are_called_are_those_of_the_configuration_file() {
    let sandbox = Sandbox::new();
    create_store(&sandbox);
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let configure = |clients: &[usize]| {
        let client = |&number: &usize| {
            let port = listeners[number].local_addr().expect("an address").port();
            format!("\"client{number}=ssh://127.0.0.1:{port}\"")
        };
        let clients: Vec<_> = clients.iter().map(client).collect();
        let list = clients.join(", ");
        sandbox.write(
            "espalier.toml",
            format!("store = \"embedded:store\"\nnetconf-call-home = [{list}]\n"),
        );
    };
    configure(&[0, 1]);
    let server = sandbox.serve(&["--netconf-host-keys", "k"]);
    let (mut first, second) = (called(&listeners[0]), called(&listeners[1]));
    configure(&[1, 2]);
    hang_up(&server);
    let _third = called(&listeners[2]);
    first.read_to_end(&mut Vec::new()).expect("the end");
    // The connection of the client that stays was not made anew.
    listeners[1].set_nonblocking(true).expect("a listener");
    assert!(listeners[1].accept().is_err());
    drop(second);
    listeners[1].set_nonblocking(false).expect("a listener");
    called(&listeners[1]);
}
