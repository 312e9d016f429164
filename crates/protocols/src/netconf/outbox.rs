//! The messages that are sent on a connection, one after the other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio::time::timeout;

use super::framing::{Framing, MessageWriter};

/// Maximum number of frames that wait for the connection.
const FRAMES_QUEUED_MAX: usize = 4;

/// Sends messages. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    /// Locked while a message is written, so that no other message is within it.
    frames: Arc<Mutex<mpsc::Sender<Bytes>>>,
}

/// The right to write one message.
pub(super) struct Turn(OwnedMutexGuard<mpsc::Sender<Bytes>>);

impl Outbox {
    /// An outbox, and the frames to send.
    pub fn new() -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(FRAMES_QUEUED_MAX);
        let frames = Arc::new(Mutex::new(sender));
        (Self { frames }, receiver)
    }

    /// Waits until no other message is being written.
    pub async fn turn(&self) -> Turn {
        Turn(Arc::clone(&self.frames).lock_owned().await)
    }

    /// Sends a whole message.
    pub async fn send(&self, framing: Framing, text: &str) -> io::Result<()> {
        let mut frames = Vec::new();
        let mut writer = MessageWriter::new(framing, |frame| {
            frames.push(frame);
            Ok(())
        });
        io::Write::write_all(&mut writer, text.as_bytes())?;
        writer.finish()?;
        let turn = self.turn().await;
        for frame in frames {
            turn.0.send(frame).await.map_err(|_| lost())?;
        }
        Ok(())
    }
}

impl Turn {
    /// Writes a message from a thread that may block.
    pub fn writer(&self, framing: Framing) -> MessageWriter<impl FnMut(Bytes) -> io::Result<()>> {
        MessageWriter::new(framing, |frame| {
            self.0.blocking_send(frame).map_err(|_| lost())
        })
    }
}

/// The error of writing to a connection that was closed.
fn lost() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection was closed")
}

/// Sends frames on a connection until there are no more, or the client reads none for too long.
pub(super) async fn send_all(
    mut frames: mpsc::Receiver<Bytes>,
    mut connection: impl AsyncWrite + Unpin,
    pause_max: Duration,
) -> io::Result<()> {
    while let Some(frame) = frames.recv().await {
        let mut rest = &frame[..];
        while !rest.is_empty() {
            let written = timeout(pause_max, connection.write(rest)).await;
            match written.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
        if frames.is_empty() {
            timeout(pause_max, connection.flush()).await??;
        }
    }
    connection.shutdown().await
}
