//! A stream that another task can close.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

/// Closes streams. Clones close the same streams.
#[derive(Clone, Debug)]
pub(super) struct CloseSignal {
    is_closed: Arc<watch::Sender<bool>>,
}

type Closed = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

impl CloseSignal {
    pub fn new() -> Self {
        Self {
            is_closed: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Closes the streams.
    pub fn close(&self) {
        self.is_closed.send_replace(true);
    }

    pub fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    /// Completes when the streams are closed. Owns what it waits for, so that it outlives `self`.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut receiver = self.is_closed.subscribe();
        async move {
            // An error means that nobody can close the streams any more.
            if receiver.wait_for(|is_closed| *is_closed).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// A stream that ends when a [`CloseSignal`] is given, after the bytes that can be read without waiting.
pub(super) struct ClosableStream<S> {
    stream: S,
    signal: CloseSignal,
    // Reading and writing may be done by two tasks: each has a future that wakes it.
    closed_while_reading: Closed,
    closed_while_writing: Closed,
}

impl<S> ClosableStream<S> {
    pub fn new(stream: S, signal: &CloseSignal) -> Self {
        Self {
            stream,
            signal: signal.clone(),
            closed_while_reading: Box::pin(signal.closed()),
            closed_while_writing: Box::pin(signal.closed()),
        }
    }

    /// What a write returns that is not complete: an error if the stream is closed.
    fn while_writing<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self.signal.is_closed() || self.closed_while_writing.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(Err(closed_error())),
            false => Poll::Pending,
        }
    }
}

fn closed_error() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection is closed")
}

impl<S: AsyncRead + Unpin> AsyncRead for ClosableStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, buffer) {
            return Poll::Ready(read);
        }
        match this.signal.is_closed() || this.closed_while_reading.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClosableStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.signal.is_closed() {
            return Poll::Ready(Err(closed_error()));
        }
        match Pin::new(&mut this.stream).poll_write(cx, bytes) {
            Poll::Ready(written) => Poll::Ready(written),
            Poll::Pending => this.while_writing(cx),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_flush(cx) {
            Poll::Ready(flushed) => Poll::Ready(flushed),
            Poll::Pending => this.while_writing(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_shutdown(cx) {
            Poll::Ready(shut_down) => Poll::Ready(shut_down),
            Poll::Pending => this.while_writing(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_closed_stream_ends_after_what_was_received() {
        let (mut client, server) = duplex(8);
        let signal = CloseSignal::new();
        let mut server = ClosableStream::new(server, &signal);
        client.write_all(b"last").await.unwrap();
        signal.close();
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"last");
        assert!(server.write_all(b"reply").await.is_err());
    }

    #[tokio::test]
    async fn both_waiting_halves_are_woken() {
        let (_client, server) = duplex(1);
        let signal = CloseSignal::new();
        let (mut read, mut write) = tokio::io::split(ClosableStream::new(server, &signal));
        let reading = tokio::spawn(async move { read.read(&mut [0; 8]).await });
        let writing = tokio::spawn(async move { write.write_all(b"more than fits").await });
        tokio::task::yield_now().await;
        signal.close();
        assert_eq!(reading.await.unwrap().unwrap(), 0);
        assert!(writing.await.unwrap().is_err());
    }
}
