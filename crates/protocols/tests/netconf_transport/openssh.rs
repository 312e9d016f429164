//! The client of OpenSSH.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use crate::support::Server;

/// A command line of `ssh`.
pub struct OpenSsh {
    command: Command,
}

/// A running `ssh -s … netconf`.
pub struct Running {
    child: Child,
    pub input: Option<ChildStdin>,
    pub output: BufReader<ChildStdout>,
}

impl OpenSsh {
    /// `ssh USER@SERVER`, without the configuration of this machine.
    pub fn new(server: &Server, user: &str) -> Self {
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-p", &server.address.port().to_string()]);
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "GlobalKnownHostsFile=/dev/null",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "LogLevel=ERROR",
        ] {
            command.args(["-o", option]);
        }
        command
            .args(["-l", user])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_remove("SSH_AUTH_SOCK");
        Self { command }
    }

    /// `ann`, with this password, by a method.
    pub fn with_password(server: &Server, password: &str, method: &str) -> Self {
        Self::as_user(server, "ann", (password, method), 1)
    }

    /// A user with a password and a method, which the client tries a number of times.
    pub fn as_user(
        server: &Server,
        user: &str,
        (password, method): (&str, &str),
        prompts: u32,
    ) -> Self {
        let askpass = server.folder.path().join("askpass");
        fs::write(&askpass, "#!/bin/sh\nprintf '%s\\n' \"$TEST_PASSWORD\"\n").unwrap();
        fs::set_permissions(&askpass, fs::Permissions::from_mode(0o700)).unwrap();
        let mut ssh = Self::new(server, user);
        ssh.option(&format!("PreferredAuthentications={method}"));
        ssh.option(&format!("NumberOfPasswordPrompts={prompts}"));
        ssh.command
            .env("SSH_ASKPASS", askpass)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("TEST_PASSWORD", password);
        ssh
    }

    /// `bob`, with a private key.
    pub fn with_key(server: &Server, key: &Path) -> Self {
        Self::as_user_with_key(server, "bob", key)
    }

    pub fn as_user_with_key(server: &Server, user: &str, key: &Path) -> Self {
        let mut ssh = Self::new(server, user);
        ssh.option("PreferredAuthentications=publickey");
        ssh.command.arg("-i").arg(key);
        ssh
    }

    pub fn option(&mut self, option: &str) -> &mut Self {
        self.command.args(["-o", option]);
        self
    }

    pub fn arguments(&mut self, arguments: &[&str]) -> &mut Self {
        self.command.args(arguments);
        self
    }

    /// Starts the session of NETCONF.
    pub fn netconf(&mut self) -> Running {
        self.start(&["-s", "127.0.0.1", "netconf"])
    }

    pub fn start(&mut self, arguments: &[&str]) -> Running {
        let mut child = self.command.args(arguments).spawn().expect("ssh");
        Running {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("output")),
            child,
        }
    }

    /// Runs to the end, without input.
    pub fn run(&mut self, arguments: &[&str]) -> Output {
        self.command.stdin(Stdio::null());
        self.command.args(arguments).output().expect("ssh")
    }

    /// Runs `netconf` to the end, which fails; returns what it prints.
    pub fn rejected(&mut self) -> String {
        let output = self.run(&["-s", "127.0.0.1", "netconf"]);
        assert!(!output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Running {
    pub fn send(&mut self, text: &str) {
        let input = self.input.as_mut().expect("input");
        input.write_all(text.as_bytes()).expect("a connection");
        input.flush().expect("a connection");
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }

    /// Waits for the end; returns its status and what it printed as errors.
    pub fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut errors = String::new();
        let stderr = self.child.stderr.take();
        stderr
            .expect("errors")
            .read_to_string(&mut errors)
            .expect("UTF-8");
        let status = self.child.wait().expect("an end");
        (status.code(), errors)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("an end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
