//! A server on a Unix socket that sends what a test chooses.

use std::future::Future;
use std::time::Duration;

use espalier_protocols::netconf::{
    BASE_1_0, BASE_1_1, BASE_NAMESPACE, Decoder, Framing, Hello, MessageWriter, Part,
};
use espalier_protocols::netconf_client::{
    ClientError, ClientLimits, ConnectOptions, Session, Target, connect,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// The longest that a test waits.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The connection of a server.
pub struct Peer {
    pub stream: UnixStream,
    decoder: Decoder,
    pub framing: Framing,
    received: Vec<u8>,
}

/// Runs a client and a server on a connection, to the ends of both.
pub fn run<S, C, T>(
    limits: ClientLimits,
    serve: impl FnOnce(Peer) -> S,
    use_session: impl FnOnce(Result<Session, ClientError>) -> C,
) -> T
where
    S: Future<Output = ()> + Send + 'static,
    C: Future<Output = T>,
{
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = UnixListener::bind(&path).expect("a socket");
        let options = ConnectOptions {
            limits,
            ..ConnectOptions::default()
        };
        let target = Target::Unix(path.clone());
        let accepting = async {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream
        };
        // The session begins while the server runs.
        let connecting = tokio::spawn(async move { connect(&target, &options).await });
        let serving = tokio::spawn(serve(Peer {
            stream: accepting.await,
            decoder: Decoder::new(),
            framing: Framing::EndOfMessage,
            received: Vec::new(),
        }));
        let session = connecting.await.expect("a client");
        let result = tokio::time::timeout(WAIT_MAX, use_session(session)).await;
        let result = result.expect("an end of the client in time");
        let served = tokio::time::timeout(WAIT_MAX, serving).await;
        served
            .expect("an end of the server in time")
            .expect("a server");
        result
    })
}

impl Peer {
    /// Exchanges the `hello` messages.
    pub async fn greet(&mut self, versions: &[&str]) {
        let capabilities: Vec<_> = versions.iter().map(|uri| (*uri).to_owned()).collect();
        let hello = format!("{}]]>]]>", Hello::print(&capabilities, Some(7)));
        self.send_bytes(hello.as_bytes()).await;
        let hello = self.message().await.expect("a hello");
        let hello = Hello::parse(hello.trim_start()).expect("a hello");
        let both = |version| versions.contains(&version) && hello.has(version);
        assert!(both(BASE_1_0) || both(BASE_1_1));
        self.framing = match both(BASE_1_1) {
            true => Framing::Chunked,
            false => Framing::EndOfMessage,
        };
        self.decoder.set_framing(self.framing);
    }

    /// Sends bytes as they are. The client may be gone.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Sends a message.
    pub async fn send(&mut self, text: &str) {
        let bytes = framed(self.framing, text);
        self.send_bytes(&bytes).await;
    }

    /// Sends a reply.
    pub async fn reply(&mut self, id: &str, content: &str) {
        self.send(&reply(id, content)).await;
    }

    /// The next message; `None` at the end.
    pub async fn message(&mut self) -> Option<String> {
        let mut message = Vec::new();
        loop {
            let received = std::mem::take(&mut self.received);
            let mut input = &received[..];
            while let Some(part) = self.decoder.next(&mut input).expect("frames") {
                match part {
                    Part::Data(data) => message.extend_from_slice(data),
                    Part::End => {
                        self.received = input.to_vec();
                        return Some(String::from_utf8(message).expect("UTF-8"));
                    }
                }
            }
            let mut block = vec![0; 64 << 10];
            let read = self.stream.read(&mut block).await.ok()?;
            if read == 0 {
                return None;
            }
            block.truncate(read);
            self.received = block;
        }
    }

    /// The next request: its identifier.
    pub async fn request(&mut self) -> Option<String> {
        let text = self.message().await?;
        let (_, rest) = text.split_once("message-id=\"")?;
        Some(rest.split('"').next()?.to_owned())
    }
}

/// A message in frames.
pub fn framed(framing: Framing, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = MessageWriter::new(framing, |frame| {
        bytes.extend_from_slice(&frame);
        Ok(())
    });
    std::io::Write::write_all(&mut writer, text.as_bytes()).expect("memory");
    writer.finish().expect("memory");
    bytes
}

/// The text of a reply.
pub fn reply(id: &str, content: &str) -> String {
    format!("<rpc-reply xmlns=\"{BASE_NAMESPACE}\" message-id=\"{id}\">{content}</rpc-reply>")
}
