//! Passwords that were verified a moment ago: HTTP Basic sends the password with every request, and a hash takes tens
//! of milliseconds.
//!
//! An entry is a keyed hash of user, stored hash and password, with a key that only this process has. A password that
//! was changed or removed in the datastore therefore has no entry.

use std::hash::RandomState;
use std::time::Duration;

use espalier_store::Timestamp;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;

use super::password::PasswordHash;
use super::random::{RandomError, random_bytes};

/// The maximum number of entries.
pub const VERIFIED_MAX: usize = 1_000;

/// For how long an entry is valid.
pub const VERIFIED_KEPT: Duration = Duration::from_secs(60);

/// The verified passwords of a server.
pub(super) struct VerifiedPasswords {
    key: [u8; 32],
    entries: Mutex<LinkedHashMap<[u8; 32], Timestamp, RandomState>>,
}

impl VerifiedPasswords {
    pub fn new() -> Result<Self, RandomError> {
        Ok(Self {
            key: random_bytes()?,
            entries: Mutex::default(),
        })
    }

    /// Returns whether the password was verified in the last [`VERIFIED_KEPT`].
    pub fn contains(
        &self,
        user: &str,
        hash: &PasswordHash,
        password: &str,
        now: Timestamp,
    ) -> bool {
        let digest = self.digest(user, hash, password);
        let mut entries = self.entries.lock();
        let Some(&verified) = entries.get(&digest) else {
            return false;
        };
        let elapsed = now.0.checked_sub(verified.0).map(Duration::from_millis);
        let is_valid = elapsed.is_some_and(|elapsed| elapsed < VERIFIED_KEPT);
        if !is_valid {
            entries.remove(&digest);
        }
        is_valid
    }

    /// Adds a verified password. The oldest entry is dropped if there are too many.
    pub fn add(&self, user: &str, hash: &PasswordHash, password: &str, now: Timestamp) {
        let digest = self.digest(user, hash, password);
        let mut entries = self.entries.lock();
        entries.remove(&digest);
        entries.insert(digest, now);
        if entries.len() > VERIFIED_MAX {
            entries.pop_front();
        }
    }

    fn digest(&self, user: &str, hash: &PasswordHash, password: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in [user, hash.as_str(), password] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_expire_depend_on_every_part_and_are_bounded() {
        let verified = VerifiedPasswords::new().unwrap();
        let hash = PasswordHash::decoy();
        verified.add("ann", &hash, "secret", Timestamp(1_000));
        assert!(verified.contains("ann", &hash, "secret", Timestamp(60_999)));
        assert!(!verified.contains("ann", &hash, "other", Timestamp(1_000)));
        assert!(!verified.contains("anns", &hash, "ecret", Timestamp(1_000)));
        assert!(!verified.contains("ann", &hash, "secret", Timestamp(999)));
        verified.add("ann", &hash, "secret", Timestamp(1_000));
        assert!(!verified.contains("ann", &hash, "secret", Timestamp(61_000)));
        for number in 0..2 * VERIFIED_MAX {
            verified.add(&number.to_string(), &hash, "secret", Timestamp(0));
        }
        assert_eq!(verified.entries.lock().len(), VERIFIED_MAX);
    }
}
