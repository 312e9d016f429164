//! Users that change while a server has NETCONF sessions.

use std::io::Read;
use std::process::Stdio;

use crate::interfaces_data::store;
use crate::netconf::{PASSWORD, ssh};

/// RFC 6241 §2.2 leaves it to the server how long an authenticated session lasts.
#[test]
fn sessions_of_a_user_that_another_process_removes_end() {
    let (sandbox, access) = store();
    for user in ["maria", "bob"] {
        let add = [&["user", "add", user, "--admin"], &access[..]].concat();
        sandbox.run_with(&add, PASSWORD.as_bytes(), &[]).ok();
    }
    let netconf = ["--netconf-ssh", "127.0.0.1:0", "--netconf-host-keys", "k"];
    let server = sandbox.serve(&[&netconf, &access[..]].concat());
    let mut session = ssh(&sandbox, &server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ssh");
    let mut output = session.stdout.take().expect("output");
    output.read_exact(&mut [0; 64]).expect("the hello");
    let remove = |user| [&["user", "delete", user], &access[..]].concat();
    sandbox.run(&remove("bob")).ok();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(session.try_wait().expect("a process").is_none());
    sandbox.run(&remove("maria")).ok();
    // Otherwise this waits until the test is stopped.
    output.read_to_end(&mut Vec::new()).expect("the end");
    session.wait().expect("an end");
}
