//! Keys and values in a persistent map, brought from version to version.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use espalier_keyspace::{
    Batch, Change, Direction, Driver, Error, ErrorKind, KeyRange, OperationRef, Result, Snapshot,
    Step, Version, counter,
};
use parking_lot::Mutex;

use crate::memory::{State, Tree, bounds};

/// How often a state is read again when it became too old while it was read.
const LOAD_TRIES_MAX: usize = 5;

/// What of a value is kept in memory.
pub(super) trait Hold: Send + Sync + 'static {
    /// It.
    type Value: Clone + Send + Sync + 'static;

    /// What is kept of a value.
    fn hold(&self, value: &[u8]) -> Self::Value;

    /// Bytes of what is kept.
    fn bytes(held: &Self::Value) -> usize;

    /// Whether that is what would be kept of the value.
    fn is(&self, held: &Self::Value, value: &[u8]) -> bool;
}

/// Whole values.
pub(super) struct Whole;

impl Hold for Whole {
    type Value = Arc<[u8]>;

    fn hold(&self, value: &[u8]) -> Arc<[u8]> {
        value.into()
    }

    fn bytes(held: &Arc<[u8]>) -> usize {
        held.len()
    }

    fn is(&self, held: &Arc<[u8]>, value: &[u8]) -> bool {
        **held == *value
    }
}

/// The newest known state, and some before it. One caller at a time changes it.
pub(super) struct View<H: Hold> {
    hold: H,
    state: ArcSwap<State<H::Value>>,
    past: Mutex<VecDeque<Arc<State<H::Value>>>>,
    past_max: usize,
    /// Of the newest state.
    bytes: AtomicUsize,
}

/// A state that is being made from another one.
struct Draft<'a, H: Hold> {
    hold: &'a H,
    tree: Tree<H::Value>,
    bytes: usize,
}

impl<H: Hold> Draft<'_, H> {
    fn put(&mut self, key: Arc<[u8]>, value: &[u8]) {
        let (length, held) = (key.len(), self.hold.hold(value));
        self.bytes += H::bytes(&held);
        match self.tree.insert(key, held) {
            Some(before) => self.bytes -= H::bytes(&before),
            None => self.bytes += length,
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(before) = self.tree.remove(key) {
            self.bytes -= key.len() + H::bytes(&before);
        }
    }

    fn remove_range(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let keys = self.tree.range::<_, [u8]>(bounds(range));
        let keys: Vec<_> = keys.map(|(key, _)| Arc::clone(key)).collect();
        keys.iter().for_each(|key| self.remove(key));
    }
}

impl Draft<'_, Whole> {
    /// Makes the changes of a batch; fails where a counter is none.
    fn apply(&mut self, batch: &Batch) -> Result<()> {
        for operation in batch.operations() {
            match operation {
                OperationRef::Put(key, value) => self.put(key.into(), value),
                OperationRef::Delete(key) => self.remove(key),
                OperationRef::DeleteRange(range) => self.remove_range(range),
                OperationRef::Add(key, delta) => {
                    let held = self.tree.get(key).map(AsRef::as_ref);
                    let sum = counter::add(key, held, delta)?;
                    self.put(key.into(), &sum);
                }
            }
        }
        Ok(())
    }
}

impl View<Whole> {
    /// Takes in one commit of this process, where it follows the newest state.
    pub(super) fn take_step(&self, version: Version, step: &Step) -> bool {
        let before = self.newest();
        if before.version != step.from {
            return false;
        }
        let mut draft = self.draft(&before);
        let is_done = draft.apply(&step.batch).is_ok();
        if is_done {
            self.show(before, version, draft);
        }
        is_done
    }
}

