//! An in-memory map of an engine's data, updated from version to version.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;

use espalier_keyspace::{
    ByteMap, Change, Direction, Driver, Error, ErrorKind, KeyRange, Result, Snapshot, Step,
    Version, retry_too_old,
};
use parking_lot::Mutex;

use super::policy_driver::StepResult;
use crate::memory::{LatestState, VersionedMap, apply};
use crate::recent_commits::Recorder;

/// How often loading is retried if the snapshot becomes too old meanwhile.
const LOAD_TRIES_MAX: usize = 5;

/// Which part of a value is kept in memory.
pub(super) trait ValueRetention: Send + Sync + 'static {
    /// The bytes kept for a value; they differ if the values differ.
    fn retained<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]>;
}

/// Keeps full values.
pub(super) struct FullValues;

impl ValueRetention for FullValues {
    fn retained<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        Cow::Borrowed(value)
    }
}

/// The newest known state, and some older ones. Changed by one caller at a time.
pub(super) struct View<H: ValueRetention> {
    retention: H,
    newest: LatestState,
    past: Mutex<VecDeque<VersionedMap>>,
    past_max: usize,
}

impl View<FullValues> {
    /// Applies a commit of this process, if it follows the newest state.
    pub(super) fn apply_step(&self, version: Version, step: &Step) -> StepResult {
        match self.version().cmp(&step.from) {
            Ordering::Less => StepResult::Early,
            Ordering::Greater => StepResult::Skipped,
            Ordering::Equal => {
                let mut recorder = Recorder::effect_only();
                match apply(&self.newest, &step.batch, &mut recorder, Some(version)) {
                    Ok(_) => StepResult::Applied,
                    Err(_) => StepResult::Skipped,
                }
            }
        }
    }
}

impl<H: ValueRetention> View<H> {
    /// Loads all data of the engine. Keeps up to `past_max` older states.
    pub(super) fn load(engine: &dyn Driver, retention: H, past_max: usize) -> Result<Self> {
        let view = Self {
            retention,
            newest: LatestState::default(),
            past: Mutex::default(),
            past_max: 0,
        };
        view.reload(engine, Version::default())?;
        Ok(Self { past_max, ..view })
    }

    /// The newest state.
    pub(super) fn newest(&self) -> VersionedMap {
        self.newest.get()
    }

    /// The version of the newest state.
    pub(super) fn version(&self) -> Version {
        self.newest.version()
    }

    /// The state of a version, if it is kept.
    pub(super) fn at(&self, version: Version) -> Option<VersionedMap> {
        let newest = self.newest();
        if newest.version == version {
            return Some(newest);
        }
        let past = self.past.lock();
        past.iter().find(|state| state.version == version).cloned()
    }

    /// Applies one commit.
    pub(super) fn apply(&self, version: Version, changes: &[Change]) {
        let mut map = self.newest().map;
        for change in changes {
            match change {
                Change::Put { key, value } => map.insert(key, &self.retention.retained(value)),
                Change::Delete { key } => drop(map.remove(key)),
                Change::DeleteRange(range) => drop(map.remove_range(range)),
            }
        }
        self.publish(VersionedMap { version, map });
    }

    /// Updates the newest state to the engine's current one, of at least version `least`.
    pub(super) fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        let state = self.read(engine, &self.newest(), least)?;
        self.publish(state);
        Ok(())
    }

    /// Reads the engine's state, of at least version `least`. Unchanged parts of `before` are shared, so
    /// that a reload takes memory only for differences.
    fn read(
        &self,
        engine: &dyn Driver,
        before: &VersionedMap,
        least: Version,
    ) -> Result<VersionedMap> {
        retry_too_old(LOAD_TRIES_MAX, || {
            let snapshot = engine.snapshot()?;
            let version = snapshot.version();
            if version < least {
                let message = format!(
                    "the engine is at version {} after it reported {}; its data may have been restored from a backup",
                    version.0, least.0
                );
                return Err(Error::new(ErrorKind::Engine, message));
            }
            let map = self.merge_snapshot(&*snapshot, &before.map)?;
            Ok(VersionedMap { version, map })
        })
    }

    /// Returns `before` with all differences to the snapshot applied.
    fn merge_snapshot(&self, snapshot: &dyn Snapshot, before: &ByteMap) -> Result<ByteMap> {
        let mut map = before.clone();
        let mut old = before.iter().peekable();
        let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            while let Some((removed, _)) = old.next_if(|(old_key, _)| *old_key < key) {
                map.remove(removed);
            }
            let value = self.retention.retained(value);
            let old_value = old.next_if(|(old_key, _)| *old_key == key);
            if old_value.is_none_or(|(_, old_value)| old_value != &*value) {
                map.insert(key, &value);
            }
        }
        for (removed, _) in old {
            map.remove(removed);
        }
        Ok(map)
    }

    fn publish(&self, state: VersionedMap) {
        let before = self.newest.replace(state);
        if self.past_max > 0 {
            let mut past = self.past.lock();
            past.push_back(before);
            if past.len() > self.past_max {
                past.pop_front();
            }
        }
    }
}

/// Loads the current state of the engine.
pub(super) fn load_state(engine: &dyn Driver) -> Result<VersionedMap> {
    Ok(View::load(engine, FullValues, 0)?.newest())
}
