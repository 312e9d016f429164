//! Deleting versions that nobody can read any more.

use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{DateTime, doc};

use super::chain::{revision_in, signed};
use super::connection::{Query, Sure};
use super::error::Trouble;
use super::names::{Kind, revision_of, revision_text};
use super::open::Engine;
use crate::staged::STALE;

/// The shortest time between two rounds of deleting in one process.
const PAUSE: Duration = Duration::from_secs(30);

/// Documents that one round is allowed the time for.
const GARBAGE: usize = 10_000;

impl Engine {
    /// Deletes what has been replaced for longer than it is kept. Called after commits; that it
    /// fails is no reason for them to.
    pub(in crate::mongo) fn prune(&self) {
        {
            let mut pruned = self.pruned.lock();
            if pruned.elapsed() < PAUSE.min(self.keep) {
                return;
            }
            *pruned = Instant::now();
        }
        let Some(floor) = self.chain.oldest_kept() else {
            return;
        };
        if let Err(trouble) = self.prune_before(floor) {
            tracing::warn!(error = %trouble.error, "old versions are not deleted");
        }
    }

    /// Deletes what processes that did not live long left behind more than a day ago.
    pub(super) fn prune_leftovers(&self) -> Result<()> {
        let long_ago = DateTime::from_system_time(SystemTime::now() - STALE);
        let mut query = Query::new(doc! { "at": { "$lt": long_ago } }, -1, 1);
        query.fields = doc! { "_id": 1 };
        let found = self.server.find("commits", query)?.pop();
        let id = found.as_ref().and_then(|found| found.get_str("_id").ok());
        // The newest version is never deleted, nor is one that is still to be applied.
        let (newest, _) = self.newest()?;
        match id.and_then(revision_of) {
            Some(floor) if floor <= newest.revision => {
                self.prune_before(floor).map_err(|trouble| trouble.error)
            }
            _ => Ok(()),
        }
    }

    /// Makes `floor` the oldest revision that can be read.
    fn prune_before(&self, floor: u64) -> std::result::Result<(), Trouble> {
        let first = revision_text(floor);
        let update = doc! {
            "q": { "_id": "floor" },
            "u": { "$max": { "revision": signed(floor) } },
            "upsert": true,
        };
        self.server.update("state", vec![update], 1, Sure::Last)?;
        for kind in Kind::ALL {
            let mut garbage = vec![doc! { "pending": { "$lt": &first } }];
            if kind.has_past() {
                garbage.push(doc! { "until": { "$lte": signed(floor) } });
            }
            self.server
                .delete(kind.name(), garbage, GARBAGE, Sure::Soon)?;
        }
        let older = vec![doc! { "_id": { "$lt": &first } }];
        for chain in ["commits", "versions"] {
            self.server
                .delete(chain, older.clone(), GARBAGE, Sure::Soon)?;
        }
        Ok(())
    }

    /// Refuses to have read at a revision that may have been deleted from meanwhile.
    pub(in crate::mongo) fn check_kept(&self, revision: u64) -> Result<()> {
        let seen = self.chain.seen(revision);
        if seen.is_some_and(|at| self.is_fresh(at)) {
            return Ok(());
        }
        let floor = self.server.get("state", "floor")?;
        let floor = floor.and_then(|floor| revision_in(&floor, "revision"));
        if floor.is_some_and(|floor| revision < floor) {
            let message = format!(
                "MongoDB at {} does not keep what this snapshot shows any more; take a new one",
                self.server.place
            );
            return Err(Error::new(ErrorKind::SnapshotTooOld, message));
        }
        Ok(())
    }
}
