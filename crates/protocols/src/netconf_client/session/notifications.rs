//! The notifications of a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::pending::Pending;
use crate::netconf_client::error::ClientError;

/// A `notification` (RFC 5277 §4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification(pub(super) String);

impl Notification {
    /// The whole message.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The notifications of a session, in the order of their arrival.
pub struct Notifications {
    pub(super) queue: mpsc::Receiver<Notification>,
    pub(super) lost: Arc<AtomicU64>,
    pub(super) pending: Arc<Pending>,
}

impl Notifications {
    /// Waits for the next one.
    ///
    /// # Errors
    /// Why the session has ended.
    pub async fn next(&mut self) -> Result<Notification, ClientError> {
        match self.queue.recv().await {
            Some(notification) => Ok(notification),
            None => Err(self.pending.reason()),
        }
    }

    /// The next one that has arrived already.
    pub fn try_next(&mut self) -> Option<Notification> {
        self.queue.try_recv().ok()
    }

    /// How many were dropped since the last call: while a request waits for its reply, notifications that are not read do not
    /// hold it up.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}
