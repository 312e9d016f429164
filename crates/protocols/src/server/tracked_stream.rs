//! The stream of one connection, with tracking of its bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::{Activity, Phase};

/// The request line that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// This many bytes without its end.
    Open(usize),
    /// Its end was read.
    Ended,
    /// It exceeds the limit.
    TooLong,
}

/// A stream that first returns bytes that were already read, records writes, and fails if a request line is
/// too long: hyper would report too large headers instead.
pub(super) struct TrackedStream<S> {
    stream: S,
    read_already: Bytes,
    activity: Arc<Activity>,
    line: Line,
    /// The number of answered requests at the start of the line.
    answered: u64,
    line_bytes_max: usize,
}

impl<S> TrackedStream<S> {
    pub(super) fn new(
        stream: S,
        read_already: Bytes,
        activity: Arc<Activity>,
        line_bytes_max: usize,
    ) -> Self {
        Self {
            stream,
            read_already,
            activity,
            line: Line::Open(0),
            answered: 0,
            line_bytes_max,
        }
    }

    /// Whether reading failed because of a too long request line.
    pub(super) fn is_line_too_long(&self) -> bool {
        self.line == Line::TooLong
    }

    /// The underlying stream.
    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn watch(&mut self, bytes: &[u8]) -> io::Result<()> {
        let state = self.activity.snapshot();
        if state.phase != Phase::Waiting {
            // These bytes belong to a body. The next line begins after the response.
            return Ok(());
        }
        if state.answered != self.answered {
            self.answered = state.answered;
            self.line = Line::Open(0);
        }
        let Line::Open(length) = self.line else {
            return Ok(());
        };
        let length = length + bytes.len();
        self.line = match bytes.contains(&b'\n') {
            true => Line::Ended,
            false if length > self.line_bytes_max => Line::TooLong,
            false => Line::Open(length),
        };
        match self.line {
            Line::TooLong => Err(io::Error::other("the request line is too long")),
            _ => Ok(()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let begin = buffer.filled().len();
        if this.read_already.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        } else {
            let length = buffer.remaining().min(this.read_already.len());
            buffer.put_slice(&this.read_already[..length]);
            this.read_already.advance(length);
        }
        Poll::Ready(this.watch(&buffer.filled()[begin..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrackedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        this.activity.record_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, pieces))?;
        this.activity.record_written(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
