//! `espalier netconf` over SSH, TLS and call home.

use std::process::{Command, Stdio};

use espalier_testkit::servers::free_port;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

use crate::netconf_client::{Served, create_store};
use crate::process::{Outcome, Sandbox};

const PASSWORD: &str = "a long enough password";

/// A sandbox with a store that has the user maria.
pub fn with_user() -> Sandbox {
    let sandbox = Sandbox::new();
    create_store(&sandbox);
    let add = [
        "user",
        "add",
        "maria",
        "--admin",
        "--store",
        "embedded:store",
    ];
    sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    sandbox.write("password", format!("{PASSWORD}\n"));
    sandbox
}

fn served_over_ssh() -> (Served, String) {
    let sandbox = with_user();
    let options = [
        "--netconf-ssh",
        "127.0.0.1:0",
        "--netconf-host-keys",
        "keys",
    ];
    let server = sandbox.serve(&[&["--store", "embedded:store"][..], &options].concat());
    let address = server.netconf["ssh"]
        .as_str()
        .expect("an address")
        .to_owned();
    (Served { sandbox, server }, address)
}

/// Runs `espalier netconf` with a home of its own, and without an agent.
fn netconf(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let home = sandbox.path("home").display().to_string();
    let variables = [&[("HOME", &*home), ("SSH_AUTH_SOCK", "")], variables].concat();
    sandbox.run_with(&[&["netconf"], arguments].concat(), b"", &variables)
}

#[test]
fn passwords_and_host_keys_over_ssh() {
    let (served, address) = served_over_ssh();
    let target = format!("ssh://maria@{address}");
    let run =
        |arguments: &[&str]| netconf(&served.sandbox, &[&[&*target], arguments].concat(), &[]);
    let file = ["--password-file", "password"];
    let error = run(&[&["hello"], &file[..]].concat()).failed(1);
    assert!(
        error.contains("is not known") && error.contains("SHA256:"),
        "{error}"
    );
    assert!(error.contains("--accept-new-host-key"), "{error}");
    let accept = [&["hello", "--accept-new-host-key"], &file[..]].concat();
    assert!(run(&accept).ok().contains("base 1.1"));
    // It is known now, in a file that OpenSSH reads.
    run(&[&["hello"], &file[..]].concat()).ok();
    let host = format!(
        "[127.0.0.1]:{}",
        address.rsplit(':').next().expect("a port")
    );
    let known = served.sandbox.path("home/.ssh/known_hosts");
    let found = Command::new("ssh-keygen")
        .args(["-F", &host, "-f"])
        .arg(&known)
        .output();
    assert!(found.expect("ssh-keygen").status.success());
    let by_variable = netconf(
        &served.sandbox,
        &[&target, "hello"],
        &[("ESPALIER_PASSWORD", PASSWORD)],
    );
    by_variable.ok();
    let user = format!("ssh://{address}");
    let by_option = [
        "--user",
        "maria",
        "--password-file",
        "password",
        &user,
        "get-config",
    ];
    assert!(
        netconf(&served.sandbox, &by_option, &[])
            .ok()
            .contains("first")
    );
    let wrong = netconf(
        &served.sandbox,
        &[&target, "hello"],
        &[("ESPALIER_PASSWORD", "wrong")],
    )
    .failed(1);
    assert!(
        wrong.contains("rejected the user “maria”: the password was not accepted"),
        "{wrong}"
    );
    assert_eq!(wrong.matches("the password").count(), 1, "{wrong}");
    let without = run(&["hello"]).failed(1);
    assert!(
        without.contains("there is no key and no password"),
        "{without}"
    );
}

/// A host whose key is not that in `known_hosts`.
#[test]
fn changed_host_keys_are_rejected() {
    let (served, address) = served_over_ssh();
    let target = format!("ssh://maria@{address}");
    let run =
        |arguments: &[&str]| netconf(&served.sandbox, &[&[&*target], arguments].concat(), &[]);
    let file = ["--password-file", "password"];
    let host = format!(
        "[127.0.0.1]:{}",
        address.rsplit(':').next().expect("a port")
    );
    let key = served.sandbox.path("other");
    let mut generate = Command::new("ssh-keygen");
    generate
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key);
    assert!(generate.status().expect("ssh-keygen").success());
    let other = std::fs::read_to_string(key.with_extension("pub")).expect("a key");
    served
        .sandbox
        .write("home/.ssh/known_hosts", format!("{host} {other}"));
    for accept in [&[][..], &["--accept-new-host-key"]] {
        let changed = run(&[&["hello"], accept, &file].concat()).failed(1);
        assert!(
            changed.contains("has changed") && changed.contains("ssh-keygen -R"),
            "{changed}"
        );
    }
    run(&[&["hello", "--any-host-key"], &file[..]].concat()).ok();
    run(&[&["hello", "--known-hosts", "new"], &file[..]].concat()).failed(1);
    run(&[
        &["hello", "--known-hosts", "new", "--accept-new-host-key"],
        &file[..],
    ]
    .concat())
    .ok();
    run(&[&["hello", "--known-hosts", "new"], &file[..]].concat()).ok();
}

