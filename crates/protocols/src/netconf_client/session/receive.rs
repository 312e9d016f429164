//! Routes received messages to requests and to the queue of notifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use super::input::{Input, Piece};
use super::notifications::Notification;
use super::pending::Pending;
use crate::netconf::{BASE_NAMESPACE, Element};
use crate::netconf_client::error::ClientError;
use crate::netconf_client::limits::ClientLimits;

/// The namespace of `notification` (RFC 5277 §4).
const NOTIFICATION_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// Maximum size of what a message has up to the end of its first start tag, in bytes.
const ROOT_TAG_BYTES_MAX: usize = 64 << 10;

/// Receives the messages of a session.
pub(super) struct Receiver<R> {
    pub input: Input<R>,
    pub pending: Arc<Pending>,
    pub notifications: mpsc::Sender<Notification>,
    pub lost: Arc<AtomicU64>,
    pub limits: ClientLimits,
}

/// What a message is, by its first start tag.
enum Kind {
    /// A reply, with its identifier.
    Reply(Option<String>),
    Notification,
}

impl<R: AsyncRead + Unpin> Receiver<R> {
    /// Receives until the connection ends.
    pub async fn run(mut self) {
        loop {
            if let Err(reason) = self.message().await {
                self.pending.end(reason);
                return;
            }
        }
    }

    async fn message(&mut self) -> Result<(), ClientError> {
        let mut begin = Vec::new();
        loop {
            match self.input.next().await? {
                Piece::End => {
                    let kind = kind_of_whole(&begin)?;
                    return self.give_whole(kind, begin).await;
                }
                Piece::Data(data) => {
                    begin.extend_from_slice(&data);
                    // Only the end of a tag can complete the first start tag.
                    let is_candidate = memchr::memchr(b'>', &data).is_some();
                    if let Some(kind) = is_candidate
                        .then(|| kind_of_begin(&begin))
                        .transpose()?
                        .flatten()
                    {
                        return self.give(kind, begin).await;
                    }
                }
            }
            if begin.len() > ROOT_TAG_BYTES_MAX {
                return Err(ClientError::TooBig {
                    message: "the start tag of a message",
                    max: ROOT_TAG_BYTES_MAX,
                    limit: "ROOT_TAG_BYTES_MAX",
                });
            }
        }
    }

    /// Gives a message away that has begun.
    async fn give(&mut self, kind: Kind, begin: Vec<u8>) -> Result<(), ClientError> {
        match kind {
            Kind::Notification => {
                let max = self.limits.notification_bytes_max;
                let names = ("a notification", "notification_bytes_max");
                let text = self.input.rest(begin, max, names).await?;
                self.notify(Notification(text)).await;
                Ok(())
            }
            Kind::Reply(id) => {
                let parts = self.waiting_for(id)?;
                let mut next = Piece::Data(Bytes::from(begin));
                loop {
                    let is_end = matches!(next, Piece::End);
                    // The rest of a reply that is no longer awaited is dropped.
                    let _ = parts.send(next).await;
                    if is_end {
                        return Ok(());
                    }
                    next = match self.input.next().await {
                        Ok(piece) => piece,
                        Err(reason) => {
                            // Before the parts end, so that their reader finds the reason.
                            self.pending.end(reason.clone());
                            return Err(reason);
                        }
                    };
                }
            }
        }
    }

    /// Gives a message away that was received.
    async fn give_whole(&mut self, kind: Kind, message: Vec<u8>) -> Result<(), ClientError> {
        match kind {
            Kind::Notification => {
                self.notify(Notification(super::input::text(message)?))
                    .await;
            }
            Kind::Reply(id) => {
                let parts = self.waiting_for(id)?;
                let _ = parts.send(Piece::Data(message.into())).await;
                let _ = parts.send(Piece::End).await;
            }
        }
        Ok(())
    }

    fn waiting_for(&self, id: Option<String>) -> Result<mpsc::Sender<Piece>, ClientError> {
        self.pending.take(id.as_deref()).ok_or_else(|| {
            let id = id.unwrap_or_default();
            ClientError::Malformed(format!("it is a reply to no request (message-id “{id}”)"))
        })
    }

    /// Waits until there is room for a notification, unless a request waits for its reply, which comes later: then the
    /// notification is dropped.
    async fn notify(&mut self, notification: Notification) {
        let notification = match self.notifications.try_send(notification) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => return,
            Err(mpsc::error::TrySendError::Full(notification)) => notification,
        };
        let added = self.pending.added.notified();
        tokio::pin!(added);
        // A request that is added from here on is noticed.
        added.as_mut().enable();
        if self.pending.is_empty() {
            tokio::select! {
                sent = self.notifications.send(notification) => {
                    // Nobody reads notifications any more.
                    drop(sent);
                    return;
                }
                () = added => {}
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a message is; `None` if its first start tag is not complete.
fn kind_of_begin(begin: &[u8]) -> Result<Option<Kind>, ClientError> {
    let valid = match std::str::from_utf8(begin) {
        Ok(text) => text,
        // A character may be split.
        Err(error) => std::str::from_utf8(&begin[..error.valid_up_to()]).unwrap_or_default(),
    };
    match Element::parse_open(valid.trim_start(), |_| true) {
        Ok(Some(open)) => kind(&open.last).map(Some),
        // An empty element is known when the message has ended.
        Ok(None) | Err(_) => Ok(None),
    }
}

fn kind_of_whole(message: &[u8]) -> Result<Kind, ClientError> {
    let text = std::str::from_utf8(message);
    let text = text.map_err(|error| ClientError::Malformed(format!("it is not UTF-8: {error}")))?;
    kind(&Element::parse(text.trim_start())?)
}

fn kind(root: &Element<'_>) -> Result<Kind, ClientError> {
    if root.is(BASE_NAMESPACE, "rpc-reply") {
        return Ok(Kind::Reply(root.attribute("message-id").map(str::to_owned)));
    }
    match root.is(NOTIFICATION_NAMESPACE, "notification") {
        true => Ok(Kind::Notification),
        false => Err(ClientError::Malformed(format!(
            "expected an rpc-reply or a notification, not “{}” in “{}”",
            root.name, root.namespace
        ))),
    }
}
