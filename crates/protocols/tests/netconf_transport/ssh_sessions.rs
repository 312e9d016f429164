//! Sessions on channels.

use std::io::Read;
use std::process::Command;

use crate::openssh::OpenSsh;
use crate::session::byte_at;
use crate::support::{PASSWORD, Server, limits, run, soon};

/// The number of bytes of a test of rekeying. `ESPALIER_TEST_SSH_BYTES` makes it larger than the limit of 1 GiB after
/// which russh starts one itself.
fn bytes_of_rekeying() -> u64 {
    let bytes = std::env::var("ESPALIER_TEST_SSH_BYTES").ok();
    bytes.map_or(48 << 20, |bytes| bytes.parse().expect("a number"))
}

fn assert_pattern(mut output: impl Read, count: u64) {
    let mut piece = vec![0; 64 * 1024];
    let mut position = 0;
    while position < count {
        let length = (count - position).min(piece.len() as u64) as usize;
        let read = output.read(&mut piece[..length]).expect("output");
        assert!(read > 0, "the end after {position} of {count} bytes");
        let start = position;
        let is_same = |(offset, byte): (usize, &u8)| *byte == byte_at(start + offset as u64);
        assert!(piece[..read].iter().enumerate().all(is_same), "{position}");
        position += read as u64;
    }
}

/// §5 row 61
#[test]
fn large_replies_across_rekeys_started_by_the_client() {
    let server = Server::ssh(limits());
    let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password");
    let mut ssh = ssh.option("RekeyLimit=4M").netconf();
    let count = bytes_of_rekeying();
    ssh.line();
    ssh.send(&format!("send {count}\n"));
    assert_pattern(&mut ssh.output, count);
    ssh.send("after\n");
    assert_eq!(ssh.line(), "after");
    assert_eq!(ssh.end().0, Some(0));
}

#[test]
fn large_requests_across_rekeys_started_by_the_client() {
    let server = Server::ssh(limits());
    let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password");
    let mut ssh = ssh.option("RekeyLimit=4M").netconf();
    let count = bytes_of_rekeying();
    ssh.line();
    ssh.send(&format!("take {count}\n"));
    let mut input = ssh.input.take().unwrap();
    let sending = std::thread::spawn(move || {
        let pattern = crate::session::pattern(251 * 256);
        let mut left = count;
        while left > 0 {
            let length = left.min(pattern.len() as u64) as usize;
            std::io::Write::write_all(&mut input, &pattern[..length]).expect("a connection");
            left -= length as u64;
        }
        input
    });
    assert_eq!(ssh.line(), format!("taken {count}"));
    drop(sending.join().unwrap());
    assert_eq!(ssh.end().0, Some(0));
}

/// Row 7 of the table of user-reported problems: libnetconf2 issue 44.
///
/// §5 row 7
#[test]
fn a_second_channel_of_a_connection_is_a_session_of_its_own() {
    let server = Server::ssh(limits());
    let control = server.folder.path().join("control");
    let control = format!("ControlPath={}", control.display());
    let mut first = OpenSsh::with_password(&server, PASSWORD, "password");
    let mut first = first
        .option(&control)
        .arguments(&["-o", "ControlMaster=yes"])
        .netconf();
    assert_eq!(first.line(), "hello ann netconf-ssh 127.0.0.1");
    // Without a password: over the connection of the first.
    let mut second = OpenSsh::new(&server, "ann").option(&control).netconf();
    assert_eq!(second.line(), "hello ann netconf-ssh 127.0.0.1");
    assert_eq!(
        (server.context.connections(), server.context.sessions()),
        (1, 2)
    );
    second.send("two\n");
    first.send("one\n");
    assert_eq!((first.line(), second.line()), ("one".into(), "two".into()));
    second.send("close\n");
    assert_eq!(second.end().0, Some(0));
    first.send("still\n");
    assert_eq!(first.line(), "still");
    assert_eq!(first.end().0, Some(0));
    server.assert_idle();
}

#[test]
fn what_was_sent_before_the_end_is_answered() {
    let server = Server::ssh(limits());
    let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password").netconf();
    ssh.send("one\ntwo\nsend 3000000\n");
    drop(ssh.input.take());
    assert_eq!(ssh.line(), "hello ann netconf-ssh 127.0.0.1");
    assert_eq!((ssh.line(), ssh.line()), ("one".into(), "two".into()));
    assert_pattern(&mut ssh.output, 3_000_000);
    assert_eq!(ssh.end(), (Some(0), String::new()));
}

#[test]
fn nothing_but_the_subsystem_is_served() {
    let server = Server::ssh(limits());
    let ssh = || OpenSsh::with_password(&server, PASSWORD, "password");
    for (arguments, reason) in [
        (&["127.0.0.1"][..], "shell request failed"),
        (&["127.0.0.1", "id"], "exec request failed"),
        (&["-s", "127.0.0.1", "sftp"], "subsystem request failed"),
        (&["-t", "127.0.0.1", "id"], "exec request failed"),
        (&["-W", "127.0.0.1:22", "127.0.0.1"], "forwarding failed"),
    ] {
        let output = ssh().run(arguments);
        assert!(!output.status.success(), "{output:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(reason), "{arguments:?}: {errors}");
    }
    let mut forwarding = ssh();
    forwarding.option("ExitOnForwardFailure=yes");
    let output = forwarding.run(&["-N", "-R", "0:127.0.0.1:22", "127.0.0.1"]);
    assert!(!output.status.success(), "{output:?}");
    server.assert_idle();
}

#[test]
fn a_killed_client_leaves_nothing() {
    let server = Server::ssh(limits());
    let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password").netconf();
    ssh.line();
    ssh.send("send 1000000000000\n");
    soon("a session", || server.context.sessions() == 1);
    ssh.kill();
    server.assert_idle();
}

#[test]
fn two_hundred_connects_in_a_row_leave_nothing() {
    let server = Server::ssh(limits());
    let port = server.address.port().to_string();
    for _ in 0..200 {
        let mut scan = Command::new("ssh-keyscan");
        run(scan.args(["-t", "ed25519", "-p", &port, "127.0.0.1"]));
    }
    for _ in 0..10 {
        let mut ssh = OpenSsh::with_password(&server, PASSWORD, "password").netconf();
        assert_eq!(ssh.line(), "hello ann netconf-ssh 127.0.0.1");
        assert_eq!(ssh.end().0, Some(0));
    }
    server.assert_idle();
}