impl<H: Hold> View<H> {
    /// Reads all that the engine has. Keeps as many states beside the newest.
    pub(super) fn load(engine: &dyn Driver, hold: H, past_max: usize) -> Result<Self> {
        let empty = State {
            version: Version::default(),
            tree: Tree::new(),
        };
        let view = Self {
            hold,
            state: ArcSwap::from_pointee(empty),
            past: Mutex::default(),
            past_max: 0,
            bytes: AtomicUsize::new(0),
        };
        view.reload(engine, Version::default())?;
        Ok(Self { past_max, ..view })
    }

    /// The newest state.
    pub(super) fn newest(&self) -> Arc<State<H::Value>> {
        self.state.load_full()
    }

    /// Bytes of the keys of the newest state, and of what is kept of its values.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) as u64
    }

    /// The version of the newest state.
    pub(super) fn version(&self) -> Version {
        self.state.load().version
    }

    /// The state of a version, where it is kept.
    pub(super) fn at(&self, version: Version) -> Option<Arc<State<H::Value>>> {
        let newest = self.newest();
        if newest.version == version {
            return Some(newest);
        }
        let past = self.past.lock();
        past.iter().find(|state| state.version == version).cloned()
    }

    /// Takes in one commit.
    pub(super) fn apply(&self, version: Version, changes: &[Change]) {
        let before = self.newest();
        let mut draft = self.draft(&before);
        for change in changes {
            match change {
                Change::Put { key, value } => draft.put(key.as_slice().into(), value),
                Change::Delete { key } => draft.remove(key),
                Change::DeleteRange(range) => draft.remove_range(range),
            }
        }
        self.show(before, version, draft);
    }

    fn draft(&self, from: &State<H::Value>) -> Draft<'_, H> {
        Draft {
            hold: &self.hold,
            tree: from.tree.clone(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Brings the newest state to one that the engine has now, of at least that version.
    pub(super) fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        let before = self.newest();
        let (version, draft) = self.read(engine, &before, least)?;
        self.show(before, version, draft);
        Ok(())
    }

    /// What the engine has, of at least that version: what of an earlier state is still so is
    /// shared with it, so that reading again takes memory for what is different.
    fn read(
        &self,
        engine: &dyn Driver,
        before: &State<H::Value>,
        least: Version,
    ) -> Result<(Version, Draft<'_, H>)> {
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
            let mut draft = self.draft(before);
            match compare(&*snapshot, &before.tree, &mut draft) {
                Ok(()) => return Ok((version, draft)),
                Err(error)
                    if error.kind() == ErrorKind::SnapshotTooOld && tries < LOAD_TRIES_MAX => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn show(&self, before: Arc<State<H::Value>>, version: Version, draft: Draft<'_, H>) {
        if self.past_max > 0 {
            let mut past = self.past.lock();
            past.push_back(before);
            if past.len() > self.past_max {
                past.pop_front();
            }
        }
        self.bytes.store(draft.bytes, Ordering::Relaxed);
        let tree = draft.tree;
        self.state.store(Arc::new(State { version, tree }));
    }
}

/// Changes what was before into what the snapshot shows.
fn compare<H: Hold>(
    snapshot: &dyn Snapshot,
    before: &Tree<H::Value>,
    draft: &mut Draft<'_, H>,
) -> Result<()> {
    let mut held = before.iter().peekable();
    let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        while let Some((gone, _)) = held.next_if(|(held, _)| held.as_ref() < key) {
            draft.remove(gone);
        }
        match held.next_if(|(held, _)| held.as_ref() == key) {
            Some((_, held)) if draft.hold.is(held, value) => {}
            Some((key, _)) => draft.put(Arc::clone(key), value),
            None => draft.put(key.into(), value),
        }
    }
    held.for_each(|(gone, _)| draft.remove(gone));
    Ok(())
}

/// Everything that the engine has now.
pub(super) fn whole(engine: &dyn Driver) -> Result<State> {
    let view = View::load(engine, Whole, 0)?;
    let state = view.state.into_inner();
    Ok(Arc::unwrap_or_clone(state))
}
