//! The interface between transports and sessions.

use std::future::Future;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::netconf::{NetconfPeer, NetconfServer};

/// What runs NETCONF sessions on streams: [`NetconfServer`]. Transports are generic over it.
pub trait SessionRunner: Clone + Send + Sync + 'static {
    /// Runs one session on a stream, from the hello of the server to the end of the session, and returns when the
    /// session holds nothing any more. Called once for each stream.
    ///
    /// A read of 0 bytes is the end of what the client sends; replies to what it sent before can still be written. When
    /// the connection is lost or closed, reads end and writes fail: the session then ends without a reply. The stream is
    /// closed by the transport; `shutdown` on it flushes only.
    fn run<S>(&self, stream: S, peer: NetconfPeer) -> impl Future<Output = ()> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static;
}

impl SessionRunner for NetconfServer {
    async fn run<S>(&self, stream: S, peer: NetconfPeer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
    {
        // The session logs its end.
        let _ = self.serve(stream, peer).await;
    }
}
