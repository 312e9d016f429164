//! A proxy that cuts connections, between a driver and its server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// A proxy on a port of its own. Its threads end with the connections.
pub struct Proxy {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A proxy for what listens on a port of the loopback interface.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface");
        let port = listener.local_addr().expect("an address").port();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let accepted = Arc::clone(&open);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let mut open = accepted.lock();
                for stream in [&client, &server] {
                    open.push(stream.try_clone().expect("a stream"));
                }
                pump(&client, &server);
                pump(&server, &client);
            }
        });
        Self { port, open }
    }

    /// The port to connect to instead.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts all connections, whatever is on its way.
    pub fn cut(&self) {
        for stream in self.open.lock().drain(..) {
            // It may be closed already, which is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pump(from: &TcpStream, to: &TcpStream) {
    let mut from = from.try_clone().expect("a stream");
    let mut to = to.try_clone().expect("a stream");
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
