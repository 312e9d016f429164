//! A NETCONF server in this process, and one session of it.
//!
//! The client is minimal, so that the measurement is that of the server: it sends one request and reads its reply.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use espalier_protocols::anchors::{AnchorLimits, AnchorName, DefaultAnchor, ServedAnchors};
use espalier_protocols::netconf::{
    BASE_1_1, BASE_NAMESPACE, Decoder, Framing, Hello, MessageWriter, NetconfLimits, NetconfPeer,
    NetconfServer, Part,
};
use espalier_protocols::restconf::RestconfConfig;
use espalier_service::Service;
use espalier_service::access::Caller;
use espalier_service::session::Transport;
use espalier_store::Tree;

use crate::core_pin::CorePin;
use crate::model_store::NAME;
use espalier_terminal::{Failure, Result};

/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;

/// A session with a server on a thread of its own.
pub struct Session {
    stream: UnixStream,
    decoder: Decoder,
    framing: Framing,
    /// What was read and not decoded.
    rest: Vec<u8>,
    block: Vec<u8>,
    reply: Vec<u8>,
    server: JoinHandle<Result<()>>,
    _core: CorePin,
}

impl Session {
    /// Serves the anchor of a tree over a pair of Unix sockets, and exchanges the `hello` messages.
    pub fn start(tree: Tree) -> Result<Self> {
        let (stream, other) = UnixStream::pair()?;
        other.set_nonblocking(true)?;
        let core = CorePin::new()?;
        let join_core = core.joiner();
        let server = thread::spawn(move || {
            join_core()?;
            serve(tree, other)
        });
        let mut session = Self {
            stream,
            decoder: Decoder::new(),
            framing: Framing::EndOfMessage,
            rest: Vec::new(),
            block: vec![0; READ_BYTES],
            reply: Vec::new(),
            server,
            _core: core,
        };
        session.receive()?;
        session.send(&Hello::print(&[BASE_1_1.to_owned()], None))?;
        session.framing = Framing::Chunked;
        session.decoder.set_framing(Framing::Chunked);
        Ok(session)
    }

    /// Sends a request, and returns its reply.
    ///
    /// # Errors
    /// The reply is an error.
    pub fn request(&mut self, operation: &str) -> Result<&[u8]> {
        self.send(&format!(
            "<rpc message-id=\"1\" xmlns=\"{BASE_NAMESPACE}\">{operation}</rpc>"
        ))?;
        self.receive()?;
        // An error is at the beginning.
        let begin = &self.reply[..self.reply.len().min(1 << 10)];
        let begin = String::from_utf8_lossy(begin);
        match begin.contains("<rpc-error>") {
            true => Err(Failure::data(format!("a request failed: {begin}"))),
            false => Ok(&self.reply),
        }
    }

    /// Ends the session, and the server.
    pub fn close(mut self) -> Result<()> {
        self.request("<close-session/>")?;
        let ended = self.server.join();
        ended.map_err(|_| Failure::data("the server ended early"))?
    }

    fn send(&mut self, message: &str) -> io::Result<()> {
        let stream = &mut self.stream;
        let mut writer = MessageWriter::new(self.framing, |frames| stream.write_all(&frames));
        writer.write_all(message.as_bytes())?;
        writer.finish()
    }

    /// Receives a message.
    fn receive(&mut self) -> Result<()> {
        self.reply.clear();
        loop {
            let mut input = &self.rest[..];
            let mut is_complete = false;
            while !is_complete {
                let part = self.decoder.next(&mut input);
                match part.map_err(|error| Failure::data(error.to_string()))? {
                    Some(Part::Data(data)) => self.reply.extend_from_slice(data),
                    Some(Part::End) => is_complete = true,
                    None => break,
                }
            }
            self.rest = input.to_vec();
            if is_complete {
                return Ok(());
            }
            match self.stream.read(&mut self.block)? {
                0 => return Err(Failure::data("the server closed the session")),
                read => self.rest = self.block[..read].to_vec(),
            }
        }
    }
}

/// Runs one session on a connection.
fn serve(tree: Tree, stream: UnixStream) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let service = Service::without_access_control(tree)?;
    let default = DefaultAnchor {
        name: AnchorName::new(NAME, NAME),
        missing_hint: String::new(),
    };
    let (config, limits) = (RestconfConfig::default(), AnchorLimits::default());
    let anchors = ServedAnchors::new(service, default, config, limits)?;
    let server = NetconfServer::new(anchors, NetconfLimits::default());
    let peer = NetconfPeer {
        caller: Caller::exempt(),
        transport: Transport::NetconfLocal,
        address: "bench".to_owned(),
        call_home_client: None,
    };
    runtime.block_on(async {
        let stream = tokio::net::UnixStream::from_std(stream)?;
        server.serve(stream, peer).await;
        Ok(())
    })
}
