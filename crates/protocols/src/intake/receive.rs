//! Receiving of request bodies.

use std::io::{self, Read};
use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::budget::{Budget, Reservation};
use super::received_body::{Held, Staged, Storage};
use super::spill::Spill;
use super::{IntakeConfig, IntakeError};

/// Size of the writes to a file.
const WRITE_BYTES: usize = 64 * 1024;

type Result<T> = std::result::Result<T, IntakeError>;

/// Receives request bodies, within limits that all requests of a server share.
#[derive(Clone, Debug)]
pub struct Intake {
    config: Arc<IntakeConfig>,
    held: Arc<Budget>,
    spilled: Arc<Budget>,
    loads: Arc<Semaphore>,
}

impl Default for Intake {
    fn default() -> Self {
        Self::new(IntakeConfig::default())
    }
}

impl Intake {
    /// An intake with its own limits.
    pub fn new(config: IntakeConfig) -> Self {
        Self {
            held: Budget::new(config.memory_bytes_max_all),
            spilled: Budget::new(config.spill_bytes_max),
            loads: Arc::new(Semaphore::new(config.loads_max.max(1))),
            config: Arc::new(config),
        }
    }

    /// Receives a body of at most `bytes_max`.
    pub async fn stage(&self, headers: &HeaderMap, body: Body, bytes_max: u64) -> Result<Staged> {
        if content_length(headers).is_some_and(|length| length > bytes_max) {
            return Err(IntakeError::TooLarge { bytes_max });
        }
        let mut partial = PartialBody::new(self, bytes_max);
        let mut body = body;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(IntakeError::of_body)?;
            if let Ok(data) = frame.into_data() {
                partial.receive(data).await?;
            }
        }
        partial.finish().await
    }

    /// Loads a body into memory. If it is in a file, waits while too many others are being loaded.
    pub async fn hold(&self, staged: Staged) -> Result<Held> {
        let spill = match staged.storage {
            Storage::Memory(held) => return Ok(held),
            Storage::File(spill) => spill,
        };
        let permit = Arc::clone(&self.loads).acquire_owned().await.ok();
        let bytes = spawn_blocking(move || {
            let mut spill = spill;
            spill.rewind()?;
            let mut bytes = Vec::with_capacity(usize::try_from(staged.length).unwrap_or(0));
            spill.file.read_to_end(&mut bytes)?;
            Ok(Bytes::from(bytes))
        });
        Ok(Held {
            bytes: self.map_file_error(bytes.await)?,
            _reservation: None,
            _permit: permit,
        })
    }

    /// The result of blocking file work.
    fn map_file_error<T>(
        &self,
        done: std::result::Result<io::Result<T>, tokio::task::JoinError>,
    ) -> Result<T> {
        let done = done.map_err(io::Error::other).and_then(|done| done);
        done.map_err(|source| IntakeError::File {
            dir: self.config.spill_dir.clone(),
            source,
        })
    }
}

/// The value of `Content-Length`.
pub(crate) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body that is being received.
pub(crate) struct PartialBody<'a> {
    intake: &'a Intake,
    bytes_max: u64,
    length: u64,
    /// The bytes in memory: all of the body, or those not yet written to the file.
    held: BodyBuffer,
    reservation: Reservation,
    spill: Option<Spill>,
}

/// Bytes in memory. A body that arrives in one chunk is not copied.
enum BodyBuffer {
    Empty,
    Single(Bytes),
    Joined(BytesMut),
}

impl BodyBuffer {
    fn length(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Single(bytes) => bytes.len(),
            Self::Joined(bytes) => bytes.len(),
        }
    }

    fn add(&mut self, data: Bytes) {
        *self = match std::mem::replace(self, Self::Empty) {
            Self::Empty => Self::Single(data),
            Self::Single(first) => {
                let mut all = BytesMut::with_capacity(2 * (first.len() + data.len()));
                all.extend_from_slice(&first);
                all.extend_from_slice(&data);
                Self::Joined(all)
            }
            Self::Joined(mut all) => {
                all.extend_from_slice(&data);
                Self::Joined(all)
            }
        };
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(self, Self::Empty) {
            Self::Empty => Bytes::new(),
            Self::Single(bytes) => bytes,
            Self::Joined(bytes) => bytes.freeze(),
        }
    }
}

impl<'a> PartialBody<'a> {
    pub(crate) fn new(intake: &'a Intake, bytes_max: u64) -> Self {
        Self {
            intake,
            bytes_max,
            length: 0,
            held: BodyBuffer::Empty,
            reservation: intake.held.reservation(),
            spill: None,
        }
    }

