//! Finds the messages in what arrives.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::netconf::{Decoder, Framing, Part};
use crate::netconf_client::error::ClientError;
use crate::netconf_client::tls::failed_check;

/// The size of the blocks that are read from a connection.
const READ_BYTES: usize = 64 << 10;

/// A part of a message.
pub(super) enum Piece {
    /// Bytes of it.
    Data(Bytes),
    /// It has ended.
    End,
}

/// What arrives on a connection.
pub(super) struct Input<R> {
    reader: R,
    decoder: Decoder,
    block: Vec<u8>,
    /// The bytes of the block that were not decoded yet.
    filled: std::ops::Range<usize>,
    pause_max: Duration,
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// What arrives on a connection, with pauses of at most `pause_max` in a message.
    pub fn new(reader: R, pause_max: Duration) -> Self {
        Self {
            reader,
            decoder: Decoder::new(),
            block: vec![0; READ_BYTES],
            filled: 0..0,
            pause_max,
        }
    }

    /// Sets the framing of the messages that follow.
    pub fn set_framing(&mut self, framing: Framing) {
        self.decoder.set_framing(framing);
    }

    /// The bytes that were received and not decoded yet, after one read if there are none.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn peek(&mut self) -> Result<&[u8], ClientError> {
        if self.filled.is_empty() {
            self.fill().await?;
        }
        Ok(&self.block[self.filled.clone()])
    }

    /// The next part of a message.
    ///
    /// # Errors
    /// The connection has ended, or the bytes are no frame.
    pub async fn next(&mut self) -> Result<Piece, ClientError> {
        loop {
            let mut input = &self.block[self.filled.clone()];
            let part = self.decoder.next(&mut input)?;
            let piece = part.map(|part| match part {
                Part::Data(data) => Piece::Data(Bytes::copy_from_slice(data)),
                Part::End => Piece::End,
            });
            self.filled = self.filled.end - input.len()..self.filled.end;
            match piece {
                Some(piece) => return Ok(piece),
                None => self.fill().await?,
            }
        }
    }

    /// The rest of a message of limited size, after `begin`.
    ///
    /// # Errors
    /// As [`Self::next`], and if it is larger.
    pub async fn rest(
        &mut self,
        mut begin: Vec<u8>,
        max: usize,
        (message, limit): (&'static str, &'static str),
    ) -> Result<String, ClientError> {
        loop {
            if begin.len() > max {
                return Err(ClientError::TooBig {
                    message,
                    max,
                    limit,
                });
            }
            match self.next().await? {
                Piece::Data(data) => begin.extend_from_slice(&data),
                Piece::End => return text(begin),
            }
        }
    }

    async fn fill(&mut self) -> Result<(), ClientError> {
        let is_in_message = self.decoder.is_in_message();
        let read = self.reader.read(&mut self.block);
        let read = match is_in_message {
            true => timeout(self.pause_max, read).await.map_err(|_| {
                ClientError::Timeout(
                    "the server stopped in the middle of a message (message_pause_max)",
                )
            })?,
            false => read.await,
        };
        match read {
            Ok(0) if is_in_message => Err(ClientError::ClosedInMessage),
            Ok(0) => Err(ClientError::Closed),
            Ok(read) => {
                self.filled = 0..read;
                Ok(())
            }
            Err(error) => Err(read_error(&error, is_in_message)),
        }
    }
}

/// The text of a message.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, ClientError> {
    let text = String::from_utf8(bytes);
    text.map_err(|error| ClientError::Malformed(format!("it is not UTF-8: {error}")))
}

fn read_error(error: &io::Error, is_in_message: bool) -> ClientError {
    let is_of_tls = error
        .get_ref()
        .is_some_and(|cause| cause.is::<rustls::Error>());
    match (is_of_tls, is_in_message) {
        // In TLS 1.3 the server checks the client's certificate after the handshake of the client.
        (true, _) => ClientError::Transport(failed_check(error, "the server")),
        (false, true) => ClientError::ClosedInMessage,
        (false, false) => ClientError::Closed,
    }
}
