//! yuma123: its client `yangcli` against a served store, and `espalier netconf` against its server `netconfd` behind
//! OpenSSH. `make servers` installs both.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use espalier_testkit::servers::free_port;

use crate::process::{Outcome, Sandbox};
use crate::{PASSWORD, USER, run, serve};

/// The longest that a server takes to start.
const START_MAX: Duration = Duration::from_secs(20);

/// The most servers that are started: netconfd 2.13 crashes (a segmentation fault in libyumancx) in many of these runs.
const SERVERS_MAX: u32 = 20;

/// The user of this process, who logs in to OpenSSH.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id");
    String::from_utf8(output.stdout)
        .expect("a name")
        .trim()
        .to_owned()
}

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `netconfd` behind OpenSSH.
pub struct Netconfd {
    port: u16,
    sandbox: Sandbox,
    target: String,
    /// netconfd and sshd.
    processes: [Process; 2],
}

fn start(command: &mut Command, log: &Path) -> Process {
    let log = std::fs::File::create(log).expect("a log");
    let error = log.try_clone().expect("a log");
    let spawned = command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(error)
        .spawn();
    Process(spawned.unwrap_or_else(|error| panic!("{command:?}: {error}: run `make servers`")))
}

fn key(sandbox: &Sandbox, name: &str) {
    let mut generate = Command::new("ssh-keygen");
    generate
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(sandbox.path(name));
    assert!(generate.status().expect("ssh-keygen").success());
}

