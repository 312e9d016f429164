//! The bytes of one connection, watched on their way.

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
    /// It has so many bytes until now.
    Open(usize),
    /// Its end was read.
    Ended,
    /// It is longer than allowed.
    TooLong,
}

/// A stream that first gives the bytes that were read from it already, notes what is written, and
/// fails where a request line is too long: hyper alone would take it for headers that are.
pub(super) struct Wire<S> {
    stream: S,
    read_already: Bytes,
    activity: Arc<Activity>,
    line: Line,
    /// The requests that were answered when the line began.
    answered: u64,
    line_bytes_max: usize,
}

impl<S> Wire<S> {
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

    /// Whether reading failed because a request line was too long.
    pub(super) fn is_line_too_long(&self) -> bool {
        self.line == Line::TooLong
    }

    /// The stream, whose bytes are not watched any more.
    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn watch(&mut self, bytes: &[u8]) -> io::Result<()> {
        let state = self.activity.snapshot();
        if state.phase != Phase::Waiting {
            // These are a body's. The next line begins when the answer is done.
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

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        this.activity.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, pieces))?;
        this.activity.wrote(written);
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
