//! A RESTCONF server in this process, and one keep-alive connection to it.
//!
//! The client is written by hand, so that what is measured is the server: it sends one request,
//! and reads the answer by its `content-length`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use espalier_protocols::restconf::{self, Restconf, RestconfConfig};
use espalier_protocols::server;
use espalier_store::Tree;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::dataset;
use crate::error::{Failure, Result};

/// A server on one thread, on the core of the thread that started it: a client that waits on
/// another core would measure how long that core takes to wake up.
pub struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
    _core: OneCore,
}

/// Keeps the calling thread on the core that it runs on, until this is dropped.
struct OneCore {
    set: CpuSet,
    before: CpuSet,
}

impl OneCore {
    fn hold() -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        set.set(sched_getcpu());
        sched_setaffinity(None, &set)?;
        Ok(Self { set, before })
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        // Staying on one core is slower, not wrong.
        let _ = sched_setaffinity(None, &self.before);
    }
}

impl Server {
    /// Serves a tree on a free port of the loopback.
    pub fn start(tree: Tree) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let core = OneCore::hold()?;
        let cores = core.set;
        let thread = thread::spawn(move || {
            sched_setaffinity(None, &cores).map_err(io::Error::from)?;
            let service = Restconf::new(tree, &dataset::source(), RestconfConfig::default());
            let router = restconf::router(Arc::new(service));
            let until = async move {
                // A dropped sender ends it too.
                let _ = stopped.await;
            };
            let limits = server::Limits::default();
            runtime.block_on(server::serve(listener, router, None, limits, until))?;
            Ok(())
        });
        Ok(Self {
            address,
            stop,
            thread,
            _core: core,
        })
    }

    /// Opens a connection.
    pub fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            reader: BufReader::new(stream),
            address: self.address,
            line: String::new(),
            body: Vec::new(),
        })
    }

    /// Stops it.
    pub fn stop(self) -> Result<()> {
        // It may have ended by itself; then joining tells.
        let _ = self.stop.send(());
        self.thread
            .join()
            .map_err(|_| Failure::data("the server ended early"))?
    }
}

/// A keep-alive connection.
pub struct Connection {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    /// The body of a GET that succeeds.
    pub fn get(&mut self, path: &str) -> Result<&[u8]> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\naccept: application/yang-data+json\r\n\r\n",
            self.address
        );
        self.reader.get_mut().write_all(request.as_bytes())?;
        let status = self.next_line()?.to_owned();
        let mut length = None;
        loop {
            let line = self.next_line()?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse::<usize>().ok();
            }
        }
        if !status.starts_with("HTTP/1.1 200") {
            return Err(Failure::data(format!("the server answered {status}")));
        }
        let length = length.ok_or_else(|| Failure::data("an answer without content-length"))?;
        self.body.resize(length, 0);
        self.reader.read_exact(&mut self.body)?;
        Ok(&self.body)
    }

    fn next_line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.reader.read_line(&mut self.line)? == 0 {
            return Err(Failure::data("the server closed the connection"));
        }
        Ok(self.line.trim_end())
    }
}
