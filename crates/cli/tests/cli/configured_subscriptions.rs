//! Configured subscriptions (RFC 8639 §2.5): the server calls `espalier netconf`, which prints what it receives.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use espalier_testkit::servers::free_port;
use serde_json::{Value, json};

use crate::netconf_transports::with_user;
use crate::process::{Sandbox, Server};

const STORE: [&str; 2] = ["--store", "embedded:store"];

/// A client that listens for call home.
struct Receiver(Child, BufReader<ChildStdout>);

impl Receiver {
    fn start(sandbox: &Sandbox, port: u16) -> Self {
        let target = format!("call-home+ssh://maria@127.0.0.1:{port}");
        let arguments = ["netconf", &target, "subscribe", "--configured", "--json"];
        let login = [
            "--password-file",
            "password",
            "--accept-new-host-key",
            "--host-key-alias",
            "device",
        ];
        let mut child = sandbox
            .command(&[&arguments[..], &login].concat())
            .env("HOME", sandbox.path("home"))
            .env("SSH_AUTH_SOCK", "")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary");
        let stdout = child.stdout.take().expect("an output");
        Self(child, BufReader::new(stdout))
    }

    /// The name and the XML of the next notification.
    fn next(&mut self) -> (String, String) {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("“{line}”"));
        let text = |name: &str| event[name].as_str().expect("a text").to_owned();
        (text("name"), text("xml"))
    }

    fn expect(&mut self, name: &str, part: &str) {
        let (found, xml) = self.next();
        assert!(found == name && xml.contains(part), "{name} {part}: {xml}");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(sandbox: &Sandbox, port: u16) -> Server {
    let home = format!("nms=ssh://127.0.0.1:{port}");
    let options = ["--netconf-call-home", &home, "--netconf-host-keys", "keys"];
    sandbox.serve(&[&STORE[..], &options].concat())
}

/// Configures the subscription, in another process than the server.
fn configure(sandbox: &Sandbox, filter: &str) {
    let document = json!({"ietf-subscribed-notifications:subscriptions": {"subscription": [{
        "id": 1,
        "stream": "NETCONF",
        "stream-xpath-filter": filter,
        "configured-replay": [null],
        "transport": "espalier-notification-receivers:netconf-call-home",
        "receivers": {"receiver": [
            {"name": "nms", "espalier-notification-receivers:call-home-client": "nms"},
        ]},
    }]}});
    let edit = ["edit", "-", "--dataspace", "espalier", "--anchor", "server"];
    let arguments = [&edit[..], &STORE].concat();
    let document = document.to_string();
    sandbox.run_with(&arguments, document.as_bytes(), &[]).ok();
}

fn alarm(sandbox: &Sandbox, number: u32) {
    let document = json!({"m:alarm": {"number": number}}).to_string();
    let arguments = [&["notify", "-"][..], &STORE].concat();
    sandbox.run_with(&arguments, document.as_bytes(), &[]).ok();
}

#[test]
fn a_receiver_follows_the_configuration_and_comes_back_after_a_kill_of_either_side() {
    let sandbox = with_user();
    let port = free_port();
    let server = serve(&sandbox, port);
    configure(&sandbox, "/m:alarm");
    let mut receiver = Receiver::start(&sandbox, port);
    receiver.expect("subscription-started", "/m:alarm");
    receiver.expect("replay-completed", ">1<");
    alarm(&sandbox, 1);
    receiver.expect("alarm", ">1</number>");
    configure(&sandbox, "/m:alarm[number > 1]");
    receiver.expect("subscription-modified", "number &gt; 1");
    drop(receiver);
    alarm(&sandbox, 2);
    let mut receiver = Receiver::start(&sandbox, port);
    receiver.expect("subscription-started", "<id>1</id>");
    receiver.expect("alarm", ">2</number>");
    server.kill();
    drop(receiver);
    let _server = serve(&sandbox, port);
    alarm(&sandbox, 3);
    let mut receiver = Receiver::start(&sandbox, port);
    // Events from before the start of the server are not sent again; their last time is in the notification.
    receiver.expect("subscription-started", "replay-previous-event-time");
    receiver.expect("alarm", ">3</number>");
    receiver.expect("replay-completed", ">1<");
    let path = "/ietf-subscribed-notifications:subscriptions";
    let delete = [
        "delete",
        path,
        "--dataspace",
        "espalier",
        "--anchor",
        "server",
    ];
    sandbox.run(&[&delete[..], &STORE].concat()).ok();
    receiver.expect("subscription-terminated", "no-such-subscription");
}
