//! The bytes of a session.

use std::any::Any;

use tokio::io::{AsyncRead, AsyncWrite};

/// A stream of any transport.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An authenticated connection to a server.
pub(crate) struct Connection {
    pub stream: Box<dyn Stream>,
    /// What must live as long as the stream.
    pub guard: Option<Box<dyn Any + Send>>,
}

impl Connection {
    /// A connection that is a stream only.
    pub fn of(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            guard: None,
        }
    }
}
