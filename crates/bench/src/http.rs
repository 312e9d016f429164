//! A RESTCONF server in this process, and one keep-alive connection to it.
//!
//! The client is minimal, so that the measurement is that of the server: it sends one request and reads the response
//! by its `content-length` or in chunks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::Router;
use espalier_protocols::restconf::{self, Limits, Restconf, RestconfConfig};
use espalier_protocols::server;
use espalier_service::{Anchor, Service};
use espalier_store::Tree;
use espalier_yang::schema::SchemaSource;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::core_pin::CorePin;
use espalier_terminal::{Failure, Result};

/// A server on one thread, pinned to the core of the thread that started it: a client on another core would measure
/// how long that core takes to wake up.
pub struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
    _core: CorePin,
}

impl Server {
    /// Serves a tree on a free port of the loopback interface. `source` is the source of its schema.
    pub fn start(tree: Tree, source: SchemaSource) -> Result<Self> {
        Self::start_with(move || {
            let service = Service::without_access_control(tree.clone())?;
            let service = Restconf::new(service, Anchor::of(&tree)?, &source, config());
            Ok(restconf::router(Arc::new(service))?)
        })
    }

    /// Serves routes on a free port of the loopback interface.
    pub fn start_with(router: impl FnOnce() -> Result<Router> + Send + 'static) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let core = CorePin::new()?;
        let join_core = core.joiner();
        let thread = thread::spawn(move || {
            join_core()?;
            let router = router()?;
            let until = async move {
                // A dropped sender ends it too.
                let _ = stopped.await;
            };
            let config = server::Config::default();
            runtime.block_on(server::serve(listener, router, config, until))?;
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

    /// Stops the server.
    pub fn stop(self) -> Result<()> {
        // The server may have ended already; then `join` returns its error.
        let _ = self.stop.send(());
        self.thread
            .join()
            .map_err(|_| Failure::data("the server ended early"))?
    }
}

/// The largest body of a request that edits one resource, in bytes.
const EDIT_BYTES_MAX: usize = 1 << 30;

/// A keep-alive connection.
pub struct Connection {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
    line: String,
    body: Vec<u8>,
}

/// A request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its target.
    pub path: &'a str,
    /// Its body, as JSON; empty for none.
    pub body: &'a str,
    /// The expected status of the response.
    pub status: u16,
}

/// How the length of a response body is determined.
enum Length {
    /// By `content-length`.
    Fixed(usize),
    /// By chunked encoding.
    Chunked,
}

impl Connection {
    /// Sends a GET that must succeed; returns the body of the response.
    pub fn get(&mut self, path: &str) -> Result<&[u8]> {
        self.send(Request {
            method: "GET",
            path,
            body: "",
            status: 200,
        })
    }

    /// Sends a request; returns the body of the response.
    pub fn send(&mut self, request: Request<'_>) -> Result<&[u8]> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\naccept: {JSON}\r\n",
            request.method, request.path, self.address
        );
        if !request.body.is_empty() {
            let length = request.body.len();
            head += &format!("content-type: {JSON}\r\ncontent-length: {length}\r\n");
        }
        head += "\r\n";
        // In one write: a second small packet would wait for the acknowledgement of the first.
        head += request.body;
        self.reader.get_mut().write_all(head.as_bytes())?;
        let status = self.next_line()?.to_owned();
        match self.length()? {
            Length::Fixed(length) => self.read(length)?,
            Length::Chunked => self.read_chunks()?,
        }
        if !status.starts_with(&format!("HTTP/1.1 {}", request.status)) {
            let body = String::from_utf8_lossy(&self.body);
            let (method, path) = (request.method, request.path);
            return Err(Failure::data(format!(
                "the server responded {status} to {method} {path}: {body}"
            )));
        }
        Ok(&self.body)
    }

    /// Reads the header fields; returns the length of the body.
    fn length(&mut self) -> Result<Length> {
        let mut length = Length::Fixed(0);
        loop {
            let line = self.next_line()?;
            let Some((name, value)) = line.split_once(':') else {
                return Ok(length);
            };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = Length::Fixed(number(value, 10)?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = Length::Chunked;
            }
        }
    }

    fn read(&mut self, length: usize) -> Result<()> {
        self.body.resize(length, 0);
        self.reader.read_exact(&mut self.body)?;
        Ok(())
    }

    fn read_chunks(&mut self) -> Result<()> {
        self.body.clear();
        loop {
            let length = number(self.next_line()?, 16)?;
            let before = self.body.len();
            self.body.resize(before + length, 0);
            self.reader.read_exact(&mut self.body[before..])?;
            self.next_line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn next_line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.reader.read_line(&mut self.line)? == 0 {
            return Err(Failure::data("the server closed the connection"));
        }
        Ok(self.line.trim_end())
    }
}

/// The media type of bodies.
pub const JSON: &str = "application/yang-data+json";

fn number(text: &str, radix: u32) -> Result<usize> {
    usize::from_str_radix(text, radix)
        .map_err(|_| Failure::data(format!("{text:?} is not the length of a response")))
}

/// A limit that admits the bodies of all sizes of the bench; otherwise the defaults.
pub fn config() -> RestconfConfig {
    let limits = Limits {
        edit_bytes_max: EDIT_BYTES_MAX,
        ..Limits::default()
    };
    RestconfConfig {
        limits,
        ..RestconfConfig::default()
    }
}
