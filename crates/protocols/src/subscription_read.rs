//! The reads of subscriptions that tasks make on threads that may block, over RESTCONF and NETCONF.

use std::io;

use espalier_service::notifications::Subscription;
use tokio::sync::OwnedSemaphorePermit;

/// Reads past events, or an update of a datastore, for what has a subscription.
///
/// # Errors
/// Those of the read.
pub(crate) async fn read<T: Send + 'static>(
    mut receiver: T,
    subscription: fn(&mut T) -> &mut Subscription,
    turn: OwnedSemaphorePermit,
) -> io::Result<T> {
    let read = tokio::task::spawn_blocking(move || {
        // Held until the read ends, even if the client is gone.
        let _turn = turn;
        let result = subscription(&mut receiver).read();
        result.map(|()| receiver).map_err(io::Error::other)
    });
    read.await.map_err(io::Error::other)?
}
