//! A NETCONF client of base:1.0, over a Unix socket or over `ssh`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::library::PASSWORD;
use crate::process::Sandbox;

/// The namespace of the messages.
pub const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// The end of a message.
const END: &str = "]]>]]>";

/// The longest time that a message may take.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A session.
pub struct Session {
    input: Box<dyn Write + Send>,
    output: Box<dyn Read + Send>,
    /// What was received after the last message.
    received: Vec<u8>,
    /// The number that the server gave it.
    pub id: String,
    ssh: Option<Child>,
}

impl Session {
    /// A session over the socket of a server.
    pub fn over_socket(path: &std::path::Path) -> Self {
        let stream = UnixStream::connect(path).expect("a socket");
        stream
            .set_read_timeout(Some(WAIT_MAX))
            .expect("a read timeout");
        let input = Box::new(stream.try_clone().expect("a stream"));
        Self::begin(input, Box::new(stream), None)
    }

    /// A session of a user over SSH.
    pub fn over_ssh(sandbox: &Sandbox, address: &str, user: &str) -> Self {
        sandbox.write("askpass", format!("#!/bin/sh\necho '{PASSWORD}'\n"));
        let askpass = sandbox.path("askpass");
        fs::set_permissions(&askpass, fs::Permissions::from_mode(0o700)).expect("a mode");
        let (host, port) = address.rsplit_once(':').expect("a port");
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-p", port, "-l", user]);
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "NumberOfPasswordPrompts=1",
            "LogLevel=ERROR",
        ] {
            ssh.args(["-o", option]);
        }
        let mut child = ssh
            .args(["-s", host, "netconf"])
            .env("SSH_ASKPASS", askpass)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("ssh");
        let input = Box::new(child.stdin.take().expect("an input"));
        let output = Box::new(child.stdout.take().expect("an output"));
        Self::begin(input, output, Some(child))
    }

    fn begin(
        input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
        ssh: Option<Child>,
    ) -> Self {
        let mut session = Self {
            input,
            output,
            received: Vec::new(),
            id: String::new(),
            ssh,
        };
        session.send(&format!(
            "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>"
        ));
        let hello = session.receive().expect("a hello");
        let (_, id) = hello.split_once("<session-id>").expect("a number");
        session.id = id.split_once('<').expect("a number").0.to_owned();
        session
    }

    fn send(&mut self, message: &str) {
        let text = format!("{message}{END}");
        self.input.write_all(text.as_bytes()).expect("a message");
        self.input.flush().expect("a message");
    }

    /// The next message; `None` after the end of the session.
    pub fn receive(&mut self) -> Option<String> {
        loop {
            let end = self
                .received
                .windows(END.len())
                .position(|window| window == END.as_bytes());
            if let Some(end) = end {
                let rest = self.received.split_off(end + END.len());
                let mut message = std::mem::replace(&mut self.received, rest);
                message.truncate(end);
                return Some(String::from_utf8(message).expect("UTF-8"));
            }
            let mut part = [0; 1 << 16];
            match self.output.read(&mut part).expect("a message") {
                0 => return None,
                count => self.received.extend_from_slice(&part[..count]),
            }
        }
    }

    /// The reply to an operation.
    pub fn request(&mut self, operation: &str) -> String {
        self.send(&format!(
            "<rpc xmlns=\"{BASE}\" message-id=\"1\">{operation}</rpc>"
        ));
        self.receive()
            .unwrap_or_else(|| panic!("the session ended after {operation}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(ssh) = &mut self.ssh {
            let _ = ssh.kill();
            let _ = ssh.wait();
        }
    }
}

/// The content of the first element with a name, as it was sent; `None` if there is no such element.
pub fn content<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        let (_, after) = rest.split_once(&format!("<{name}"))?;
        rest = after;
        if !after.starts_with(['>', ' ', '/']) {
            continue;
        }
        let (attributes, content) = after.split_once('>')?;
        if attributes.ends_with('/') {
            return Some("");
        }
        return Some(content.split_once(&format!("</{name}>"))?.0);
    }
}

/// A text without entities and character references.
pub fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (name, after) = after.split_once(';').expect("a reference");
        plain.push_str(before);
        plain.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            other => {
                let number = other.strip_prefix("#x").map_or_else(
                    || other.strip_prefix('#').and_then(|text| text.parse().ok()),
                    |text| u32::from_str_radix(text, 16).ok(),
                );
                number.and_then(char::from_u32).expect("a character")
            }
        });
        rest = after;
    }
    plain.push_str(rest);
    plain
}
