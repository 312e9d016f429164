//! Logins with passwords that PAM verifies. Configures services in `/etc/pam.d`, so that only root can run these tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};
use crate::users::{ETH0, PASSWORD, add_user, basic, run_as, send};

const INTERFACES: &str = "/restconf/data/ietf-interfaces:interfaces";

/// A user of every Debian system, with a group of the same name.
const USER: &str = "games";

/// A PAM service, removed on drop.
struct PamService {
    name: String,
    file: PathBuf,
}

impl PamService {
    fn new(test: &str, lines: &str) -> Self {
        let name = format!("espalier-test-{test}-{}", std::process::id());
        let file = PathBuf::from("/etc/pam.d").join(&name);
        fs::write(&file, lines).expect("root can configure PAM services");
        Self { name, file }
    }

    /// A service that accepts [`PASSWORD`].
    fn with_password(sandbox: &Sandbox, test: &str) -> Self {
        let script = sandbox.path("verify");
        let text = format!("#!/bin/sh\n[ \"$(tr -d '\\0')\" = '{PASSWORD}' ]\n");
        fs::write(&script, text).expect("a file");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
        let script = script.display();
        let lines = format!(
            "auth required pam_exec.so quiet expose_authtok {script}\naccount required pam_permit.so\n"
        );
        Self::new(test, &lines)
    }

    fn serve(&self, sandbox: &Sandbox, access: &[&str]) -> Server {
        sandbox.serve(&[access, &["--pam-service", &self.name]].concat())
    }
}

impl Drop for PamService {
    fn drop(&mut self) {
        // A file that remains is of no use to anybody.
        let _ = fs::remove_file(&self.file);
    }
}

fn status(server: &Server, user: &str, password: &str) -> u16 {
    let header = [("authorization", &*basic(user, password))];
    send(server, "GET", INTERFACES, &header, "").status
}

#[test]
fn pam_verifies_users_that_are_not_in_ietf_system() {
    let (sandbox, access) = store();
    let service = PamService::with_password(&sandbox, "users");
    let server = service.serve(&sandbox, &access);
    assert_eq!(send(&server, "GET", INTERFACES, &[], "").status, 401);
    assert_eq!(status(&server, USER, "wrong"), 401);
    assert_eq!(status(&server, USER, PASSWORD), 200);
    let set = ["set", &*format!("{ETH0}/description"), "by games"];
    let denied = run_as(&sandbox, &server, USER, &set).failed(1);
    assert!(denied.contains("access denied"), "{denied}");
    drop(server);
    // Its group of the operating system is one of ietf-netconf-acm, by name.
    let store = ["--store", "embedded:store"];
    let no_group = sandbox.run(&[&["user", "add", "x", "--external"], &store[..]].concat());
    assert!(no_group.failed(2).contains("--group"));
    let admin = ["user", "add", "maria", "--external", "--admin"];
    sandbox.run(&[&admin, &store[..]].concat()).ok();
    let rules = r#"{"ietf-netconf-acm:nacm":{"rule-list":[{"name":"players","group":["games"],
        "rule":[{"name":"all","module-name":"*","access-operations":"*","action":"permit"}]}]}}"#;
    let rules = sandbox.write("rules.json", rules);
    let server_anchor = ["--dataspace", "espalier", "--anchor", "server"];
    sandbox
        .run(&[&["edit", &rules], &server_anchor[..], &store[..]].concat())
        .ok();
    let server = service.serve(&sandbox, &access);
    run_as(&sandbox, &server, USER, &set).ok();
    run_as(&sandbox, &server, "maria", &set).ok();
    assert_eq!(status(&server, "maria", "wrong"), 401);
}

#[test]
fn a_user_of_ietf_system_has_its_password_there() {
    let (sandbox, access) = store();
    let service = PamService::new(
        "own-password",
        "auth required pam_permit.so\naccount required pam_permit.so\n",
    );
    add_user(&sandbox, &["maria"]);
    let server = service.serve(&sandbox, &access);
    assert_eq!(status(&server, "maria", "anything"), 401);
    assert_eq!(status(&server, "maria", PASSWORD), 200);
    assert_eq!(status(&server, USER, "anything"), 200);
}

#[test]
fn a_service_that_denies_and_an_account_that_is_closed() {
    let (sandbox, access) = store();
    for (auth, account) in [("deny", "permit"), ("permit", "deny")] {
        let lines = format!("auth required pam_{auth}.so\naccount required pam_{account}.so\n");
        let service = PamService::new(auth, &lines);
        let server = service.serve(&sandbox, &access);
        assert_eq!(status(&server, USER, PASSWORD), 401, "{lines}");
    }
}

#[test]
fn mistakes_of_the_configuration_are_reported() {
    let (sandbox, access) = store();
    for (name, more, expected) in [
        ("../x", None, "is not a name"),
        ("espalier-none", None, "no file /etc/pam.d/espalier-none"),
        ("login", Some("--insecure-no-authentication"), "exclude"),
    ] {
        let serve = [&["serve", "--pam-service", name], &access[..]].concat();
        let serve = [&serve[..], more.as_slice()].concat();
        let error = sandbox.run(&serve).failed(2);
        assert!(error.contains(expected), "{error}");
    }
}
