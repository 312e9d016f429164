//! What edits and readings are going to ask the engine for, found by trying them on an empty state. What
//! is there leads to other keys than these, but the first ones are the same: the entries on the way, and
//! their stamps; what is deleted with them; the first entries of what is read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, Error, ErrorKind, Expected, KeyRange, Snapshot, Version,
};
use espalier_yang::InstancePath;
use espalier_yang::data::TreeBuilder;
use parking_lot::Mutex;

use super::commit::Tree;
use super::datastore::Datastore;
use super::edit::{Applying, Edit, Request};
use super::locate::State;
use super::read::read;
use super::selection::Selection;
use super::stamp::{self, stamp_key};
use super::view::View;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::Compiled;

/// Keys, and ranges, that are found at most: a large edit is not done twice.
const READS_MAX: usize = 32;

/// Entries of a range that are read before anybody asks for more.
const ENTRIES: usize = 16;

/// Tells what some edits will read first.
pub(super) fn rehearse(
    edits: &[Edit],
    (compiled, tree): (&Compiled, TreeId),
    expected: &mut Expected,
) {
    let asked = Arc::new(Mutex::new(Asked::default()));
    let mut overlay = Overlay::new(Box::new(Blank(Arc::clone(&asked))));
    let mut applying = Applying::new(&mut overlay, compiled, tree);
    let mut resources = BTreeSet::new();
    // An edit that cannot be done on nothing, or not so soon, has told what it asked for till then.
    let _ = try_out(edits, &mut applying, &mut resources);
    let touched = applying.touched.into_entries();
    resources.extend(touched.map(|(key, _)| key));
    let keys: BTreeSet<_> = resources.into_iter().take(READS_MAX).collect();
    keys.iter().for_each(|key| expected.key(stamp_key(key)));
    tell(asked, keys, expected);
}

fn tell(asked: Arc<Mutex<Asked>>, mut keys: BTreeSet<Vec<u8>>, expected: &mut Expected) {
    let asked = std::mem::take(&mut *asked.lock());
    keys.extend(asked.keys);
    keys.into_iter().for_each(|key| expected.key(key));
    let ranges = asked.ranges.into_iter();
    ranges.for_each(|range| expected.range(range, ENTRIES));
}

impl Tree {
    /// The datastore as it is now, as [`Self::view`], for reading at a path: an engine behind a network
    /// brings the beginning of what is selected there, and its stamp, in the round trip that it needs
    /// anyway. All else can be read as well. (What the operational state is merged from is not told.)
    pub fn view_to_read(&self, path: &InstancePath, selection: &Selection) -> Result<View> {
        if self.datastore() == Datastore::Operational {
            return self.view();
        }
        self.stored_view_expecting(&|expected| {
            let asked = Arc::new(Mutex::new(Asked::default()));
            let blank = Blank(Arc::clone(&asked));
            let state = State {
                snapshot: &blank,
                compiled: self.compiled(),
                tree: self.id(),
            };
            // As above: what was asked for till then has been told.
            let _ = read(state, None, path, selection, &mut TreeBuilder::new());
            let _ = state
                .locate(path)
                .map(|place| place.map(|place| stamp::find(&blank, &place.key, &place.boundaries)));
            tell(asked, BTreeSet::new(), expected);
        })
    }
}

/// Applies edits; what is around their places, and at them, is put with the resources.
fn try_out(
    edits: &[Edit],
    applying: &mut Applying<'_>,
    resources: &mut BTreeSet<Vec<u8>>,
) -> Result<()> {
    for edit in edits.iter().take(READS_MAX) {
        applying.edit(edit)?;
        let Some(place) = applying.state().locate(&edit.at)? else {
            continue;
        };
        let around = place.boundaries.iter();
        resources.extend(around.map(|&length| place.key[..length].to_vec()));
        if matches!(edit.request, Request::Delete | Request::Remove) {
            applying.clear(&place.key)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Asked {
    keys: Vec<Vec<u8>>,
    ranges: Vec<KeyRange>,
}

/// Puts something with what was asked for, where it is new and there is room.
fn note<T: PartialEq>(asked: &mut Vec<T>, one: T) -> espalier_keyspace::Result<()> {
    if asked.len() == READS_MAX {
        return Err(Error::new(ErrorKind::Aborted, "that is enough"));
    }
    if !asked.contains(&one) {
        asked.push(one);
    }
    Ok(())
}

/// A state in which there is nothing, and which remembers what it was asked for.
struct Blank(Arc<Mutex<Asked>>);

impl Snapshot for Blank {
    fn version(&self) -> Version {
        Version::default()
    }

    fn get(&self, key: &[u8]) -> espalier_keyspace::Result<Option<Cow<'_, [u8]>>> {
        note(&mut self.0.lock().keys, key.to_vec())?;
        Ok(None)
    }

    fn scan(
        &self,
        range: &KeyRange,
        _: Direction,
    ) -> espalier_keyspace::Result<Box<dyn Cursor + '_>> {
        note(&mut self.0.lock().ranges, range.clone())?;
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl Cursor for Nothing {
    fn next(&mut self) -> espalier_keyspace::Result<Option<(&[u8], &[u8])>> {
        Ok(None)
    }

    fn seek(&mut self, _: &[u8]) -> espalier_keyspace::Result<()> {
        Ok(())
    }
}
