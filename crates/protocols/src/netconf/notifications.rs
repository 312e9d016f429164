//! Sends the notifications of a subscription between the messages of its session (RFC 5277 §2, RFC 8640).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use espalier_service::notifications::{Delivery, Encoding, Polled, Subscription, completion};
use espalier_store::{Clock as _, SystemClock};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::framing::Framing;
use super::outbox::Outbox;
use crate::subscription_read::read;

/// How often a subscription that receives nothing is polled at least.
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// The notifications of a subscription are being sent. Dropping it ends the subscription.
pub(super) struct Sending {
    task: AbortHandle,
}

impl Sending {
    /// Begins to send. `replays` limits the threads that read.
    pub fn begin(
        subscription: Subscription,
        (outbox, framing): (Outbox, Framing),
        replays: Arc<Semaphore>,
    ) -> Self {
        let task = tokio::spawn(send(subscription, (outbox, framing), replays));
        Self {
            task: task.abort_handle(),
        }
    }

    /// Whether the subscription has ended.
    pub fn is_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends until the end of the subscription, or of the connection. `replays` limits the threads that read.
pub(super) async fn send(
    subscription: Subscription,
    (outbox, framing): (Outbox, Framing),
    replays: Arc<Semaphore>,
) {
    // A client that disconnects is not an error.
    if let Err(error) = send_all(subscription, (outbox, framing), &replays).await {
        tracing::debug!(%error, "the notifications of a NETCONF session ended");
    }
}

/// What is sent next.
enum Next {
    Message(Vec<u8>),
    MustRead,
    Ended,
}

async fn send_all(
    mut subscription: Subscription,
    (outbox, framing): (Outbox, Framing),
    replays: &Arc<Semaphore>,
) -> io::Result<()> {
    loop {
        let wait = subscription.wait_max().min(POLL_INTERVAL_MAX);
        let polled = std::future::poll_fn(|context| {
            subscription.poll(context).map(|polled| match polled {
                Polled::Delivery(delivery) => Next::Message(message(&delivery)),
                Polled::MustRead => Next::MustRead,
                Polled::Ended => Next::Ended,
            })
        });
        match timeout(wait, polled).await {
            Ok(Next::Message(message)) if message.is_empty() => {}
            Ok(Next::Message(message)) => {
                let text = String::from_utf8(message).map_err(io::Error::other)?;
                outbox.send(framing, &text).await?;
                subscription.session().record_notification();
                subscription.record_sent();
            }
            Ok(Next::MustRead) => {
                let turn = Arc::clone(replays).acquire_owned().await;
                let turn = turn.map_err(io::Error::other)?;
                subscription = read(subscription, |one| one, turn).await?;
            }
            Ok(Next::Ended) => return Ok(()),
            Err(_) => {}
        }
    }
}

/// The message of a delivery; empty if there is none.
fn message(delivery: &Delivery) -> Vec<u8> {
    match delivery {
        Delivery::Event(event) => event.document(Encoding::Xml).to_vec(),
        Delivery::ReplayComplete => completion("replayComplete", SystemClock.now(), Encoding::Xml),
        Delivery::Completed => completion("notificationComplete", SystemClock.now(), Encoding::Xml),
        // RFC 5277 has no message for these.
        Delivery::Lost(events) => {
            tracing::warn!(
                events,
                "a NETCONF client is too slow: notifications are lost"
            );
            Vec::new()
        }
        Delivery::Terminated(reason) => {
            tracing::info!(%reason, "a subscription of a NETCONF session ended");
            Vec::new()
        }
    }
}
