//! Real NETCONF clients against a served store. `make servers` installs those in Python.

mod peer;
#[allow(dead_code, reason = "shared with the test `cli`, which uses all of it")]
#[path = "../cli/process.rs"]
mod process;
mod yuma;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use espalier_testkit::servers::free_port;
use process::{Sandbox, Server};

const USER: &str = "maria";
const PASSWORD: &str = "a long enough password";

/// The longest that a client may run.
const CLIENT_MAX: Duration = Duration::from_secs(120);

const MODEL: &str = "module m {
  yang-version 1.1; namespace 'urn:m'; prefix m;
  container c {
    leaf title { type string; }
    list e { key k; leaf k { type string; } leaf v { type uint8; } }
  }
}";

/// A store with a module, without data.
fn create_store(sandbox: &Sandbox, module: &str) {
    sandbox.write("empty.json", "{}");
    let load = ["load", "empty.json", "--yang", module, "--store"];
    sandbox.run(&[&load[..], &["embedded:store"]].concat()).ok();
}

/// A server with a user, and the port of NETCONF over SSH.
fn serve(sandbox: &Sandbox) -> (Server, u16) {
    sandbox.write("m.yang", MODEL);
    let store = ["--store", "embedded:store"];
    create_store(sandbox, "m.yang");
    let add = [&["user", "add", USER, "--admin"], &store[..]].concat();
    sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let serve = [&store[..], &["--netconf-ssh", &listen]].concat();
    (sandbox.serve(&serve), port)
}

/// The folder with the clients in Python.
fn python_clients() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/netconf-clients");
    assert!(
        target.join("complete").exists(),
        "{} is missing: run `make servers`",
        target.display()
    );
    target
}

/// Runs a command, which must succeed in time; returns what it printed.
fn run(command: &mut Command) -> String {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a client");
    let end = Instant::now() + CLIENT_MAX;
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("an output");
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {out}\n{error}");
    out.into_owned()
}

fn run_script(name: &str) {
    let sandbox = Sandbox::new();
    let (_server, port) = serve(&sandbox);
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/netconf_clients")
        .join(name);
    let printed = run(Command::new("python3")
        .env("PYTHONPATH", python_clients())
        .env("HOME", sandbox.path("."))
        .arg(script)
        .args(["127.0.0.1", &port.to_string(), USER, PASSWORD]));
    assert!(printed.contains("done"), "{printed}");
}

#[test]
fn ncclient_is_at_home() {
    run_script("with_ncclient.py");
}

#[test]
fn netconf_client_is_at_home() {
    run_script("with_netconf_client.py");
}

#[test]
fn scrapli_is_at_home() {
    run_script("with_scrapli.py");
}

#[test]
fn libnetconf2_is_at_home() {
    let sandbox = Sandbox::new();
    let (_server, port) = serve(&sandbox);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netconf_clients");
    let program = sandbox.path("with_libnetconf2");
    let flags =
        run(Command::new("pkg-config").args(["--cflags", "--libs", "libnetconf2", "libyang"]));
    run(Command::new("cc")
        .arg("-Wall")
        .arg("-o")
        .arg(&program)
        .arg(folder.join("with_libnetconf2.c"))
        .args(flags.split_whitespace()));
    let printed = run(Command::new(program).env("HOME", sandbox.path(".")).args([
        "127.0.0.1",
        &port.to_string(),
        USER,
        PASSWORD,
    ]));
    assert!(printed.contains("done"), "{printed}");
}

#[test]
fn netconf_console_is_at_home() {
    let sandbox = Sandbox::new();
    let (_server, port) = serve(&sandbox);
    let console = |arguments: &[&str]| {
        let clients = python_clients();
        run(Command::new("python3")
            .env("PYTHONPATH", &clients)
            .env("HOME", sandbox.path("."))
            .arg(clients.join("bin/netconf-console2"))
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--user", USER, "--password", PASSWORD])
            .args(arguments))
    };
    assert!(console(&["--hello"]).contains("candidate"));
    let edit = sandbox.path("edit.xml");
    fs::write(&edit, "<c xmlns=\"urn:m\"><title>console</title></c>").expect("written");
    console(&[
        "--db",
        "running",
        "--edit-config",
        &edit.display().to_string(),
    ]);
    assert!(console(&["--get-config"]).contains("<title>console</title>"));
}
