//! Limits of connections and sessions.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use espalier_protocols::netconf::transport::TransportLimits;

use crate::openssh::{OpenSsh, Running};
use crate::support::{PASSWORD, SOON, Server, limits, run, soon};

fn netconf(server: &Server) -> Running {
    OpenSsh::with_password(server, PASSWORD, "password").netconf()
}

#[test]
fn sessions_of_a_user_an_address_and_all() {
    for limits in [
        TransportLimits {
            sessions_of_user_max: 2,
            ..limits()
        },
        TransportLimits {
            sessions_of_address_max: 2,
            ..limits()
        },
        TransportLimits {
            sessions_max: 2,
            ..limits()
        },
    ] {
        let server = Server::ssh(limits);
        let mut sessions = [netconf(&server), netconf(&server)];
        for session in &mut sessions {
            assert_eq!(session.line(), "hello ann netconf-ssh 127.0.0.1");
        }
        let mut refused = OpenSsh::with_password(&server, PASSWORD, "password");
        let errors = refused.rejected();
        assert!(errors.contains("subsystem request failed"), "{errors}");
        let [first, _second] = sessions;
        assert_eq!(first.end().0, Some(0));
        soon("a slot is free", || server.context.sessions() == 1);
        let mut third = netconf(&server);
        assert_eq!(third.line(), "hello ann netconf-ssh 127.0.0.1");
        assert_eq!(third.end().0, Some(0));
    }
}

#[test]
fn authentication_attempts() {
    let server = Server::ssh(TransportLimits {
        authentication_attempts_max: 2,
        ..limits()
    });
    let mut ssh = OpenSsh::as_user(&server, "ann", ("wrong", "password"), 5);
    let errors = ssh.rejected();
    assert!(
        errors.contains("Too many authentication attempts"),
        "{errors}"
    );
    server.assert_idle();
}

/// Reads to the end of a connection; returns whether the server ended it.
fn is_ended(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut received = Vec::new();
    match stream.read_to_end(&mut received) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn clients_that_do_not_authenticate_are_closed_in_any_state() {
    let server = Server::ssh(TransportLimits {
        login_grace: Duration::from_millis(400),
        ..limits()
    });
    // A packet of 1,000 bytes, of which some are sent: it would be a KEXINIT.
    let partial = [&b"SSH-2.0-test\r\n"[..], &[0, 0, 3, 0xe8, 4, 20, 1, 2, 3]].concat();
    for sent in [&b""[..], b"SSH", b"SSH-2.0-test\r\n", &partial] {
        let start = Instant::now();
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(sent).unwrap();
        assert!(is_ended(&stream));
        assert!(start.elapsed() >= Duration::from_millis(400), "{sent:?}");
    }
    server.assert_idle();
}

#[test]
fn nonsense_ends_a_connection() {
    let server = Server::ssh(limits());
    let long = vec![b'x'; 100_000];
    let packet = [&b"SSH-2.0-test\r\n"[..], &[0xff; 64]].concat();
    for sent in [b"GET / HTTP/1.1\r\n\r\n", &long[..], &packet] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let _ = stream.write_all(sent);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert!(is_ended(&stream));
    }
    server.assert_idle();
}

#[test]
fn connections_that_are_not_authenticated() {
    let server = Server::ssh(TransportLimits {
        unauthenticated_max: 3,
        ..limits()
    });
    let connect = || TcpStream::connect(server.address).unwrap();
    let mut session = netconf(&server);
    session.line();
    let silent: Vec<TcpStream> = (0..3).map(|_| connect()).collect();
    soon("connections", || server.context.connections() == 4);
    // The oldest is closed for another one, which can log in.
    let mut another = netconf(&server);
    assert_eq!(another.line(), "hello ann netconf-ssh 127.0.0.1");
    assert!(is_ended(&silent[0]));
    assert_eq!(server.context.connections(), 4);
    drop(silent);
    assert_eq!((another.end().0, session.end().0), (Some(0), Some(0)));
    server.assert_idle();
}

#[test]
fn connections_of_an_address_that_are_not_authenticated() {
    let server = Server::ssh(TransportLimits {
        unauthenticated_of_address_max: 2,
        ..limits()
    });
    let connect = || TcpStream::connect(server.address).unwrap();
    let silent = [connect(), connect()];
    soon("connections", || server.context.connections() == 2);
    assert!(is_ended(&connect()));
    drop(silent);
    server.assert_idle();
    let mut session = netconf(&server);
    assert_eq!(session.line(), "hello ann netconf-ssh 127.0.0.1");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_client_that_does_not_answer_keepalives_is_closed() {
    let server = Server::ssh(TransportLimits {
        keepalive_interval: Duration::from_millis(300),
        keepalives_unanswered_max: 2,
        ..limits()
    });
    let mut live = netconf(&server);
    let mut dead = netconf(&server);
    live.line();
    dead.line();
    let pid = dead.pid().to_string();
    run(Command::new("kill").args(["-STOP", &pid]));
    soon("its session ends", || server.context.sessions() == 1);
    run(Command::new("kill").args(["-CONT", &pid]));
    assert_ne!(dead.end().0, Some(0));
    // An idle client that answers lives.
    std::thread::sleep(Duration::from_secs(2));
    live.send("here\n");
    assert_eq!(live.line(), "here");
    assert_eq!(live.end().0, Some(0));
    server.assert_idle();
}
