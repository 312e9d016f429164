//! A proxy between a driver and its server that injects connection faults.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;

/// A proxy on its own port. Its threads end with the connections.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: Mutex<Vec<TcpStream>>,
    /// Whether responses are discarded.
    discards_responses: AtomicBool,
}

/// The direction of a byte stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Responses,
}

impl Proxy {
    /// A proxy for a port of the loopback interface.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface");
        let port = listener.local_addr().expect("an address").port();
        let shared: Arc<Shared> = Arc::default();
        let accepted = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let mut open = accepted.open.lock();
                for stream in [&client, &server] {
                    open.push(stream.try_clone().expect("a stream"));
                }
                forward(&client, &server, Direction::Requests, &accepted);
                forward(&server, &client, Direction::Responses, &accepted);
            }
        });
        Self { port, shared }
    }

    /// The port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes all connections, with data in transit.
    pub fn cut(&self) {
        for stream in self.shared.open.lock().drain(..) {
            // It may be closed already, which is fine.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From now on requests still reach the server, and responses are lost, until
    /// [`Self::cut_after_requests`].
    pub fn lose_answers(&self) {
        self.shared
            .discards_responses
            .store(true, Ordering::Release);
    }

    /// Closes all connections, after [`Self::lose_answers`]: the requests since then were executed, and
    /// their responses lost. New connections work normally.
    pub fn cut_after_requests(&self) {
        self.cut();
        self.shared
            .discards_responses
            .store(false, Ordering::Release);
    }
}

fn forward(from: &TcpStream, to: &TcpStream, direction: Direction, shared: &Arc<Shared>) {
    let mut from = from.try_clone().expect("a stream");
    let mut to = to.try_clone().expect("a stream");
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if direction == Direction::Responses
                && shared.discards_responses.load(Ordering::Acquire)
            {
                // Nothing may follow the lost data on this connection.
                while let Ok(1..) = from.read(&mut buffer) {}
                break;
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
