//! The stream of a session.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// When bytes were last read from or written to a stream.
#[derive(Clone, Debug)]
pub(super) struct LastTransfer(Arc<Mutex<Instant>>);

impl LastTransfer {
    pub fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub fn instant(&self) -> Instant {
        *self.0.lock()
    }

    fn record(&self) {
        *self.0.lock() = Instant::now();
    }
}

/// The stream that a session reads and writes. When the session drops it, its transport gets the stream back, and ends
/// it in the manner of the protocol. `shutdown` flushes only.
pub(super) struct SessionStream<S> {
    /// `None` only while it is dropped.
    stream: Option<S>,
    returned: Option<oneshot::Sender<S>>,
    last_transfer: Option<LastTransfer>,
}

impl<S> SessionStream<S> {
    /// The stream of a session, and the way by which it comes back. Transfers are recorded in `last_transfer`.
    pub fn new(
        stream: S,
        last_transfer: Option<LastTransfer>,
    ) -> (Self, impl Future<Output = Option<S>>) {
        let (returned, receiver) = oneshot::channel();
        let session_stream = Self {
            stream: Some(stream),
            returned: Some(returned),
            last_transfer,
        };
        (session_stream, async { receiver.await.ok() })
    }

    fn record<T>(&self, result: &Poll<T>) {
        if let (Some(last_transfer), Poll::Ready(_)) = (&self.last_transfer, result) {
            last_transfer.record();
        }
    }
}

impl<S: Unpin> SessionStream<S> {
    fn stream(&mut self) -> io::Result<Pin<&mut S>> {
        let stream = self.stream.as_mut().map(Pin::new);
        stream.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<S> Drop for SessionStream<S> {
    fn drop(&mut self) {
        if let (Some(stream), Some(returned)) = (self.stream.take(), self.returned.take()) {
            // An error means that the transport has ended: the stream ends with it.
            let _ = returned.send(stream);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SessionStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = this.stream()?.poll_read(cx, buffer);
        this.record(&read);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SessionStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // SSH channels reject empty writes.
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let written = this.stream()?.poll_write(cx, bytes);
        this.record(&written);
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
