//! The commits of other processes that this one has read, until its watchers are told of them.

use espalier_keyspace::Version;

use super::{frame, rows};
use crate::recent_commits::{RecentCommits, Recorder};

/// The most bytes that are kept: 4 MiB. What is more is told as a gap.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Commits of others, in order.
#[derive(Clone, Default)]
pub(in crate::embedded) struct Others {
    /// Those up to this one cannot be told one by one.
    gap: Version,
    /// What the frames of those after it hold.
    commits: Vec<(Version, Vec<u8>)>,
    bytes: usize,
}

impl Others {
    /// Commits up to `version`, of which nothing else is known.
    pub(super) fn gap(version: Version) -> Self {
        Self {
            gap: version,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, version: Version, payload: &[u8]) {
        self.bytes += payload.len();
        match self.bytes > KEPT_BYTES_MAX {
            true => *self = Self::gap(version),
            false => self.commits.push((version, payload.to_vec())),
        }
    }

    /// Tells the watchers.
    pub(in crate::embedded) fn tell(self, recent: &RecentCommits) {
        recent.push_foreign(self.gap);
        for (version, payload) in self.commits {
            let mut recorder = Recorder::new();
            let recorded = frame::each(&payload, &mut |key, entry| match rows::held(entry) {
                Some(value) => recorder.put(key, value),
                None => recorder.delete(key),
            });
            match recorded {
                Some(()) => recent.push(version, recorder),
                None => recent.push_foreign(version),
            }
        }
    }
}
