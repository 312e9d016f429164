//! Keys and values in a persistent map, brought from version to version.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use arc_swap::ArcSwap;
use espalier_keyspace::{
    Change, Direction, Driver, Error, ErrorKind, KeyRange, Result, Snapshot, Version,
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
}

impl<H: Hold> View<H> {
    /// Reads all that the engine has. Keeps as many states beside the newest.
    pub(super) fn load(engine: &dyn Driver, hold: H, past_max: usize) -> Result<Self> {
        let empty = State {
            version: Version::default(),
            tree: Tree::new(),
        };
        let state = read(engine, &hold, &empty, Version::default())?;
        Ok(Self {
            hold,
            state: ArcSwap::from_pointee(state),
            past: Mutex::default(),
            past_max,
        })
    }

    /// The newest state.
    pub(super) fn newest(&self) -> Arc<State<H::Value>> {
        self.state.load_full()
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
        let mut tree = before.tree.clone();
        for change in changes {
            match change {
                Change::Put { key, value } => {
                    tree.insert(key.as_slice().into(), self.hold.hold(value));
                }
                Change::Delete { key } => drop(tree.remove(key.as_slice())),
                Change::DeleteRange(range) => remove_range(&mut tree, range),
            }
        }
        self.show(before, State { version, tree });
    }

    /// Brings the newest state to one that the engine has now, of at least that version.
    pub(super) fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        let before = self.newest();
        let state = read(engine, &self.hold, &before, least)?;
        self.show(before, state);
        Ok(())
    }

    fn show(&self, before: Arc<State<H::Value>>, state: State<H::Value>) {
        if self.past_max > 0 {
            let mut past = self.past.lock();
            past.push_back(before);
            if past.len() > self.past_max {
                past.pop_front();
            }
        }
        self.state.store(Arc::new(state));
    }
}

fn remove_range<V: Clone>(tree: &mut Tree<V>, range: &KeyRange) {
    if range.is_empty() {
        return;
    }
    let keys = tree.range::<_, [u8]>(bounds(range));
    let keys: Vec<_> = keys.map(|(key, _)| Arc::clone(key)).collect();
    for key in keys {
        tree.remove(&key);
    }
}

/// What the engine has, of at least that version: what of an earlier state is still so is shared
/// with it, so that reading again takes memory for what is different.
fn read<H: Hold>(
    engine: &dyn Driver,
    hold: &H,
    before: &State<H::Value>,
    least: Version,
) -> Result<State<H::Value>> {
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
        match compare(&*snapshot, hold, &before.tree) {
            Ok(tree) => return Ok(State { version, tree }),
            Err(error) if error.kind() == ErrorKind::SnapshotTooOld && tries < LOAD_TRIES_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

fn compare<H: Hold>(
    snapshot: &dyn Snapshot,
    hold: &H,
    before: &Tree<H::Value>,
) -> Result<Tree<H::Value>> {
    let mut tree = before.clone();
    let mut held = before.iter().peekable();
    let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        remove_until(&mut tree, &mut held, Some(key));
        match held.next_if(|(held, _)| held.as_ref() == key) {
            Some((_, held)) if hold.is(held, value) => {}
            Some((key, _)) => drop(tree.insert(Arc::clone(key), hold.hold(value))),
            None => drop(tree.insert(key.into(), hold.hold(value))),
        }
    }
    remove_until(&mut tree, &mut held, None);
    Ok(tree)
}

/// Removes what stands before the key: it is not in the engine any more.
fn remove_until<'a, V: Clone + 'a>(
    tree: &mut Tree<V>,
    held: &mut Peekable<impl Iterator<Item = (&'a Arc<[u8]>, &'a V)>>,
    key: Option<&[u8]>,
) {
    while let Some((gone, _)) = held.next_if(|(held, _)| key.is_none_or(|key| held.as_ref() < key))
    {
        tree.remove(gone);
    }
}

/// Everything that the engine has now.
pub(super) fn whole(engine: &dyn Driver) -> Result<State> {
    let view = View::load(engine, Whole, 0)?;
    let state = view.state.into_inner();
    Ok(Arc::unwrap_or_clone(state))
}
