//! More connections than there may be.

use std::io::Write;
use std::net::TcpStream;

use espalier_protocols::server::Limits;

use crate::served::Server;
use crate::support::{answer, connect, start, status};

const CONNECTIONS_MAX: usize = 64;

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn flooded(server: &Server, said: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = connect(server);
        // One of these may be closed already.
        let _ = stream.write_all(said);
        stream
    };
    (0..3 * CONNECTIONS_MAX).map(open).collect()
}

/// As many silent connections as one likes keep nobody out, and neither do those that stopped within a
/// head or a body.
#[test]
fn connections_that_do_not_ask_keep_nobody_out() {
    let limits = Limits {
        connections_max: CONNECTIONS_MAX,
        ..Limits::default()
    };
    let server = start(limits);
    let body = "POST /stats/track HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    let mut held = Vec::new();
    for said in ["", "PRI * HT", "GET /heal", body] {
        held.extend(flooded(&server, said.as_bytes()));
        for _ in 0..10 {
            let mut stream = connect(&server);
            stream.write_all(GET).expect("sent");
            assert_eq!(status(&answer(&mut stream)), 200, "{said:?}");
        }
    }
}

/// A connection that asks stays while others that do not come and go.
#[test]
fn a_connection_that_asks_outlives_a_flood_of_those_that_do_not() {
    let limits = Limits {
        connections_max: CONNECTIONS_MAX,
        ..Limits::default()
    };
    let server = start(limits);
    let mut asking = connect(&server);
    for _ in 0..3 {
        asking.write_all(GET).expect("sent");
        assert_eq!(status(&answer(&mut asking)), 200);
        flooded(&server, b"");
    }
    asking.write_all(GET).expect("sent");
    assert_eq!(status(&answer(&mut asking)), 200);
}
