//! The connections of a server, and which one is closed when there are too many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use espalier_service::OpenLogin;
use espalier_service::identity::Peer;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::closable_stream::CloseSignal;
use super::limits::TransportLimits;

/// Which limit does not permit a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionRefused {
    /// [`TransportLimits::connections_max`], all of them authenticated.
    #[error("the server has {0} authenticated connections (connections_max)")]
    Connections(usize),
    /// [`TransportLimits::unauthenticated_of_address_max`].
    #[error(
        "the address has {0} connections that are not authenticated (unauthenticated_of_address_max)"
    )]
    UnauthenticatedOfAddress(usize),
}

/// The connections of a server. The key is the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: Mutex<OpenConnections>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    /// Those that are not authenticated, except closed ones, which only have to end.
    unauthenticated: BTreeMap<u64, (Peer, CloseSignal)>,
    /// All others.
    others: BTreeMap<u64, CloseSignal>,
}

/// A connection of a client. Dropping it ends its place among the connections.
#[derive(Debug)]
pub struct Connection {
    connections: Arc<Connections>,
    id: u64,
    peer: Peer,
    signal: CloseSignal,
    was_authenticated: Arc<AtomicBool>,
    login: Mutex<Option<OpenLogin>>,
}

impl Connections {
    /// Admits a connection, and closes another one for it if there are too many.
    pub fn admit(
        self: &Arc<Self>,
        limits: &TransportLimits,
        peer: Peer,
    ) -> Result<Connection, ConnectionRefused> {
        let network = peer.network();
        let mut open = self.open.lock();
        let of_address = open.unauthenticated.values();
        let of_address = of_address.filter(|(other, _)| *other == network).count();
        if peer != Peer::Local && of_address >= limits.unauthenticated_of_address_max {
            return Err(ConnectionRefused::UnauthenticatedOfAddress(of_address));
        }
        let is_full = open.unauthenticated.len() + open.others.len() >= limits.connections_max;
        if is_full || open.unauthenticated.len() >= limits.unauthenticated_max {
            open.close_oldest_unauthenticated()
                .ok_or(ConnectionRefused::Connections(limits.connections_max))?;
        }
        open.last += 1;
        let (id, signal) = (open.last, CloseSignal::new());
        open.unauthenticated.insert(id, (network, signal.clone()));
        Ok(Connection {
            connections: Arc::clone(self),
            id,
            peer,
            signal,
            was_authenticated: Arc::default(),
            login: Mutex::default(),
        })
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        let open = self.open.lock();
        open.unauthenticated.len() + open.others.len()
    }

    /// Closes all connections.
    pub fn close_all(&self) {
        let open = self.open.lock();
        let unauthenticated = open.unauthenticated.values().map(|(_, signal)| signal);
        for signal in unauthenticated.chain(open.others.values()) {
            signal.close();
        }
    }

    /// Completes when there is no connection.
    pub async fn all_ended(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.len() == 0 {
                return;
            }
            emptied.await;
        }
    }
}

impl OpenConnections {
    /// Closes the oldest connection that is not authenticated; `None` if there is none. The new connection takes its
    /// place at once: how long its task takes to end is not the choice of its client.
    fn close_oldest_unauthenticated(&mut self) -> Option<()> {
        let (id, (_, signal)) = self.unauthenticated.pop_first()?;
        signal.close();
        self.others.insert(id, signal);
        Some(())
    }
}

impl Connection {
    /// Where the client is.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Closes the streams of the connection.
    pub(super) fn signal(&self) -> &CloseSignal {
        &self.signal
    }

    /// Records that the client is authenticated, by this login.
    pub(super) fn set_authenticated(&self, login: OpenLogin) {
        *self.login.lock() = Some(login);
        self.leave_unauthenticated();
    }

    fn leave_unauthenticated(&self) {
        self.was_authenticated.store(true, Ordering::Release);
        let mut open = self.connections.open.lock();
        if let Some((_, signal)) = open.unauthenticated.remove(&self.id) {
            open.others.insert(self.id, signal);
        }
    }

    /// Whether the client is authenticated, also after the end of the connection.
    pub(super) fn was_authenticated(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.was_authenticated)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.unauthenticated.remove(&self.id);
        open.others.remove(&self.id);
        drop(open);
        self.connections.emptied.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: u8) -> Peer {
        Peer::Address(Ipv4Addr::new(192, 0, 2, last).into())
    }

    fn limits() -> TransportLimits {
        TransportLimits {
            connections_max: 4,
            unauthenticated_max: 3,
            unauthenticated_of_address_max: 2,
            ..TransportLimits::default()
        }
    }

    #[test]
    fn the_oldest_unauthenticated_connection_is_closed_for_another_address() {
        let connections = Arc::<Connections>::default();
        let admit = |last| connections.admit(&limits(), address(last));
        let first = admit(1).unwrap();
        let second = admit(1).unwrap();
        assert_eq!(
            admit(1).unwrap_err(),
            ConnectionRefused::UnauthenticatedOfAddress(2)
        );
        let third = admit(2).unwrap();
        let fourth = admit(3).unwrap();
        assert!(first.signal().is_closed() && !second.signal().is_closed());
        for connection in [&second, &third, &fourth] {
            connection.leave_unauthenticated();
            assert!(connection.was_authenticated().load(Ordering::Acquire));
        }
        assert_eq!(connections.len(), 4);
        assert_eq!(admit(4).unwrap_err(), ConnectionRefused::Connections(4));
        drop(first);
        let fifth = admit(4).unwrap();
        assert!(!fifth.was_authenticated().load(Ordering::Acquire));
        drop((second, third, fourth, fifth));
        assert_eq!(connections.len(), 0);
    }

    #[tokio::test]
    async fn the_end_of_all_connections_is_awaited() {
        let connections = Arc::<Connections>::default();
        let connection = connections.admit(&limits(), address(1)).unwrap();
        connections.close_all();
        assert!(connection.signal().is_closed());
        let all = Arc::clone(&connections);
        let ended = tokio::spawn(async move { all.all_ended().await });
        tokio::task::yield_now().await;
        drop(connection);
        ended.await.unwrap();
    }
}
