//! Call home: the server connects to its clients.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use espalier_protocols::netconf::transport::ssh::SshTransport;
use espalier_protocols::netconf::transport::tls::TlsTransport;
use espalier_protocols::netconf::transport::{
    CallHome, CallHomeClient, CallHomeError, ConnectionType, Endpoint, Protocol, StartWith,
    serve_call_home,
};
use espalier_testkit::servers::free_port;
use tempfile::tempdir;

use crate::pki::{OpenSsl, Pki};
use crate::ssh_client::{accept, netconf};
use crate::support::{SOON, Server, audit, host_keys, limits, service, soon};

fn endpoint(protocol: Protocol, port: u16) -> Endpoint {
    Endpoint {
        protocol,
        host: "127.0.0.1".to_owned(),
        port,
    }
}

/// A client with short pauses.
fn client(endpoints: Vec<Endpoint>) -> CallHomeClient {
    CallHomeClient {
        pause_first: Duration::from_millis(50),
        pause_max: Duration::from_millis(200),
        attempts_max: 2,
        ..CallHomeClient::new("management", endpoints)
    }
}

/// A server that calls this client over SSH.
fn calling(client: CallHomeClient) -> Server {
    let mut server = Server::silent(service(&[], Vec::new()), limits(), tempdir().unwrap());
    let ssh = SshTransport::new(server.context.clone(), host_keys());
    let call_home = CallHome::new(server.context.clone(), Some(ssh), None);
    call_home.check(&client).unwrap();
    server.spawn(serve_call_home(call_home, client));
    server
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Row 46 of the table of user-reported problems: netopeer2 issues 292, 969, 1083, libnetconf2 issue 241.
///
/// §5 row 46
#[test]
fn a_persistent_connection_comes_back_after_any_failure() {
    let (listener, port) = listener();
    let server = calling(client(vec![endpoint(Protocol::Ssh, port)]));
    for _ in 0..2 {
        // The client closes the connection at once, sends nonsense, has a wrong password, goes away in a session.
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        drop(stream);
        server.runtime.block_on(async {
            assert!(accept(&listener, "wrong").await.is_none());
        });
        server.runtime.block_on(async {
            let client = accept(&listener, crate::support::PASSWORD).await.unwrap();
            let mut session = netconf(&client).await;
            session.send("one\n").await;
            assert_eq!(session.next().await, "one");
        });
    }
}

#[test]
fn a_client_that_listens_late_is_reached_soon() {
    let port = free_port();
    let server = calling(client(vec![endpoint(Protocol::Ssh, port)]));
    std::thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
    server.runtime.block_on(async {
        let client = accept(&listener, crate::support::PASSWORD).await.unwrap();
        netconf(&client).await;
    });
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn endpoints_in_order_and_the_last_connected_first() {
    let dead_port = free_port();
    let (listener, port) = listener();
    let server = calling(CallHomeClient {
        start_with: StartWith::LastConnected,
        ..client(vec![
            endpoint(Protocol::Ssh, dead_port),
            endpoint(Protocol::Ssh, port),
        ])
    });
    let session = || {
        server.runtime.block_on(async {
            let client = accept(&listener, crate::support::PASSWORD).await.unwrap();
            netconf(&client).await.send("close\n").await;
        });
    };
    session();
    let dead = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], dead_port))).unwrap();
    dead.set_nonblocking(true).unwrap();
    session();
    session();
    assert!(dead.accept().is_err(), "the first endpoint was tried again");
}

#[test]
fn a_periodic_connection_ends_when_idle_and_comes_back() {
    let (listener, port) = listener();
    let period = Duration::from_millis(1500);
    let server = calling(CallHomeClient {
        connection_type: ConnectionType::Periodic {
            period,
            anchor: None,
            idle_timeout: Some(Duration::from_millis(300)),
        },
        ..client(vec![endpoint(Protocol::Ssh, port)])
    });
    let mut starts = Vec::new();
    for _ in 0..3 {
        server.runtime.block_on(async {
            let client = accept(&listener, crate::support::PASSWORD).await.unwrap();
            starts.push(Instant::now());
            let mut session = netconf(&client).await;
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(150)).await;
                session.send("busy\n").await;
                assert_eq!(session.next().await, "busy");
            }
            session.ended().await;
        });
    }
    for pair in starts.windows(2) {
        let between = pair[1] - pair[0];
        assert!(between > period / 2 && between < period * 2, "{between:?}");
    }
    server.assert_no_sessions();
}

/// RFC 8071: the idle time is that of the connection. A client of SSH can keep one without any session.
#[test]
fn a_periodic_connection_without_a_session_ends_when_idle() {
    let (listener, port) = listener();
    let server = calling(CallHomeClient {
        connection_type: ConnectionType::Periodic {
            period: Duration::from_millis(1500),
            anchor: None,
            idle_timeout: Some(Duration::from_millis(300)),
        },
        ..client(vec![endpoint(Protocol::Ssh, port)])
    });
    server.runtime.block_on(async {
        let mut kept = Vec::new();
        for has_session in [false, true, false] {
            let client = accept(&listener, crate::support::PASSWORD).await.unwrap();
            if has_session {
                let mut session = netconf(&client).await;
                session.send("close\n").await;
                session.ended().await;
            }
            kept.push(client);
        }
    });
    server.assert_no_sessions();
}

#[test]
fn over_tls_with_the_failed_check_in_the_audit_log() {
    let port = free_port();
    let folder = tempdir().unwrap();
    let pki = Pki::new(folder.path());
    pki.client("maria");
    pki.client_of_other("foreign");
    let tls = pki.tls();
    let authorities = tls.client_authorities();
    let mut server = Server::silent(service(&[], authorities), limits(), folder);
    let transport = TlsTransport::new(server.context.clone(), tls);
    let call_home = CallHome::new(server.context.clone(), None, transport);
    let client = client(vec![endpoint(Protocol::Tls, port)]);
    call_home.check(&client).unwrap();
    server.spawn(serve_call_home(call_home, client));
    // The management station listens, and is the client of TLS: `socat` in the hands of users.
    let session = |name: &str| {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        let relay = crate::pki::Relay::new(stream);
        OpenSsl::connect(relay.port(), &pki.certificate(name))
    };
    assert_eq!(session("foreign").rest(), "");
    let mut client = session("maria");
    assert_eq!(client.line(), "hello maria netconf-tls 127.0.0.1");
    client.send("close\n");
    assert_eq!(client.rest(), "");
    let records = audit(&server.service);
    assert!(
        records[0].contains("not signed by a trusted authority"),
        "{records:?}"
    );
}

#[test]
fn clients_that_cannot_be_called() {
    let server = Server::silent(service(&[], Vec::new()), limits(), tempdir().unwrap());
    let ssh = SshTransport::new(server.context.clone(), host_keys());
    let call_home = CallHome::new(server.context.clone(), Some(ssh), None);
    let error = call_home.check(&client(Vec::new())).unwrap_err();
    assert_eq!(error, CallHomeError::NoEndpoint("management".to_owned()));
    let error = call_home.check(&client(vec![endpoint(Protocol::Tls, 1)]));
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "management: the server has no tls to call home with");
}

#[test]
fn shutdown_ends_call_home() {
    let (listener, port) = listener();
    let server = calling(client(vec![endpoint(Protocol::Ssh, port)]));
    let (_silent, _) = listener.accept().unwrap();
    soon("a connection", || server.context.connections() == 1);
    let start = Instant::now();
    server.runtime.block_on(server.context.shut_down());
    assert!(start.elapsed() < SOON / 2);
    assert_eq!(server.context.connections(), 0);
}
