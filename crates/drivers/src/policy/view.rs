//! Keys and values in a map, brought from version to version.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;

use espalier_keyspace::{
    ByteMap, Change, Direction, Driver, Error, ErrorKind, KeyRange, Result, Snapshot, Step, Version,
};
use parking_lot::Mutex;

use super::keeper::Took;
use crate::memory::{Newest, State, apply};
use crate::recent_commits::Recorder;

/// How often a state is read again when it became too old while it was read.
const LOAD_TRIES_MAX: usize = 5;

/// What of a value is kept in memory.
pub(super) trait Hold: Send + Sync + 'static {
    /// What is kept of a value: bytes that tell whether it is the same.
    fn hold<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]>;
}

/// Whole values.
pub(super) struct Whole;

impl Hold for Whole {
    fn hold<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        Cow::Borrowed(value)
    }
}

/// The newest known state, and some before it. One caller at a time changes it.
pub(super) struct View<H: Hold> {
    hold: H,
    newest: Newest,
    past: Mutex<VecDeque<State>>,
    past_max: usize,
}

impl View<Whole> {
    /// Takes in one commit of this process, where it follows the newest state.
    pub(super) fn take_step(&self, version: Version, step: &Step) -> Took {
        match self.version().cmp(&step.from) {
            Ordering::Less => Took::Early,
            Ordering::Greater => Took::Nothing,
            Ordering::Equal => {
                let mut nobody = Recorder::effect_only();
                match apply(&self.newest, &step.batch, &mut nobody, Some(version)) {
                    Ok(_) => Took::Step,
                    Err(_) => Took::Nothing,
                }
            }
        }
    }
}

impl<H: Hold> View<H> {
    /// Reads all that the engine has. Keeps as many states beside the newest.
    pub(super) fn load(engine: &dyn Driver, hold: H, past_max: usize) -> Result<Self> {
        let view = Self {
            hold,
            newest: Newest::default(),
            past: Mutex::default(),
            past_max: 0,
        };
        view.reload(engine, Version::default())?;
        Ok(Self { past_max, ..view })
    }

    /// The newest state.
    pub(super) fn newest(&self) -> State {
        self.newest.get()
    }

    /// The version of the newest state.
    pub(super) fn version(&self) -> Version {
        self.newest.version()
    }

    /// The state of a version, where it is kept.
    pub(super) fn at(&self, version: Version) -> Option<State> {
        let newest = self.newest();
        if newest.version == version {
            return Some(newest);
        }
        let past = self.past.lock();
        past.iter().find(|state| state.version == version).cloned()
    }

    /// Takes in one commit.
    pub(super) fn apply(&self, version: Version, changes: &[Change]) {
        let mut map = self.newest().map;
        for change in changes {
            match change {
                Change::Put { key, value } => map.insert(key, &self.hold.hold(value)),
                Change::Delete { key } => drop(map.remove(key)),
                Change::DeleteRange(range) => drop(map.remove_range(range)),
            }
        }
        self.show(State { version, map });
    }

    /// Brings the newest state to one that the engine has now, of at least that version.
    pub(super) fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        let state = self.read(engine, &self.newest(), least)?;
        self.show(state);
        Ok(())
    }

    /// What the engine has, of at least that version: what of an earlier state is still so is
    /// shared with it, so that reading again takes memory for what is different.
    fn read(&self, engine: &dyn Driver, before: &State, least: Version) -> Result<State> {
        let mut tries = 0;
        loop {
            tries += 1;
            let snapshot = engine.snapshot()?;
            let version = snapshot.version();
            if version < least {
                let message = format!(
                    "the engine shows version {} after it told of {}; its data may have been put back",
                    version.0, least.0
                );
                return Err(Error::new(ErrorKind::Engine, message));
            }
            match self.compare(&*snapshot, &before.map) {
                Ok(map) => return Ok(State { version, map }),
                Err(error)
                    if error.kind() == ErrorKind::SnapshotTooOld && tries < LOAD_TRIES_MAX => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What was before, with what the snapshot shows otherwise changed.
    fn compare(&self, snapshot: &dyn Snapshot, before: &ByteMap) -> Result<ByteMap> {
        let mut map = before.clone();
        let mut held = before.iter().peekable();
        let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            while let Some((gone, _)) = held.next_if(|(held, _)| *held < key) {
                map.remove(gone);
            }
            let value = self.hold.hold(value);
            let known = held.next_if(|(held, _)| *held == key);
            if known.is_none_or(|(_, known)| known != &*value) {
                map.insert(key, &value);
            }
        }
        for (gone, _) in held {
            map.remove(gone);
        }
        Ok(map)
    }

    fn show(&self, state: State) {
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

/// Everything that the engine has now.
pub(super) fn whole(engine: &dyn Driver) -> Result<State> {
    Ok(View::load(engine, Whole, 0)?.newest())
}
