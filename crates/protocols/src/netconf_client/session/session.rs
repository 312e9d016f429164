//! Sends requests.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::greeting::greet;
use super::input::Input;
use super::notifications::Notifications;
use super::pending::Pending;
use super::receive::Receiver;
use super::reply_stream::ReplyStream;
use super::stream::Connection;
use crate::netconf::{BASE_NAMESPACE, Element, Framing, MessageWriter, ServerHello};
use crate::netconf_client::error::ClientError;
use crate::netconf_client::limits::ClientLimits;
use crate::netconf_client::reply::Reply;

/// The number of requests that wait to be sent.
const REQUESTS_QUEUED_MAX: usize = 16;

/// A session. Requests may be sent while others wait for their replies. Dropping it closes the connection.
pub struct Session {
    hello: ServerHello,
    framing: Framing,
    limits: ClientLimits,
    next_id: AtomicU64,
    requests: mpsc::Sender<Vec<Bytes>>,
    pending: Arc<Pending>,
    notifications: Mutex<Option<Notifications>>,
    receiving: AbortHandle,
}

impl Session {
    /// Exchanges the `hello` messages on a connection.
    pub(in crate::netconf_client) async fn begin_on(
        connection: Connection,
        capabilities: &[String],
        limits: &ClientLimits,
    ) -> Result<Self, ClientError> {
        let Connection { stream, guard } = connection;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut input = Input::new(reader, limits.message_pause_max);
        let (hello, framing) = greet(&mut input, &mut writer, capabilities, limits).await?;
        let pending = Arc::new(Pending::default());
        let (queue, notifications) = mpsc::channel(limits.notifications_queued_max.max(1));
        let lost = Arc::new(AtomicU64::new(0));
        let receiver = Receiver {
            input,
            pending: Arc::clone(&pending),
            notifications: queue,
            lost: Arc::clone(&lost),
            limits: limits.clone(),
        };
        let receiving = tokio::spawn(async move {
            let _guard = guard;
            receiver.run().await;
        });
        let (requests, to_send) = mpsc::channel(REQUESTS_QUEUED_MAX);
        let sending = send_all(to_send, writer, limits.send_pause_max, Arc::clone(&pending));
        tokio::spawn(sending);
        Ok(Self {
            hello,
            framing,
            limits: limits.clone(),
            next_id: AtomicU64::new(1),
            requests,
            notifications: Mutex::new(Some(Notifications {
                queue: notifications,
                lost,
                pending: Arc::clone(&pending),
            })),
            pending,
            receiving: receiving.abort_handle(),
        })
    }

    /// The `hello` of the server.
    pub fn hello(&self) -> &ServerHello {
        &self.hello
    }

    /// The framing of messages: chunks in `base:1.1`.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Sends an operation, an element as `<get/>`, and waits for its reply. Without a declaration, its namespace is that of
    /// the base operations.
    ///
    /// # Errors
    /// The server replied with errors; the session has ended; a limit is exceeded.
    pub async fn request(&self, operation: impl Display) -> Result<Reply, ClientError> {
        self.begin(operation).await?.reply().await
    }

    /// Sends an operation. Its reply is received in parts.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn begin(&self, operation: impl Display) -> Result<ReplyStream, ClientError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rpc xmlns=\"{BASE_NAMESPACE}\" message-id=\"{id}\">{operation}</rpc>"
        );
        self.send(id, &text).await
    }

    /// Sends a whole message, an `rpc` with any `message-id`, or none.
    ///
    /// # Errors
    /// It is not well-formed; the session has ended.
    pub async fn begin_message(&self, message: &str) -> Result<ReplyStream, ClientError> {
        let id = Element::parse(message).ok();
        let id = id.and_then(|rpc| rpc.attribute("message-id").map(str::to_owned));
        self.send(id.unwrap_or_default(), message).await
    }

    async fn send(&self, id: String, text: &str) -> Result<ReplyStream, ClientError> {
        let mut frames = Vec::new();
        let mut writer = MessageWriter::new(self.framing, |frame| {
            frames.push(frame);
            Ok(())
        });
        // Writing to memory does not fail.
        let written = writer.write_all(text.as_bytes());
        let written = written.and_then(|()| writer.finish());
        written.map_err(|error| ClientError::Transport(error.to_string()))?;
        // Added before it is sent, so that its reply finds it.
        let slot = self.requests.reserve().await;
        let slot = slot.map_err(|_| self.pending.reason())?;
        let parts = self.pending.add(id)?;
        slot.send(frames);
        Ok(ReplyStream {
            parts,
            pending: Arc::clone(&self.pending),
            time_max: self.limits.reply_time_max,
            held_bytes_max: self.limits.held_bytes_max,
        })
    }

    /// The notifications of the session: `None` if they were taken before. Those that nobody takes are dropped.
    pub fn notifications(&self) -> Option<Notifications> {
        self.notifications.lock().take()
    }

    /// Whether the connection has ended.
    pub fn is_ended(&self) -> bool {
        self.pending.is_ended()
    }

    /// Ends the session with `close-session`. A server that has closed the connection is no error.
    ///
    /// # Errors
    /// The server did not reply in time, or replied with errors.
    pub async fn close(&self) -> Result<(), ClientError> {
        drop(self.notifications());
        let closed = self.request("<close-session/>");
        let closed = timeout(self.limits.close_time_max, closed).await;
        match closed {
            Ok(Ok(_) | Err(ClientError::Closed)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ClientError::Timeout(
                "the server did not end the session in time (close_time_max)",
            )),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

/// Sends messages until the session is dropped.
async fn send_all(
    mut messages: mpsc::Receiver<Vec<Bytes>>,
    mut writer: impl AsyncWrite + Unpin,
    pause_max: Duration,
    pending: Arc<Pending>,
) {
    while let Some(frames) = messages.recv().await {
        if let Err(reason) = send_frames(&frames, &mut writer, pause_max).await {
            pending.end(reason);
            return;
        }
    }
    // The session ends in any case.
    let _ = timeout(pause_max, writer.shutdown()).await;
}

async fn send_frames(
    frames: &[Bytes],
    writer: &mut (impl AsyncWrite + Unpin),
    pause_max: Duration,
) -> Result<(), ClientError> {
    let late = |_| ClientError::Timeout("the server does not read the request (send_pause_max)");
    for frame in frames {
        let mut rest = &frame[..];
        while !rest.is_empty() {
            let written = timeout(pause_max, writer.write(rest)).await.map_err(late)?;
            match written {
                Ok(0) | Err(_) => return Err(ClientError::Closed),
                Ok(written) => rest = &rest[written..],
            }
        }
    }
    let flushed = timeout(pause_max, writer.flush()).await.map_err(late)?;
    flushed.map_err(|_| ClientError::Closed)
}
