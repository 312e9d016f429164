//! More connections than the limit.

use std::io::Write;
use std::net::TcpStream;

use espalier_protocols::server::Limits;

use crate::served::Server;
use crate::support::{connect, read_response, start, status};

const CONNECTIONS_MAX: usize = 64;

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn flooded(server: &Server, sent: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = connect(server);
        // One of these may be closed already.
        let _ = stream.write_all(sent);
        stream
    };
    (0..3 * CONNECTIONS_MAX).map(open).collect()
}

/// Any number of silent connections, or connections that stop within headers or a body, do not block new
/// ones.
#[test]
fn connections_without_requests_do_not_block_others() {
    let limits = Limits {
        connections_max: CONNECTIONS_MAX,
        ..Limits::default()
    };
    let server = start(limits);
    let body = "POST /stats/track HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    let mut idle = Vec::new();
    for sent in ["", "PRI * HT", "GET /heal", body] {
        idle.extend(flooded(&server, sent.as_bytes()));
        for _ in 0..10 {
            let mut stream = connect(&server);
            stream.write_all(GET).expect("sent");
            assert_eq!(status(&read_response(&mut stream)), 200, "{sent:?}");
        }
    }
}

/// An active connection survives while idle ones come and go.
#[test]
fn an_active_connection_survives_a_flood_of_idle_ones() {
    let limits = Limits {
        connections_max: CONNECTIONS_MAX,
        ..Limits::default()
    };
    let server = start(limits);
    let mut active = connect(&server);
    for _ in 0..3 {
        active.write_all(GET).expect("sent");
        assert_eq!(status(&read_response(&mut active)), 200);
        flooded(&server, b"");
    }
    active.write_all(GET).expect("sent");
    assert_eq!(status(&read_response(&mut active)), 200);
}
