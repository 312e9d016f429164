//! Response bodies: small ones are produced at once, large ones are streamed from their own thread.
//!
//! A stream ends cleanly only by its end marker. If the thread fails or panics, the body fails, and the
//! connection (HTTP/1.1) or stream (HTTP/2) is aborted: a client never mistakes a truncated response for a
//! complete one.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::Frame;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::limits::{CHUNK_BYTES, CHUNKS_QUEUED_MAX, INLINE_BYTES_MAX};

/// A buffer that fails at more than [`INLINE_BYTES_MAX`].
#[derive(Debug, Default)]
pub(super) struct InlineBuffer(pub(super) Vec<u8>);

impl Write for InlineBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > INLINE_BYTES_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Chunk {
    Data(Bytes),
    End,
}

/// The writer of a streamed body, for a thread that may block.
pub struct BodyWriter {
    chunks: mpsc::Sender<Chunk>,
    buffer: Vec<u8>,
    pause_max: Duration,
    runtime: Handle,
}

/// Creates a body and its writer. Must be called within the runtime.
pub fn stream(pause_max: Duration) -> (BodyWriter, Body) {
    let (chunks, receiver) = mpsc::channel(CHUNKS_QUEUED_MAX);
    let writer = BodyWriter {
        chunks,
        buffer: Vec::with_capacity(CHUNK_BYTES),
        pause_max,
        runtime: Handle::current(),
    };
    let body = StreamedBody {
        chunks: receiver,
        is_ended: false,
    };
    (writer, Body::new(body))
}

/// The writer of a streamed body, for a task.
pub(super) struct BodySender {
    chunks: mpsc::Sender<Chunk>,
    pause_max: Duration,
}

/// Creates a body and its writer for a task.
pub(super) fn sent_body(pause_max: Duration) -> (BodySender, Body) {
    let (chunks, receiver) = mpsc::channel(CHUNKS_QUEUED_MAX);
    let body = StreamedBody {
        chunks: receiver,
        is_ended: false,
    };
    (BodySender { chunks, pause_max }, Body::new(body))
}

impl BodySender {
    /// Sends bytes. Fails if the client does not read for too long.
    pub(super) async fn send(&self, data: Bytes) -> io::Result<()> {
        self.send_chunk(Chunk::Data(data)).await
    }

    /// Ends the body. A body whose writer is dropped without this call fails.
    pub(super) async fn end(self) -> io::Result<()> {
        self.send_chunk(Chunk::End).await
    }

    /// Completes when the client has disconnected.
    pub(super) async fn closed(&self) {
        self.chunks.closed().await;
    }

    async fn send_chunk(&self, chunk: Chunk) -> io::Result<()> {
        match timeout(self.pause_max, self.chunks.send(chunk)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl BodyWriter {
    /// Ends the body. A body whose writer is dropped without this call fails.
    pub fn end(mut self) -> io::Result<()> {
        self.send_buffer()?;
        self.send(Chunk::End)
    }

    /// Sends the buffered bytes at once.
    pub fn send_now(&mut self) -> io::Result<()> {
        self.send_buffer()
    }

    /// Whether the client disconnected.
    pub fn is_closed(&self) -> bool {
        self.chunks.is_closed()
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES));
        self.send(Chunk::Data(full.into()))
    }

    fn send(&self, chunk: Chunk) -> io::Result<()> {
        let chunk = match self.chunks.try_send(chunk) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Err(mpsc::error::TrySendError::Full(chunk)) => chunk,
        };
        // The timer must be made within the runtime.
        let sending = async { timeout(self.pause_max, self.chunks.send(chunk)).await };
        match self.runtime.block_on(sending) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.send_buffer()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct StreamedBody {
    chunks: mpsc::Receiver<Chunk>,
    is_ended: bool,
}

impl HttpBody for StreamedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        self.chunks.poll_recv(context).map(|chunk| match chunk {
            Some(Chunk::Data(data)) => Some(Ok(Frame::data(data))),
            Some(Chunk::End) => {
                self.is_ended = true;
                None
            }
            None => {
                self.is_ended = true;
                Some(Err(io::Error::other("the response was aborted")))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.is_ended
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(5);

    /// Regression: a writer on a thread outside of the runtime panicked when the client read slowly.
    #[tokio::test]
    async fn a_thread_outside_of_the_runtime_waits_for_the_reader() {
        let (mut writer, body) = stream(PAUSE);
        let thread = std::thread::spawn(move || {
            for _ in 0..100 {
                writer.write_all(&[b'x'; CHUNK_BYTES])?;
            }
            writer.end()
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!(bytes.len(), 100 * CHUNK_BYTES);
        thread.join().unwrap().unwrap();
    }

    #[tokio::test]
    async fn written_bytes_arrive() {
        let (mut writer, body) = stream(PAUSE);
        let thread = tokio::task::spawn_blocking(move || {
            for _ in 0..100 {
                writer.write_all(&[b'x'; 10_000])?;
            }
            writer.end()
        });
        let bytes = body.collect().await.unwrap().to_bytes();
        thread.await.unwrap().unwrap();
        assert_eq!(bytes.len(), 1_000_000);
    }

    #[tokio::test]
    async fn dropping_the_writer_fails_the_body() {
        let (mut writer, body) = stream(PAUSE);
        writer.write_all(b"half").unwrap();
        drop(writer);
        assert!(body.collect().await.is_err());
    }

    #[tokio::test]
    async fn dropping_the_body_stops_the_writer() {
        let (mut writer, body) = stream(PAUSE);
        drop(body);
        let written = writer.write_all(&vec![0; 2 * CHUNK_BYTES]);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
