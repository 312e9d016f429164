//! What a server knows of itself and of the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::process::Process;

/// How often a server changes its row, and looks at those of others.
pub const PRESENCE_INTERVAL: Duration = Duration::from_secs(5);

/// A server whose sessions hold something and whose row has not changed for this long is dead. By the clock of the
/// server that looks, so the clocks of different machines do not matter.
pub const PRESENCE_MAX: Duration = Duration::from_secs(60);

/// The begin of the names of sessions that end with their connections.
pub(super) const NAME_BEGIN: &str = "netconf-";

/// The characters of an id.
const ID_CHARS: usize = 32;

/// This server among the servers of its store.
#[derive(Default)]
pub(crate) struct ServerPresence {
    pub(super) own: Mutex<Option<Arc<OwnRow>>>,
    pub(super) others: Mutex<Others>,
}

/// The row of this server.
pub(super) struct OwnRow {
    pub id: String,
    pub process: Process,
    pub changes: AtomicU64,
}

#[derive(Default)]
pub(super) struct Others {
    pub looked: Option<Instant>,
    /// By id: the row, and since when it has been so.
    pub seen: HashMap<String, (Vec<u8>, Instant)>,
}

impl Others {
    /// Whether a server is dead, by its row now. A server without a row has ended, or was found dead before.
    pub fn is_dead(&mut self, server: &str, row: Option<&[u8]>, observer: &Process) -> bool {
        let Some(row) = row else {
            return true;
        };
        if Process::decode(row).is_some_and(|process| process.is_ended(observer)) {
            return true;
        }
        match self.seen.get(server) {
            Some((seen, since)) if seen == row => since.elapsed() >= PRESENCE_MAX,
            _ => {
                let seen = (row.to_vec(), Instant::now());
                self.seen.insert(server.to_owned(), seen);
                false
            }
        }
    }
}

/// The id of the server in the name of a session, with or without its user.
pub(super) fn server_of(session: &str) -> Option<&str> {
    let name = session.rsplit('/').next()?;
    let (id, _) = name.strip_prefix(NAME_BEGIN)?.split_once('-')?;
    (id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::random_id;

    #[test]
    fn names_of_sessions_have_the_id_of_their_server() {
        let id = random_id().expect("random bytes");
        let name = format!("{NAME_BEGIN}{id}-12");
        assert_eq!(server_of(&name), Some(&*id));
        assert_eq!(server_of(&format!("ma%2Fria/{name}")), Some(&*id));
        for other in ["netconf-1795955389018-5355-0", "netconf", "maria/x", ""] {
            assert_eq!(server_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_server_that_cannot_be_seen_is_dead_when_its_row_stays_the_same() {
        let own = Process::current().expect("/proc");
        let elsewhere = Process {
            boot: own.boot ^ 1,
            ..own.clone()
        };
        let mut others = Others::default();
        let id = random_id().expect("random bytes");
        assert!(others.is_dead(&id, None, &own));
        assert!(!others.is_dead(&id, Some(&elsewhere.encode(1)), &own));
        let age = |others: &mut Others| {
            let seen = others.seen.get_mut(&id).expect("a row");
            seen.1 = Instant::now().checked_sub(PRESENCE_MAX).expect("an uptime");
        };
        age(&mut others);
        assert!(!others.is_dead(&id, Some(&elsewhere.encode(2)), &own));
        age(&mut others);
        assert!(others.is_dead(&id, Some(&elsewhere.encode(2)), &own));
    }
}
