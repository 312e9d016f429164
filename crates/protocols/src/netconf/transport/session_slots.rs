//! How many sessions there are: in all, of a user, and of an address.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use espalier_service::identity::Peer;
use parking_lot::Mutex;

use super::limits::TransportLimits;

/// Which limit does not permit another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SlotsExhausted {
    /// [`TransportLimits::sessions_max`].
    #[error("the server has {0} sessions (sessions_max)")]
    Server(usize),
    /// [`TransportLimits::sessions_of_user_max`].
    #[error("the user has {0} sessions (sessions_of_user_max)")]
    User(usize),
    /// [`TransportLimits::sessions_of_address_max`].
    #[error("the address has {0} sessions (sessions_of_address_max)")]
    Address(usize),
}

/// The sessions of a server.
#[derive(Debug, Default)]
pub(super) struct SessionSlots {
    taken: Mutex<TakenSlots>,
}

#[derive(Debug, Default)]
struct TakenSlots {
    all: usize,
    of_user: HashMap<String, usize>,
    of_address: HashMap<Peer, usize>,
}

/// The slot of one session. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct SessionSlot {
    slots: Arc<SessionSlots>,
    user: String,
    peer: Peer,
}

impl SessionSlots {
    /// A slot for a session of a user at the other end of a connection.
    pub fn acquire(
        self: &Arc<Self>,
        limits: &TransportLimits,
        user: &str,
        peer: Peer,
    ) -> Result<SessionSlot, SlotsExhausted> {
        let peer = peer.network();
        let mut taken = self.taken.lock();
        if taken.all >= limits.sessions_max {
            return Err(SlotsExhausted::Server(limits.sessions_max));
        }
        if taken.of_user.get(user).copied().unwrap_or(0) >= limits.sessions_of_user_max {
            return Err(SlotsExhausted::User(limits.sessions_of_user_max));
        }
        let of_address = taken.of_address.get(&peer).copied().unwrap_or(0);
        if peer != Peer::Local && of_address >= limits.sessions_of_address_max {
            return Err(SlotsExhausted::Address(limits.sessions_of_address_max));
        }
        taken.all += 1;
        *taken.of_user.entry(user.to_owned()).or_default() += 1;
        *taken.of_address.entry(peer).or_default() += 1;
        Ok(SessionSlot {
            slots: Arc::clone(self),
            user: user.to_owned(),
            peer,
        })
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.taken.lock().all
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        taken.all -= 1;
        decrement(&mut taken.of_user, &self.user);
        decrement(&mut taken.of_address, &self.peer);
    }
}

/// Counts one less. Counts of 0 are not kept: user names and addresses are those of clients.
fn decrement<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn each_limit_is_named_and_dropped_slots_are_free_again() {
        let limits = TransportLimits {
            sessions_max: 3,
            sessions_of_user_max: 2,
            sessions_of_address_max: 2,
            ..TransportLimits::default()
        };
        let slots = Arc::<SessionSlots>::default();
        let at = |last: u8| Peer::Address(Ipv4Addr::new(192, 0, 2, last).into());
        let take = |user: &str, peer| slots.acquire(&limits, user, peer);
        let first = take("ann", at(1)).unwrap();
        let second = take("ann", at(2)).unwrap();
        assert_eq!(take("ann", at(3)).unwrap_err(), SlotsExhausted::User(2));
        drop(second);
        let _second = take("bob", at(1)).unwrap();
        assert_eq!(take("eve", at(1)).unwrap_err(), SlotsExhausted::Address(2));
        let _third = take("eve", Peer::Local).unwrap();
        assert_eq!(take("joe", at(4)).unwrap_err(), SlotsExhausted::Server(3));
        drop(first);
        assert_eq!(slots.len(), 2);
        assert!(take("joe", at(1)).is_ok());
        let taken = slots.taken.lock();
        assert!(!taken.of_user.contains_key("ann") && !taken.of_user.contains_key("joe"));
    }
}