/// Makes keys of all types, and gives them to maria.
fn keys(sandbox: &Sandbox, kinds: &[&str]) {
    let mut keys = Vec::new();
    for kind in kinds {
        let mut generate = Command::new("ssh-keygen");
        generate
            .args(["-q", "-t", kind, "-N", "", "-f"])
            .arg(sandbox.path(kind));
        assert!(generate.status().expect("ssh-keygen").success());
        let text = std::fs::read_to_string(sandbox.path(&format!("{kind}.pub"))).expect("a key");
        let words: Vec<_> = text.split_whitespace().collect();
        keys.push(serde_json::json!({"name": kind, "algorithm": words[0], "key-data": words[1]}));
    }
    let body = serde_json::json!({"ietf-system:system": {"authentication": {
        "user": [{"name": "maria", "authorized-key": keys}]}}});
    sandbox.write("keys.json", body.to_string());
    let place = [
        "--dataspace",
        "espalier",
        "--anchor",
        "server",
        "--store",
        "embedded:store",
    ];
    sandbox
        .run(&[&["edit", "keys.json"], &place[..]].concat())
        .ok();
}

#[test]
fn keys_of_files_and_of_an_agent_over_ssh() {
    let sandbox = with_user();
    let kinds = ["ed25519", "rsa", "ecdsa"];
    keys(&sandbox, &kinds);
    let server = sandbox.serve(&["--store", "embedded:store", "--netconf-ssh", "127.0.0.1:0"]);
    let address = server.netconf["ssh"].as_str().expect("an address");
    let target = format!("maria@{address}");
    for kind in kinds {
        let accept = [
            &*target,
            "hello",
            "--accept-new-host-key",
            "--identity",
            kind,
        ];
        netconf(&sandbox, &accept, &[]).ok();
    }
    let error = netconf(&sandbox, &[&*target, "hello", "--identity", "none"], &[]).failed(1);
    assert!(error.contains("none"), "{error}");
    // Without a terminal, nobody enters a passphrase.
    let mut lock = Command::new("ssh-keygen");
    lock.args(["-q", "-p", "-P", "", "-N", "secret words", "-f"])
        .arg(sandbox.path("ecdsa"));
    assert!(lock.status().expect("ssh-keygen").success());
    let locked = [&*target, "hello", "--identity", "ecdsa"];
    let error = netconf(&sandbox, &locked, &[]).failed(1);
    assert!(
        error.contains("it is encrypted") && error.contains("ssh-add 'ecdsa'"),
        "{error}"
    );
    std::fs::copy(sandbox.path("ecdsa"), sandbox.path("home/.ssh/id_ecdsa")).expect("a copy");
    let error = netconf(&sandbox, &[&*target, "hello"], &[]).failed(1);
    assert!(error.contains("id_ecdsa was not used"), "{error}");
    // An agent has one of them.
    let socket = sandbox.path("agent").display().to_string();
    let mut agent = Command::new("ssh-agent");
    let mut agent = agent
        .args(["-D", "-a", &socket])
        .stdout(Stdio::null())
        .spawn()
        .expect("ssh-agent");
    while !sandbox.path("agent").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut add = Command::new("ssh-add");
    let added = add
        .env("SSH_AUTH_SOCK", &socket)
        .arg(sandbox.path("rsa"))
        .output();
    assert!(added.expect("ssh-add").status.success());
    let by_agent = netconf(
        &sandbox,
        &[&*target, "hello"],
        &[("SSH_AUTH_SOCK", &socket)],
    );
    agent.kill().expect("an agent");
    agent.wait().expect("an end");
    by_agent.ok();
}

/// The command line of a process has no password, and a password in it is rejected.
#[test]
fn passwords_are_not_arguments() {
    let sandbox = Sandbox::new();
    let error = netconf(&sandbox, &["ssh://maria:secret@127.0.0.1:1", "hello"], &[]).failed(2);
    assert!(!error.contains("secret"), "{error}");
    netconf(
        &sandbox,
        &["--password", "secret", "127.0.0.1:1", "hello"],
        &[],
    )
    .failed(2);
}

