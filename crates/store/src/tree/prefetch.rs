//! Read prefetch: finds the keys that edits and reads will request first, by running them on an empty
//! recording snapshot.
//!
//! Existing data leads to further keys, but the first ones are the same: the entries on the path and their
//! stamps, the range of a deletion, the first entries of a read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, Error, ErrorKind, KeyRange, PrefetchList, Snapshot, Version,
};
use espalier_yang::InstancePath;
use espalier_yang::data::TreeBuilder;
use parking_lot::Mutex;

use super::datastore::Datastore;
use super::edit::{Edit, EditApplier, Request};
use super::filter::Filter;
use super::locate::TreeState;
use super::read::{FilteredRead, read};
use super::selection::Selection;
use super::stamp::{self, stamp_key};
use super::tree::Tree;
use super::view::View;
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;

// The keys are found by a run on an empty state, so no caller lists them: docs/decisions/0013.
/// Maximum number of keys, and of ranges, to prefetch: a large edit is not run twice.
const READS_MAX: usize = 32;

/// Maximum number of entries to prefetch of a range.
const ENTRIES_MAX: usize = 16;

/// Announces the first reads of edits to the engine.
pub(super) fn expect_edit_reads(
    edits: &[Edit],
    (compiled, tree): (&Compiled, TreeId),
    expected: &mut PrefetchList,
) {
    let reads = Arc::new(Mutex::new(RecordedReads::default()));
    let mut overlay = Overlay::new(Box::new(RecordingSnapshot(Arc::clone(&reads))));
    let mut applier = EditApplier::new(&mut overlay, compiled, tree);
    let mut resources = BTreeSet::new();
    // The edits may fail on an empty state or exceed the limit; the reads recorded until then are used.
    let _ = apply_on_empty(edits, &mut applier, &mut resources);
    let touched = applier.touched.into_entries();
    resources.extend(touched.map(|(key, _)| key));
    let keys: BTreeSet<_> = resources.into_iter().take(READS_MAX).collect();
    keys.iter().for_each(|key| expected.key(stamp_key(key)));
    expect_recorded(reads, keys, expected);
}

fn expect_recorded(
    reads: Arc<Mutex<RecordedReads>>,
    mut keys: BTreeSet<Vec<u8>>,
    expected: &mut PrefetchList,
) {
    let reads = std::mem::take(&mut *reads.lock());
    keys.extend(reads.keys);
    keys.into_iter().for_each(|key| expected.key(key));
    let ranges = reads.ranges.into_iter();
    ranges.for_each(|range| expected.range(range, ENTRIES_MAX));
}

impl Tree {
    /// Opens a view of the current state, as [`Self::view`], for a read at a path. A networked engine
    /// prefetches the beginning of the selected data and its stamp, in the round trip that opens the
    /// snapshot. Other data can be read from the view as well. (Nothing is prefetched for operational.)
    pub fn view_for_read(&self, path: &InstancePath, selection: &Selection) -> Result<View> {
        if self.datastore() == Datastore::Operational {
            return self.view();
        }
        self.view_for_reads(&|state| {
            // As above: a failure is ignored, the recorded reads are used.
            let _ = read(state, None, path, selection, None, &mut TreeBuilder::new());
            let _ = state.locate(path).map(|place| {
                place.map(|place| stamp::find(state.snapshot, &place.key, &place.boundaries))
            });
        })
    }

    /// As [`Self::view_for_read`], for [`View::read_filtered`].
    ///
    /// # Errors
    /// Those of the filter and of the engine.
    pub fn view_for_filter(&self, filter: &Filter, selection: &Selection) -> Result<View> {
        if self.datastore() == Datastore::Operational {
            return self.view();
        }
        let Some(plan) = filter.plan(self.schema())? else {
            return self.view();
        };
        self.view_for_reads(&|state| {
            let read = FilteredRead {
                state,
                sources: None,
                plan: &plan,
                selection,
                access: None,
                paged_list: None,
            };
            let _ = read.send(&mut TreeBuilder::new());
        })
    }

    /// A view with what some reads of an empty datastore read first.
    fn view_for_reads(&self, run: &dyn Fn(TreeState<'_>)) -> Result<View> {
        self.stored_view_expecting(&|expected| {
            let reads = Arc::new(Mutex::new(RecordedReads::default()));
            let recording = RecordingSnapshot(Arc::clone(&reads));
            run(TreeState::new(&recording, self.compiled(), self.id()));
            expect_recorded(reads, BTreeSet::new(), expected);
        })
    }
}

/// Applies edits, and collects the resources at and around their targets.
fn apply_on_empty(
    edits: &[Edit],
    applier: &mut EditApplier<'_>,
    resources: &mut BTreeSet<Vec<u8>>,
) -> Result<()> {
    for edit in edits.iter().take(READS_MAX) {
        applier.edit(edit)?;
        let Some(place) = applier.state().locate(&edit.at)? else {
            continue;
        };
        let boundaries = place.boundaries.iter();
        resources.extend(boundaries.map(|&length| place.key[..length].to_vec()));
        if matches!(edit.request, Request::Delete | Request::Remove) {
            applier.clear(&place.key)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct RecordedReads {
    keys: Vec<Vec<u8>>,
    ranges: Vec<KeyRange>,
}

/// Records a read if it is new. Fails if there is no room.
fn record_read<T: PartialEq>(reads: &mut Vec<T>, one: T) -> espalier_keyspace::Result<()> {
    if reads.len() == READS_MAX {
        return Err(Error::new(ErrorKind::Aborted, "enough reads are recorded"));
    }
    if !reads.contains(&one) {
        reads.push(one);
    }
    Ok(())
}

/// An empty snapshot that records what is read from it.
struct RecordingSnapshot(Arc<Mutex<RecordedReads>>);

impl Snapshot for RecordingSnapshot {
    fn version(&self) -> Version {
        Version::default()
    }

    fn get(&self, key: &[u8]) -> espalier_keyspace::Result<Option<Cow<'_, [u8]>>> {
        record_read(&mut self.0.lock().keys, key.to_vec())?;
        Ok(None)
    }

    fn scan(
        &self,
        range: &KeyRange,
        _: Direction,
    ) -> espalier_keyspace::Result<Box<dyn Cursor + '_>> {
        record_read(&mut self.0.lock().ranges, range.clone())?;
        Ok(Box::new(EmptyCursor))
    }
}

struct EmptyCursor;

impl Cursor for EmptyCursor {
    fn next(&mut self) -> espalier_keyspace::Result<Option<(&[u8], &[u8])>> {
        Ok(None)
    }

    fn seek(&mut self, _: &[u8]) -> espalier_keyspace::Result<()> {
        Ok(())
    }
}
