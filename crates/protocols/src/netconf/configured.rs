//! Sends the notifications of configured subscriptions in the session of a call-home client (RFC 8639 §2.5).

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use espalier_service::ConfiguredFeed;
use espalier_service::notifications::Subscription;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::framing::Framing;
use super::notifications::send;
use super::outbox::Outbox;
use super::server::Inner;

/// How often subscriptions that could not be opened are tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The configured subscriptions of a session are being sent. Dropping it ends that.
pub(super) struct SendingConfigured {
    task: AbortHandle,
    is_receiving: Arc<AtomicBool>,
}

impl SendingConfigured {
    /// Begins to send.
    pub fn begin(server: Arc<Inner>, feed: ConfiguredFeed, to: (Outbox, Framing)) -> Self {
        let is_receiving = Arc::<AtomicBool>::default();
        let task = tokio::spawn(send_all(server, feed, to, Arc::clone(&is_receiving)));
        Self {
            task: task.abort_handle(),
            is_receiving,
        }
    }

    /// Whether the session receives any.
    pub fn is_receiving(&self) -> bool {
        self.is_receiving.load(Ordering::Relaxed)
    }
}

impl Drop for SendingConfigured {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn send_all(
    server: Arc<Inner>,
    mut feed: ConfiguredFeed,
    to: (Outbox, Framing),
    is_receiving: Arc<AtomicBool>,
) {
    let mut sending = JoinSet::new();
    loop {
        let opened;
        (feed, opened) = match open(&server, feed).await {
            Some(opened) => opened,
            None => return,
        };
        for subscription in opened {
            let replays = server.anchors.server().replays();
            sending.spawn(send(subscription, to.clone(), replays));
        }
        is_receiving.store(!sending.is_empty(), Ordering::Relaxed);
        tokio::select! {
            () = poll_fn(|context| feed.poll_changed(context)) => {}
            Some(_) = sending.join_next() => {}
            () = sleep(RETRY_INTERVAL) => {}
        }
    }
}

/// Opens the subscriptions that are new; `None` if the server ends.
async fn open(
    server: &Arc<Inner>,
    feed: ConfiguredFeed,
) -> Option<(ConfiguredFeed, Vec<Subscription>)> {
    let server = Arc::clone(server);
    let opened = tokio::task::spawn_blocking(move || match server.anchor() {
        Ok(anchor) => {
            let opened = feed.open(&anchor);
            (feed, opened)
        }
        Err(errors) => {
            tracing::debug!(%errors, "configured subscriptions wait for the anchor");
            (feed, Vec::new())
        }
    });
    let opened = opened.await;
    opened
        .inspect_err(|error| tracing::error!(%error, "opening configured subscriptions failed"))
        .ok()
}