    /// Adds bytes.
    pub(crate) async fn receive(&mut self, data: Bytes) -> Result<()> {
        let bytes = data.len() as u64;
        self.length += bytes;
        if self.length > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(IntakeError::TooLarge { bytes_max });
        }
        let is_small = self.length <= self.intake.config.memory_bytes_max as u64;
        if self.spill.is_none() && is_small && self.reservation.grow(bytes) {
            self.held.add(data);
            return Ok(());
        }
        let begins = self.spill.is_none();
        self.held.add(data);
        if begins || self.held.length() >= WRITE_BYTES {
            self.write().await?;
        }
        Ok(())
    }

    /// Writes the bytes in memory to the file.
    async fn write(&mut self) -> Result<()> {
        let config = Arc::clone(&self.intake.config);
        let bytes = self.held.take();
        let (file, mut reservation) = match self.spill.take() {
            Some(spill) => (Some(spill.file), spill.reservation),
            None => (None, self.intake.spilled.reservation()),
        };
        if !reservation.grow(bytes.len() as u64) {
            let bytes_max = config.spill_bytes_max;
            let message = format!(
                "the limit of {bytes_max} bytes for the bodies of all requests in {} is reached; see --spill-max",
                config.spill_dir.display()
            );
            return Err(IntakeError::NoRoom(message));
        }
        let written = spawn_blocking(move || {
            let file = match file {
                Some(file) => file,
                None => Spill::file_in(&config.spill_dir)?,
            };
            let mut spill = Spill { file, reservation };
            spill.append(&bytes, config.spill_free_bytes_min)?;
            Ok(spill)
        });
        self.spill = Some(self.intake.map_file_error(written.await)?);
        // The bytes are in the file now.
        self.reservation = self.intake.held.reservation();
        Ok(())
    }

    /// The body is complete.
    pub(crate) async fn finish(mut self) -> Result<Staged> {
        if self.spill.is_some() && self.held.length() > 0 {
            self.write().await?;
        }
        let storage = match self.spill {
            Some(spill) => Storage::File(spill),
            None => Storage::Memory(Held {
                bytes: self.held.take(),
                _reservation: Some(self.reservation),
                _permit: None,
            }),
        };
        Ok(Staged {
            storage,
            length: self.length,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    fn intake(each: usize, all: u64, spill: u64) -> Intake {
        Intake::new(IntakeConfig {
            memory_bytes_max: each,
            memory_bytes_max_all: all,
            spill_bytes_max: spill,
            spill_free_bytes_min: 0,
            ..IntakeConfig::default()
        })
    }

    fn body(text: &'static str, chunk: usize) -> Body {
        let chunks = text.as_bytes().chunks(chunk.max(1));
        let chunks: Vec<Bytes> = chunks.map(Bytes::from_static).collect();
        Body::new(ChunkedBody(chunks.into_iter()))
    }

    /// A body that arrives in these chunks.
    struct ChunkedBody(std::vec::IntoIter<Bytes>);

    impl hyper::body::Body for ChunkedBody {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
        }
    }

    async fn staged(intake: &Intake, text: &'static str, chunk: usize, max: u64) -> Result<Staged> {
        let body = body(text, chunk);
        intake.stage(&HeaderMap::new(), body, max).await
    }

    #[tokio::test]
    async fn a_body_is_the_same_in_memory_and_in_a_file() {
        let text = "one two three four five six seven eight";
        for held_max in [0, 1, 10, 38, 39, 100] {
            for chunk in [1, 7, 39] {
                let intake = intake(held_max, 100, 100);
                let staged_body = staged(&intake, text, chunk, 39).await.unwrap();
                assert_eq!(staged_body.length(), 39);
                let is_in_file = matches!(staged_body.storage, Storage::File(_));
                assert_eq!(is_in_file, held_max < 39, "{held_max}");
                let mut read = String::new();
                let mut reader = staged_body.into_reader().unwrap();
                reader.read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
                let again = staged(&intake, text, chunk, 39).await.unwrap();
                assert_eq!(intake.hold(again).await.unwrap().bytes(), text.as_bytes());
            }
        }
    }

    #[tokio::test]
    async fn space_is_limited_and_released() {
        let intake = intake(10, 10, 20);
        let small = staged(&intake, "12345678", 3, 100).await.unwrap();
        assert!(matches!(small.storage, Storage::Memory(_)));
        let second = staged(&intake, "12345678", 3, 100).await.unwrap();
        assert!(
            matches!(second.storage, Storage::File(_)),
            "memory is in use"
        );
        let third = staged(&intake, "1234567890123", 3, 100).await.unwrap_err();
        assert_eq!(third.status(), 507, "{third}");
        drop(second);
        staged(&intake, "1234567890123", 3, 100).await.unwrap();
        let large = staged(&intake, "12345678", 3, 7).await.unwrap_err();
        assert_eq!(large.status(), 413);
    }

    #[tokio::test]
    async fn a_too_large_content_length_is_rejected_without_reading() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, 11.into());
        let refused = intake(1, 1, 1).stage(&headers, Body::empty(), 10).await;
        assert_eq!(refused.unwrap_err().status(), 413);
    }

    #[tokio::test]
    async fn a_nearly_full_disk_rejects_the_body() {
        let intake = Intake::new(IntakeConfig {
            memory_bytes_max: 0,
            spill_free_bytes_min: u64::MAX,
            ..IntakeConfig::default()
        });
        let refused = staged(&intake, "text", 2, 100).await.unwrap_err();
        assert_eq!(refused.status(), 507, "{refused}");
    }
}