impl Netconfd {
    fn start(options: impl Fn(&Sandbox) -> Vec<String>) -> Self {
        let sandbox = Sandbox::new();
        let port = free_port();
        let folder = sandbox.path("");
        let folder = folder.to_str().expect("a path").trim_end_matches('/');
        let startup = "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"/>";
        sandbox.write("startup-cfg.xml", startup);
        let mut netconfd = Command::new("/usr/sbin/netconfd");
        netconfd.args([
            "--access-control=off",
            "--target=candidate",
            "--log-level=info",
        ]);
        netconfd.arg(format!("--superuser={}", user()));
        netconfd.arg(format!("--port={port}"));
        netconfd.arg(format!("--ncxserver-sockname={folder}/ncx.sock"));
        netconfd.arg(format!("--startup={folder}/startup-cfg.xml"));
        netconfd.args(options(&sandbox));
        netconfd.env("HOME", folder);
        let netconfd = start(&mut netconfd, &sandbox.path("netconfd.log"));
        key(&sandbox, "host");
        key(&sandbox, "identity");
        // Needed where the user of the process is root.
        let _ = std::fs::create_dir_all("/run/sshd");
        sandbox.write(
            "sshd_config",
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n\
                 AuthorizedKeysFile {folder}/identity.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
                 Subsystem netconf \"/usr/sbin/netconf-subsystem --ncxserver-sockname={port}@{folder}/ncx.sock\"\n"
            ),
        );
        let mut sshd = Command::new("/usr/sbin/sshd");
        sshd.args(["-D", "-e", "-f", &format!("{folder}/sshd_config")]);
        let sshd = start(&mut sshd, &sandbox.path("sshd.log"));
        let found = Self {
            port,
            target: format!("ssh://{}@127.0.0.1:{port}", user()),
            sandbox,
            processes: [netconfd, sshd],
        };
        found.wait();
        found
    }

    /// The client of OpenSSH, with the subsystem.
    pub fn subsystem(&self) -> Command {
        let mut ssh = Command::new("/usr/bin/ssh");
        ssh.args(["-p", &self.port.to_string(), "-i"]);
        ssh.arg(self.sandbox.path("identity"));
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "IdentitiesOnly=yes",
        ] {
            ssh.args(["-o", option]);
        }
        ssh.args(["-s", &format!("{}@127.0.0.1", user()), "netconf"]);
        ssh
    }

    /// Whether netconfd has ended by itself.
    fn has_crashed(&mut self) -> bool {
        let [netconfd, _] = &mut self.processes;
        netconfd.0.try_wait().is_ok_and(|ended| ended.is_some())
    }

    fn wait(&self) {
        let end = Instant::now() + START_MAX;
        while self.netconf(&["hello"]).status != 0 {
            let read = |name| std::fs::read_to_string(self.sandbox.path(name)).unwrap_or_default();
            let logs = || (read("netconfd.log"), read("sshd.log"));
            assert!(
                Instant::now() < end,
                "{:?}: {:?}",
                self.netconf(&["hello"]),
                logs()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let home = self.sandbox.path("home").display().to_string();
        let options = [
            "netconf",
            "--identity",
            "identity",
            "--accept-new-host-key",
            "--no-default-keys",
        ];
        self.sandbox
            .run_with(&[&options, arguments].concat(), b"", &[("HOME", &home)])
    }

    fn netconf(&self, arguments: &[&str]) -> Outcome {
        self.run(&[&[&*self.target], arguments].concat())
    }
}

const CONTACT: &str =
    "<system xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system\"><contact>me</contact></system>";

/// Calls `test` with a server; again with another one if it crashed.
pub fn with_netconfd(options: impl Fn(&Sandbox) -> Vec<String>, test: impl Fn(&Netconfd)) {
    for _ in 0..SERVERS_MAX {
        let mut server = Netconfd::start(&options);
        match catch_unwind(AssertUnwindSafe(|| test(&server))) {
            Ok(()) => return,
            Err(_) if server.has_crashed() => eprintln!("netconfd has crashed"),
            Err(panic) => resume_unwind(panic),
        }
    }
    panic!("netconfd crashed {SERVERS_MAX} times");
}

#[test]
fn netconfd_is_served_by_espalier_netconf() {
    with_netconfd(|_| Vec::new(), use_netconfd);
}

fn use_netconfd(server: &Netconfd) {
    for base in ["1.0", "1.1"] {
        let hello = server.netconf(&["hello", "--json", "--base", base]).json();
        assert_eq!(hello["base"], base);
    }
    server.sandbox.write("edit.xml", CONTACT);
    // netconfd commits nothing after `validate` of the candidate.
    let lines = [
        "lock candidate",
        "edit-config edit.xml --target candidate",
        "commit",
        "unlock candidate",
        "validate running",
    ];
    let commands: Vec<&str> = lines.iter().flat_map(|line| ["-c", line]).collect();
    server.netconf(&[&["shell"], &commands[..]].concat()).ok();
    // netconfd takes the prefixes of the modules only, whatever is declared (RFC 6241 §8.9.1).
    let namespace = "sys=urn:ietf:params:xml:ns:yang:ietf-system";
    let filter = [
        "--xpath",
        "/sys:system/sys:contact",
        "--namespace",
        namespace,
    ];
    let read = server
        .netconf(&[&["get-config"], &filter[..]].concat())
        .ok();
    assert!(read.contains("<contact>me</contact>"), "{read}");
    // The modules are fetched from the server.
    let json = server
        .netconf(&[&["get-config", "--output", "json"], &filter[..]].concat())
        .json();
    assert_eq!(json["ietf-system:system"]["contact"], "me");
    assert_eq!(server.run(&["diff", "edit.xml", &server.target]).ok(), "");
    server
        .sandbox
        .write("edit.xml", CONTACT.replace("me<", "you<"));
    let diff = server.run(&["diff", &server.target, "edit.xml"]).ok();
    assert_eq!(diff, "~ /ietf-system:system/contact: \"me\" -> \"you\"\n");
    let all = server
        .netconf(&["get-schema", "--all", "modules", "--json"])
        .json();
    assert!(all["files"].as_array().expect("files").len() > 10, "{all}");
    let times = [
        "--start",
        "2020-01-01T00:00:00Z",
        "--stop",
        "2020-01-02T00:00:00Z",
    ];
    let events = server.netconf(&[&["subscribe"], &times[..]].concat()).ok();
    assert!(events.contains("notificationComplete"), "{events}");
    let error = server.netconf(&["kill-session", "999"]).failed(1);
    assert!(
        error.contains("invalid-value") && error.contains("type protocol"),
        "{error}"
    );
    let error = server.netconf(&["get-data"]).failed(1);
    assert!(error.contains("unknown-namespace"), "{error}");
}

#[test]
fn yangcli_is_at_home() {
    let sandbox = Sandbox::new();
    let (_server, port) = serve(&sandbox);
    let edit = ["netconf", "--any-host-key", "edit-config", "-"];
    let target = format!("{USER}@127.0.0.1:{port}");
    let edit = [&edit[..1], &[&*target], &edit[1..]].concat();
    let title = b"<c xmlns=\"urn:m\"><title>yuma</title></c>";
    sandbox
        .run_with(&edit, title, &[("ESPALIER_PASSWORD", PASSWORD)])
        .ok();
    let lines = "get-config source=running\nlock target=candidate\nvalidate source=candidate\ncommit\n\
                 discard-changes\nunlock target=candidate\nget-schema identifier=m\nclose-session\n";
    sandbox.write("script", lines);
    let printed = run(Command::new("/usr/bin/yangcli")
        .args(["--batch-mode", "--log-level=info", "--server=127.0.0.1"])
        .arg(format!("--ncport={port}"))
        .arg(format!("--user={USER}"))
        .arg(format!("--password={PASSWORD}"))
        .arg(format!("--run-script={}", sandbox.path("script").display()))
        .env("HOME", sandbox.path(".")));
    assert!(printed.contains("title yuma"), "{printed}");
    // The reply to close-session is printed if it arrives before the end of the connection.
    assert!(printed.contains("RPC OK Reply 6"), "{printed}");
    assert!(
        printed.contains("module m {") && !printed.contains("RPC Error Reply"),
        "{printed}"
    );
}
