//! Authentication over SSH.

use serde_json::json;

use crate::openssh::OpenSsh;
use crate::support::{PASSWORD, Server, audit, authorized_key, configure, key_pair, limits};

#[test]
fn passwords_by_both_methods() {
    let server = Server::ssh(limits());
    for method in ["password", "keyboard-interactive"] {
        let mut ssh = OpenSsh::with_password(&server, PASSWORD, method).netconf();
        assert_eq!(ssh.line(), "hello ann netconf-ssh 127.0.0.1");
        ssh.send("one\n");
        assert_eq!(ssh.line(), "one");
        ssh.send("close\n");
        assert_eq!(ssh.end(), (Some(0), String::new()), "{method}");
        let errors = OpenSsh::with_password(&server, "wrong", method).rejected();
        assert!(errors.contains("Permission denied"), "{errors}");
    }
    server.assert_idle();
}

#[test]
fn public_keys_of_each_algorithm() {
    let folder = tempfile::tempdir().unwrap();
    let pair = |name, options: &[&str]| key_pair(folder.path(), name, options);
    let files = [
        pair("ed25519", &["-t", "ed25519"]),
        pair("ecdsa256", &["-t", "ecdsa", "-b", "256"]),
        pair("ecdsa384", &["-t", "ecdsa", "-b", "384"]),
        pair("ecdsa521", &["-t", "ecdsa", "-b", "521"]),
        pair("rsa", &["-t", "rsa", "-b", "2048"]),
    ];
    let other = pair("other", &["-t", "ed25519"]);
    let keys = files.each_ref();
    let keys = keys.map(|file| authorized_key(&file.with_extension("pub")));
    let server = Server::ssh_with_keys(limits(), &keys, folder);
    for file in &files {
        let mut ssh = OpenSsh::with_key(&server, file).netconf();
        assert_eq!(ssh.line(), "hello bob netconf-ssh 127.0.0.1", "{file:?}");
        assert_eq!(ssh.end().0, Some(0));
    }
    // RSA with SHA-256 too, and not with SHA-1.
    for (algorithm, is_accepted) in [("rsa-sha2-256", true), ("ssh-rsa", false)] {
        let mut ssh = OpenSsh::with_key(&server, &files[4]);
        ssh.option(&format!("PubkeyAcceptedAlgorithms={algorithm}"));
        let output = ssh.run(&["-s", "127.0.0.1", "netconf"]);
        assert_eq!(output.status.success(), is_accepted, "{output:?}");
    }
    OpenSsh::with_key(&server, &other).rejected();
    // Not for another user.
    OpenSsh::as_user_with_key(&server, "ann", &files[0]).rejected();
    // A client with several keys tries all of them.
    let mut ssh = OpenSsh::with_key(&server, &other);
    ssh.arguments(&["-i", files[4].to_str().unwrap()]);
    assert!(ssh.run(&["-s", "127.0.0.1", "netconf"]).status.success());
    server.assert_idle();
}

#[test]
fn host_keys_of_each_algorithm_and_none_with_sha1() {
    let server = Server::ssh(limits());
    for (algorithm, is_accepted) in [
        ("ssh-ed25519", true),
        ("ecdsa-sha2-nistp256", true),
        ("rsa-sha2-256", true),
        ("rsa-sha2-512", true),
        ("ssh-rsa", false),
    ] {
        let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password");
        ssh.option(&format!("HostKeyAlgorithms={algorithm}"));
        let output = ssh.run(&["-s", "127.0.0.1", "netconf"]);
        assert_eq!(output.status.success(), is_accepted, "{output:?}");
    }
}

#[test]
fn unknown_users_and_keys_that_are_added_later() {
    let server = Server::ssh(limits());
    let errors = OpenSsh::as_user(&server, "nobody", (PASSWORD, "password"), 1).rejected();
    assert!(errors.contains("Permission denied"), "{errors}");
    let keys = server.folder.path().join("key");
    key_pair(server.folder.path(), "key", &["-t", "ed25519"]);
    let key = authorized_key(&keys.with_extension("pub"));
    configure(
        &server.service,
        &json!({"ietf-system:system": {"authentication": {
            "user": [{"name": "bob", "authorized-key": [key]}],
        }}}),
    );
    let mut ssh = OpenSsh::with_key(&server, &keys).netconf();
    assert_eq!(ssh.line(), "hello bob netconf-ssh 127.0.0.1");
    assert_eq!(ssh.end().0, Some(0));
}

#[test]
fn logins_have_audit_records() {
    let server = Server::ssh(limits());
    OpenSsh::with_password(&server, "wrong", "password").rejected();
    let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password").netconf();
    assert_eq!(ssh.line(), "hello ann netconf-ssh 127.0.0.1");
    assert_eq!(ssh.end().0, Some(0));
    let records = audit(&server.service);
    let expected = [
        "login-failed netconf-ssh 127.0.0.1 ann the user name or the password is wrong",
        "login netconf-ssh 127.0.0.1 ann ",
    ];
    assert_eq!(records, expected);
}
