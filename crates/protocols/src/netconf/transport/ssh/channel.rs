//! A channel: one session.

use std::sync::Arc;

use russh::server::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex, join};
use tokio::task::AbortHandle;

use crate::netconf::transport::context::AdmittedSession;
use crate::netconf::transport::{Connection, SessionRunner, TransportContext};

/// A channel that a client has opened. It receives until it is dropped.
pub(super) struct OpenChannel {
    write: ChannelWriteHalf<Msg>,
    input: DuplexStream,
    _receiving: Receiving,
}

/// Ends the task that receives.
struct Receiving(AbortHandle);

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl OpenChannel {
    /// A channel that keeps this number of bytes until they are read.
    ///
    /// russh keeps a number of messages of any size for a channel, and then receives nothing more for the whole
    /// connection. So a task of its own takes the messages of the channel, from the beginning.
    pub fn new(channel: Channel<Msg>, input_bytes_max: usize) -> Self {
        let (read, write) = channel.split();
        let (input, feed) = duplex(input_bytes_max.max(1));
        let receiving = tokio::spawn(receive(read, feed));
        Self {
            write,
            input,
            _receiving: Receiving(receiving.abort_handle()),
        }
    }

    /// Runs a session on the channel. Then the channel is closed, with the exit status 0.
    pub async fn run<R: SessionRunner>(
        self,
        context: TransportContext<R>,
        connection: Arc<Connection>,
        session: AdmittedSession,
    ) {
        let write = self.write;
        // One packet for each write, which waits for the window of the client: see docs/decisions/0082.
        let stream = join(self.input, write.make_writer());
        let stream = context.run_session(session, stream, connection.signal());
        drop(stream.await);
        // Errors mean that the connection has ended.
        let _ = write.exit_status(0).await;
        let _ = write.eof().await;
        let _ = write.close().await;
    }
}

/// Moves the data of a channel to where its session reads it.
async fn receive(mut channel: ChannelReadHalf, mut feed: DuplexStream) {
    while let Some(message) = channel.wait().await {
        let is_open = match message {
            ChannelMsg::Data { data } => feed.write_all(&data).await.is_ok(),
            ChannelMsg::Eof | ChannelMsg::Close => false,
            // Requests are the handler's.
            _ => true,
        };
        if !is_open {
            break;
        }
    }
    // The session reads the end.
    drop(feed);
    while channel.wait().await.is_some() {}
}