#[test]
fn servers_that_are_none_have_clear_errors() {
    let sandbox = Sandbox::new();
    let address = format!("127.0.0.1:{}", free_port());
    let error = netconf(&sandbox, &[&address, "hello"], &[]).failed(1);
    assert!(
        error.contains("cannot connect to ssh://127.0.0.1"),
        "{error}"
    );
    let error = netconf(&sandbox, &["unix:none.sock", "hello"], &[]).failed(1);
    assert!(error.contains("none.sock"), "{error}");
    let error = netconf(&sandbox, &["http://h", "hello"], &[]).failed(2);
    assert!(error.contains("http://h"), "{error}");
    let error = netconf(&sandbox, &["hello"], &[]).failed(2);
    assert!(error.contains("there is no server"), "{error}");
    let error = netconf(&sandbox, &["tls://127.0.0.1", "hello"], &[]).failed(2);
    assert!(error.contains("--server-ca"), "{error}");
}

/// Writes the certificates of an authority, a server and a client.
fn certificates(sandbox: &Sandbox) {
    let key = || KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(params, key()).expect("an authority");
    sandbox.write("ca.pem", authority.as_ref().pem());
    for (name, host, usage) in [
        ("server", "localhost", ExtendedKeyUsagePurpose::ServerAuth),
        ("client", "maria", ExtendedKeyUsagePurpose::ClientAuth),
    ] {
        let own = key();
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, host);
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&own, &authority).expect("a certificate");
        sandbox.write(&format!("{name}.pem"), certificate.pem());
        sandbox.write(&format!("{name}.key"), own.serialize_pem());
    }
}

const SERVER_TLS: [&str; 6] = [
    "--tls-cert",
    "server.pem",
    "--tls-key",
    "server.key",
    "--netconf-client-ca",
    "ca.pem",
];
const CLIENT_TLS: [&str; 6] = [
    "--server-ca",
    "ca.pem",
    "--client-cert",
    "client.pem",
    "--client-key",
    "client.key",
];

#[test]
fn certificates_over_tls() {
    let sandbox = Sandbox::new();
    certificates(&sandbox);
    create_store(&sandbox);
    let options = [
        &["--store", "embedded:store", "--netconf-tls", "127.0.0.1:0"],
        &SERVER_TLS[..],
    ]
    .concat();
    let server = sandbox.serve(&options);
    let address = server.netconf["tls"].as_str().expect("an address");
    let port = address.rsplit(':').next().expect("a port");
    let run = |host: &str, options: &[&str]| {
        let target = format!("tls://{host}:{port}");
        netconf(
            &sandbox,
            &[&[&*target, "get-config"], options].concat(),
            &[],
        )
    };
    assert!(run("localhost", &CLIENT_TLS).ok().contains("first"));
    let named = [&CLIENT_TLS[..], &["--tls-server-name", "localhost"]].concat();
    run("127.0.0.1", &named).ok();
    let error = run("127.0.0.1", &CLIENT_TLS).failed(1);
    assert!(error.contains("not for “127.0.0.1”"), "{error}");
    let error = run("localhost", &CLIENT_TLS[..2]).failed(1);
    assert!(error.contains("certificate of the client"), "{error}");
    let other = [&["--server-ca", "client.pem"], &CLIENT_TLS[2..]].concat();
    let error = run("localhost", &other).failed(1);
    assert!(
        error.contains("not signed by a trusted authority"),
        "{error}"
    );
}

#[test]
fn servers_call_home_over_ssh_and_tls() {
    let sandbox = with_user();
    certificates(&sandbox);
    let (ssh, tls) = (free_port(), free_port());
    let homes = [
        format!("a=ssh://127.0.0.1:{ssh}"),
        format!("b=tls://127.0.0.1:{tls}"),
    ];
    let call = [
        "--store",
        "embedded:store",
        "--netconf-host-keys",
        "keys",
        "--netconf-call-home",
        &homes[0],
        "--netconf-call-home",
        &homes[1],
    ];
    let _server = sandbox.serve(&[&call[..], &SERVER_TLS].concat());
    let target = format!("call-home+ssh://maria@127.0.0.1:{ssh}");
    let over_ssh = [
        &target,
        "get-config",
        "--password-file",
        "password",
        "--accept-new-host-key",
        "--host-key-alias",
        "device-7",
    ];
    let over_ssh: Vec<&str> = over_ssh.to_vec();
    assert!(netconf(&sandbox, &over_ssh, &[]).ok().contains("first"));
    let known = std::fs::read_to_string(sandbox.path("home/.ssh/known_hosts")).expect("a file");
    assert!(known.contains("device-7"), "{known}");
    let target = format!("call-home+tls://127.0.0.1:{tls}");
    let named = ["hello", "--tls-server-name", "localhost"];
    let over_tls = [&[&*target], &named[..], &CLIENT_TLS].concat();
    assert!(netconf(&sandbox, &over_tls, &[]).ok().contains("base 1.1"));
}
