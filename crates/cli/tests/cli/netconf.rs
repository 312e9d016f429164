//! NETCONF over the transports of `espalier serve`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};

pub const PASSWORD: &str = "a long enough password";

/// A whole session: the hello of the client, `close-session`, in the framing of base 1.0.
const SESSION: &str = "<hello xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><capabilities>\
    <capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>]]>]]>\
    <rpc xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\" message-id=\"7\"><close-session/></rpc>]]>]]>";

/// Runs a command with input.
fn run(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a command");
    let stdin = child.stdin.as_mut().expect("input");
    std::io::Write::write_all(stdin, input.as_bytes()).expect("a pipe");
    child.wait_with_output().expect("an end")
}

/// `ssh` as maria, with a password.
pub fn ssh(sandbox: &Sandbox, server: &Server) -> Command {
    sandbox.write("askpass", format!("#!/bin/sh\necho '{PASSWORD}'\n"));
    let askpass = sandbox.path("askpass");
    fs::set_permissions(&askpass, fs::Permissions::from_mode(0o700)).expect("a mode");
    let address = server.netconf["ssh"].as_str().expect("an address");
    let (_, port) = address.rsplit_once(':').expect("a port");
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "none", "-p", port, "-l", "maria"]);
    ssh.args(["-o", "StrictHostKeyChecking=no"]);
    ssh.args(["-o", "UserKnownHostsFile=/dev/null"]);
    ssh.args(["-o", "NumberOfPasswordPrompts=1"]);
    ssh.args(["-o", "LogLevel=ERROR"]);
    ssh.env("SSH_ASKPASS", askpass)
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env_remove("SSH_AUTH_SOCK");
    ssh.args(["-s", "127.0.0.1", "netconf"]);
    ssh
}

fn assert_is_session(output: &Output) {
    let replies = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(replies.contains("<session-id>"), "{replies}");
    assert!(replies.contains("message-id=\"7\""), "{replies}");
    assert!(replies.contains("<ok/>"), "{replies}");
}

#[test]
fn sessions_over_ssh_with_the_users_of_the_store() {
    let (sandbox, access) = store();
    let add = [&["user", "add", "maria", "--admin"], &access[..]].concat();
    sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    let netconf = ["--netconf-ssh", "127.0.0.1:0", "--netconf-host-keys", "k"];
    let server = sandbox.serve(&[&netconf, &access[..]].concat());
    let output = run(&mut ssh(&sandbox, &server), SESSION);
    assert_is_session(&output);
    let mode = |path: &str| {
        fs::metadata(sandbox.path(path))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode("k") & 0o777, 0o700);
    assert_eq!(mode("k/ssh_host_rsa_key") & 0o777, 0o600);
    // An open session does not hold up the end of the server.
    let mut open = ssh(&sandbox, &server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ssh");
    let mut first = [0];
    let stdout = open.stdout.as_mut().expect("output");
    std::io::Read::read_exact(stdout, &mut first).expect("the hello");
    assert_eq!(server.terminate(), Some(0));
    open.wait().expect("an end");
}

#[test]
fn sessions_over_the_socket_and_standard_streams() {
    let (sandbox, access) = store();
    let socket = ["--netconf-socket", "netconf.sock"];
    let server = sandbox.serve(&[&socket, &access[..]].concat());
    assert_eq!(server.netconf["socket"], "netconf.sock");
    let stdio = ["netconf-stdio", "--netconf-socket", "netconf.sock"];
    let output = run(&mut sandbox.command(&stdio), SESSION);
    assert_is_session(&output);
    assert_eq!(server.terminate(), Some(0));
    assert!(!sandbox.path("netconf.sock").exists());
    let output = sandbox.run(&stdio).failed(1);
    assert!(output.contains("netconf.sock"), "{output}");
    let output = sandbox.run(&["netconf-stdio"]).failed(2);
    assert!(output.contains("--netconf-socket"), "{output}");
}

#[test]
fn updates_are_pushed_over_ssh_and_the_socket_until_the_server_ends() {
    let (sandbox, access) = store();
    let add = [&["user", "add", "maria", "--admin"], &access[..]].concat();
    sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    let netconf = [
        "--netconf-ssh",
        "127.0.0.1:0",
        "--netconf-socket",
        "netconf.sock",
    ];
    let server = sandbox.serve(&[&netconf, &access[..]].concat());
    let hello = SESSION.split_once("<rpc").expect("a hello").0;
    let establish = "<rpc xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\" message-id=\"7\">\
        <establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\" \
        xmlns:yp=\"urn:ietf:params:xml:ns:yang:ietf-yang-push\">\
        <yp:datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:running</yp:datastore>\
        <yp:periodic><yp:period>100</yp:period></yp:periodic></establish-subscription></rpc>]]>]]>";
    let stdio = ["netconf-stdio", "--netconf-socket", "netconf.sock"];
    let mut clients = [ssh(&sandbox, &server), sandbox.command(&stdio)].map(|mut command| {
        let mut client = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a client");
        let input = client.stdin.as_mut().expect("input");
        let text = format!("{hello}{establish}");
        std::io::Write::write_all(input, text.as_bytes()).expect("a pipe");
        let mut output = BufReader::new(client.stdout.take().expect("output"));
        let mut message = Vec::new();
        let mut updates = 0;
        while updates < 3 {
            message.clear();
            let length = output.read_until(b'>', &mut message).expect("output");
            assert!(length > 0, "the session ended after {updates} updates");
            assert!(
                !message.ends_with(b"</rpc-error>"),
                "there is no subscription"
            );
            updates += u32::from(message.starts_with(b"</push-update"));
        }
        (client, output)
    });
    assert_eq!(server.terminate(), Some(0));
    for (client, output) in &mut clients {
        let mut rest = Vec::new();
        output
            .read_to_end(&mut rest)
            .expect("the end of the session");
        client.wait().expect("an end");
    }
}

#[test]
fn wrong_settings_change_nothing() {
    let sandbox = Sandbox::new();
    for (arguments, status, expected) in [
        ("--netconf-tls 127.0.0.1:0", 2, "--netconf-client-ca FILE"),
        (
            "--netconf-tls 127.0.0.1:0 --netconf-client-ca none.pem",
            2,
            "needs TLS",
        ),
        ("--netconf-ssh nowhere", 1, "--netconf-ssh: cannot listen"),
        ("--netconf-call-home ssh://host", 2, "there is no name"),
        (
            "--netconf-call-home nms=tls://host",
            2,
            "--netconf-client-ca FILE",
        ),
    ] {
        let serve = "serve --listen 127.0.0.1:0 --store embedded:new";
        let words = serve.split(' ').chain(arguments.split(' '));
        let output = sandbox.run(&words.collect::<Vec<_>>()).failed(status);
        assert!(output.contains(expected), "{arguments:?}: {output}");
    }
    assert!(!sandbox.path("new").exists());
}
