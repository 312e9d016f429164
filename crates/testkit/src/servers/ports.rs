//! Ports for servers that tests start.

use std::net::TcpListener;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use parking_lot::Mutex;
use rand::Rng;

/// The ports of servers. They are lower than those that the kernel gives to connections (32768 and higher):
/// such a port can be taken by any connection of another test before the server starts, or while a test
/// restarts it. The second port of a server in a Redis Cluster, 10,000 higher, is outside of both.
const PORTS: Range<u16> = 12_000..22_000;

/// A port of the loopback interface that no server uses. No other call returns it until this process ends.
pub fn free_port() -> u16 {
    static RESERVED: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let first = rand::rng().random_range(PORTS);
    let mut candidates = (first..PORTS.end).chain(PORTS.start..first);
    let reserved = candidates.find_map(|port| {
        // A name of an abstract socket exists once on the machine and disappears with the process.
        let name = format!("espalier-test-port-{port}");
        let name = SocketAddr::from_abstract_name(name).expect("a short name");
        let reservation = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind(("127.0.0.1", port)).ok()?;
        Some((port, reservation))
    });
    let (port, reservation) = reserved.expect("a free port");
    RESERVED.lock().push(reservation);
    port
}
