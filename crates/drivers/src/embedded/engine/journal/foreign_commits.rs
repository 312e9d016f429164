//! Commits of other processes that this one has read, until its watchers are notified.

use espalier_keyspace::Version;

use super::changed_rows::RowChange;
use super::frame;
use crate::recent_commits::{RecentCommits, Recorder};

/// Maximum bytes kept: 4 MiB. More becomes a gap.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Commits of other processes, in order.
#[derive(Clone, Default)]
pub(in crate::embedded) struct ForeignCommits {
    /// Commits up to this version are reported as a gap.
    gap: Version,
    /// The frames of the commits after it.
    commits: Vec<(Version, Vec<u8>)>,
    bytes: usize,
}

impl ForeignCommits {
    /// A gap up to `version`.
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

    /// Notifies the watchers.
    pub(in crate::embedded) fn report(self, recent: &RecentCommits) {
        recent.push_foreign(self.gap);
        for (version, payload) in self.commits {
            let mut recorder = Recorder::new();
            let recorded = frame::each(&payload, &mut |change| match change {
                RowChange::Removed(range) => recorder.delete_range(&range),
                RowChange::Put(key, value) => recorder.put(key, value),
                RowChange::Deleted(key) => recorder.delete(key),
            });
            match recorded {
                Some(()) => recent.push(version, recorder),
                None => recent.push_foreign(version),
            }
        }
    }
}
