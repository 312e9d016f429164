//! Delays after failed logins, by user name and by the address of the peer.
//!
//! After [`FAILURES_FREE`] failures each further one doubles the time until the next try. A client that has logged in
//! as a user before, from its address, is only delayed by its own failures. Other clients cannot lock
//! it out by failing in the name of its user. Memory is bounded by [`TRACKED_MAX`]; the entries that were changed longest ago are dropped first.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use espalier_store::Timestamp;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;

use super::credentials::Peer;

/// The number of failures without a delay.
pub const FAILURES_FREE: u32 = 3;

/// The delay after the first failure that has one.
pub const DELAY_FIRST: Duration = Duration::from_secs(1);

/// The longest delay.
pub const DELAY_MAX: Duration = Duration::from_secs(60);

/// For how long failures are counted after the last one.
pub const FAILURES_KEPT: Duration = Duration::from_secs(15 * 60);

/// For how long a client that has logged in is exempt from delays by failures of other clients.
pub const LOGIN_KEPT: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of tracked user names, addresses, and pairs of both; and that of tracked logins. An entry has
/// about 50 bytes.
pub const TRACKED_MAX: usize = 20_000;

/// The failed logins of a server. Shared by its connections.
#[derive(Debug, Default)]
pub struct LoginLimit {
    /// Hashes with a random key: user names of attackers are of any length, and must not collide by design.
    hasher: RandomState,
    tracked: Mutex<Tracked>,
}

#[derive(Debug, Default)]
struct Tracked {
    failures: LinkedHashMap<u64, Failures, RandomState>,
    /// When clients logged in, by user and address.
    logins: LinkedHashMap<u64, Timestamp, RandomState>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Timestamp,
}

/// What failures are counted by.
#[derive(Hash)]
enum Subject<'a> {
    User(&'a str),
    Peer(Peer),
    Pair(&'a str, Peer),
}

impl LoginLimit {
    /// Checks whether a client may try a password now.
    ///
    /// # Errors
    /// It is not; the error is the time until the next try.
    pub fn check(&self, user: &str, peer: Peer, now: Timestamp) -> Result<(), Duration> {
        let mut tracked = self.tracked.lock();
        let delays = self.keys(&tracked, user, peer, now);
        let delays = delays.map(|key| key.map_or(Duration::ZERO, |key| tracked.delay(key, now)));
        match delays[0].max(delays[1]) {
            Duration::ZERO => Ok(()),
            delay => Err(delay),
        }
    }

    /// Counts a failed login.
    pub fn record_failure(&self, user: &str, peer: Peer, now: Timestamp) {
        let mut tracked = self.tracked.lock();
        for key in self.keys(&tracked, user, peer, now).into_iter().flatten() {
            tracked.add_failure(key, now);
        }
    }

    /// Records a login: the client is then exempt from delays by failures of other clients. Failures are not
    /// forgotten, so that an attacker with an account gains nothing by using it.
    pub fn record_login(&self, user: &str, peer: Peer, now: Timestamp) {
        let pair = self.hasher.hash_one(Subject::Pair(user, peer.network()));
        let logins = &mut self.tracked.lock().logins;
        logins.remove(&pair);
        logins.insert(pair, now);
        if logins.len() > TRACKED_MAX {
            logins.pop_front();
        }
    }

    /// The number of tracked names, addresses and pairs, with failures or logins.
    pub fn tracked(&self) -> usize {
        let tracked = self.tracked.lock();
        tracked.failures.len() + tracked.logins.len()
    }

    /// What failures of a client are counted by: of a client that has logged in, user and address together.
    fn keys(&self, tracked: &Tracked, user: &str, peer: Peer, now: Timestamp) -> [Option<u64>; 2] {
        let peer = peer.network();
        let hash = |subject: Subject<'_>| self.hasher.hash_one(subject);
        let pair = hash(Subject::Pair(user, peer));
        match tracked.has_login(pair, now) {
            true => [Some(pair), None],
            false => [
                Some(hash(Subject::Peer(peer))),
                Some(hash(Subject::User(user))),
            ],
        }
    }
}

impl Tracked {
    fn has_login(&self, pair: u64, now: Timestamp) -> bool {
        let login = self.logins.get(&pair);
        login.is_some_and(|&login| elapsed(login, now).is_some_and(|time| time < LOGIN_KEPT))
    }

    /// The time until the next try.
    fn delay(&mut self, key: u64, now: Timestamp) -> Duration {
        let Some(failures) = self.failures.get(&key) else {
            return Duration::ZERO;
        };
        match elapsed(failures.last, now) {
            Some(elapsed) if elapsed < FAILURES_KEPT => {
                delay_after(failures.count).saturating_sub(elapsed)
            }
            _ => {
                self.failures.remove(&key);
                Duration::ZERO
            }
        }
    }

    fn add_failure(&mut self, key: u64, now: Timestamp) {
        let before = self.failures.remove(&key);
        let before = before.filter(|before| {
            elapsed(before.last, now).is_some_and(|elapsed| elapsed < FAILURES_KEPT)
        });
        let count = before.map_or(0, |before| before.count).saturating_add(1);
        self.failures.insert(key, Failures { count, last: now });
        if self.failures.len() > TRACKED_MAX {
            self.failures.pop_front();
        }
    }
}

/// The delay after a number of failures: [`DELAY_FIRST`], doubled for each further one.
fn delay_after(failures: u32) -> Duration {
    match failures.checked_sub(FAILURES_FREE + 1) {
        None => Duration::ZERO,
        Some(doublings) => DELAY_FIRST
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(DELAY_MAX),
    }
}

/// The time since `last`; `None` if the clock was set back, so that clients do not wait until it catches up.
fn elapsed(last: Timestamp, now: Timestamp) -> Option<Duration> {
    let elapsed = Duration::from_millis(now.0.saturating_sub(last.0));
    (!last.is_ahead_of(now)).then_some(elapsed)
}
