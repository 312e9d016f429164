//! Bodies of requests: held in memory where small, handed to a blocking reader as they arrive
//! where large.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::error::{Failure, Result};
use super::limits::{CHUNKS_QUEUED_MAX, DRAIN_BYTES_MAX};

/// A body, as far as it was read.
pub(super) enum Gathered {
    /// All of it.
    Whole(Vec<u8>),
    /// It is larger than what was to be held.
    More {
        /// What was read.
        start: Vec<u8>,
    },
}

/// Reads a body until its end, or until it has more than `bytes_held_max`.
pub(super) async fn gather(
    body: &mut Body,
    bytes_held_max: usize,
    pause_max: Duration,
) -> Result<Gathered> {
    let mut start = Vec::new();
    while let Some(piece) = next(body, pause_max)
        .await
        .map_err(|e| Failure::unreadable(&e))?
    {
        start.extend_from_slice(&piece);
        if start.len() > bytes_held_max {
            return Ok(Gathered::More { start });
        }
    }
    Ok(Gathered::Whole(start))
}

/// Reads a body of at most `bytes_max`.
pub(super) async fn whole(
    headers: &HeaderMap,
    body: &mut Body,
    bytes_max: usize,
    pause_max: Duration,
) -> Result<Vec<u8>> {
    let limit = bytes_max as u64;
    if announced_length(headers).is_some_and(|length| length > limit) {
        return Err(Failure::too_big(limit));
    }
    match gather(body, bytes_max, pause_max).await? {
        Gathered::Whole(bytes) => Ok(bytes),
        Gathered::More { .. } => Err(Failure::too_big(limit)),
    }
}

/// Reads past what a refused request still sends, within limits: a client that is cut off while it
/// sends does not see the answer. One that waits to be told to send is not told.
pub(super) async fn drain(headers: &HeaderMap, body: &mut Body, pause_max: Duration) {
    if headers.contains_key(EXPECT)
        || announced_length(headers).is_some_and(|l| l > DRAIN_BYTES_MAX)
    {
        return;
    }
    let mut bytes = 0;
    while let Ok(Some(piece)) = next(body, pause_max).await {
        bytes += piece.len() as u64;
        if bytes > DRAIN_BYTES_MAX {
            return;
        }
    }
}

/// What `Content-Length` says.
pub(super) fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The next piece of data; `None` at the end.
async fn next(body: &mut Body, pause_max: Duration) -> io::Result<Option<Bytes>> {
    loop {
        let frame = timeout(pause_max, body.frame()).await.map_err(|_| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "the client stopped sending the body",
            )
        })?;
        match frame.transpose().map_err(io::Error::other)? {
            None => return Ok(None),
            Some(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// What passes from the connection to the reader. A channel that closes before [`Piece::End`] is
/// a body that broke off.
enum Piece {
    Data(Bytes),
    Failed(io::Error),
    End,
}

/// Sends a body to the [`BodyReader`] it was made with.
pub(super) struct Pump {
    body: Body,
    pieces: mpsc::Sender<Piece>,
    bytes_left: u64,
    pause_max: Duration,
}

/// A body as a blocking reader, for a thread that may block.
pub(super) struct BodyReader {
    pieces: mpsc::Receiver<Piece>,
    current: Bytes,
    is_ended: bool,
}

/// A reader of `start` and then `rest`, and the pump that must run beside it. More than
/// `bytes_max` is an error of the reader.
pub(super) fn reader(
    start: Vec<u8>,
    rest: Body,
    bytes_max: u64,
    pause_max: Duration,
) -> (Pump, BodyReader) {
    let (sender, pieces) = mpsc::channel(CHUNKS_QUEUED_MAX);
    let pump = Pump {
        body: rest,
        pieces: sender,
        bytes_left: bytes_max.saturating_sub(start.len() as u64),
        pause_max,
    };
    let reader = BodyReader {
        pieces,
        current: start.into(),
        is_ended: false,
    };
    (pump, reader)
}

impl Pump {
    /// Runs until the body ends, or the reader wants no more. Then the rest of the body is left.
    pub(super) async fn run(mut self) -> Body {
        loop {
            let piece = match next(&mut self.body, self.pause_max).await {
                Ok(Some(data)) => self.count(data),
                Ok(None) => Piece::End,
                Err(error) => Piece::Failed(error),
            };
            let is_last = !matches!(piece, Piece::Data(_));
            if self.pieces.send(piece).await.is_err() || is_last {
                return self.body;
            }
        }
    }

    fn count(&mut self, data: Bytes) -> Piece {
        match self.bytes_left.checked_sub(data.len() as u64) {
            Some(left) => {
                self.bytes_left = left;
                Piece::Data(data)
            }
            None => Piece::Failed(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the body is larger than the server takes",
            )),
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.is_ended {
            match self.pieces.blocking_recv() {
                Some(Piece::Data(data)) => self.current = data,
                Some(Piece::End) => self.is_ended = true,
                Some(Piece::Failed(error)) => return Err(error),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(5);

    async fn read_all(pump: Pump, mut reader: BodyReader) -> io::Result<Vec<u8>> {
        let thread = tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let (all, _) = tokio::join!(thread, pump.run());
        all.unwrap()
    }

    #[tokio::test]
    async fn a_large_body_arrives_whole() {
        let rest = Body::from(vec![b'x'; 100_000]);
        let (pump, reader) = reader(b"start".to_vec(), rest, 1 << 20, PAUSE);
        let all = read_all(pump, reader).await.unwrap();
        assert_eq!(all.len(), 100_005);
        assert!(all.starts_with(b"startx"));
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_an_error() {
        let (pump, reader) = reader(Vec::new(), Body::from(vec![0; 1000]), 999, PAUSE);
        let error = read_all(pump, reader).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_an_error() {
        let (pump, reader) = reader(b"{".to_vec(), Body::empty(), 999, PAUSE);
        drop(pump);
        let mut reader = reader;
        let error = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()));
        assert_eq!(
            error.await.unwrap().unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    #[tokio::test]
    async fn a_body_over_the_edit_limit_is_too_big() {
        let failure = whole(&HeaderMap::new(), &mut Body::from(vec![0; 11]), 10, PAUSE).await;
        assert_eq!(failure.unwrap_err().status, 413);
    }
}
