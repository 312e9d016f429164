//! A consistent reading of a datastore.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{InstancePath, Schema, Sink};

use super::datastore::Datastore;
use super::locate::State;
use super::operational::{Operational, OperationalData, Warning};
use super::read::{Sources, read};
use super::selection::Selection;
use super::stamp::{self, Stamp};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::ReadOnce;
use crate::store::{Compiled, Store};
use crate::subspace::Subspace;

/// What answers a question about a state, with what that state is made of where that is known.
type Answer<'a, T> = &'a mut dyn FnMut(State<'_>, Option<&dyn Sources>) -> Result<T>;

/// A datastore as it was at one moment, whatever is committed meanwhile. Holding one for long
/// keeps the engine from reusing space.
pub struct View {
    data: Data,
    compiled: Arc<Compiled>,
    tree: TreeId,
}

/// What is read.
enum Data {
    /// What is stored.
    Stored(Box<dyn Snapshot + Send>),
    /// The operational state, whose providers are asked when it is read.
    Operational(Box<OperationalData>),
}

impl View {
    pub(super) fn new(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
    ) -> Self {
        let data = Data::Stored(snapshot);
        Self {
            data,
            compiled,
            tree,
        }
    }

    pub(super) fn operational(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
        store: Store,
    ) -> Result<Self> {
        let operational = Operational::new(snapshot, Arc::clone(&compiled), tree)?;
        let data = Data::Operational(Box::new(OperationalData::new(operational, store)));
        Ok(Self {
            data,
            compiled,
            tree,
        })
    }

    /// The same, for a change that reads some keys again and again.
    pub(super) fn for_change(mut self) -> Self {
        if let Data::Stored(snapshot) = self.data {
            self.data = Data::Stored(Box::new(ReadOnce::new(snapshot)));
        }
        self
    }

    pub(super) fn into_snapshot(self) -> Box<dyn Snapshot + Send> {
        match self.data {
            Data::Stored(snapshot) => snapshot,
            Data::Operational(data) => Box::new(data.into_operational()),
        }
    }

    /// What is stored; of the operational state, without what providers tell.
    fn snapshot(&self) -> &dyn Snapshot {
        match &self.data {
            Data::Stored(snapshot) => &**snapshot,
            Data::Operational(data) => data.operational(),
        }
    }

    pub(crate) fn state(&self) -> State<'_> {
        State {
            snapshot: self.snapshot(),
            compiled: &self.compiled,
            tree: self.tree,
        }
    }

    /// Has a question about what is at a path answered, with the providers that have a part in it.
    pub(super) fn answer<T>(
        &self,
        path: &InstancePath,
        selection: &Selection,
        answer: Answer<'_, T>,
    ) -> Result<T> {
        let Data::Operational(data) = &self.data else {
            return answer(self.state(), None);
        };
        let mut answered = None;
        data.with_providers(self.state(), path, selection, &mut |state, sources| {
            answered = Some(answer(state, Some(sources))?);
            Ok(())
        })?;
        answered.ok_or_else(|| Error::corrupt("a question was not answered"))
    }

    /// What readings of this view had to do without, since this was last asked: providers of
    /// operational state that did not answer, or not what they should.
    pub fn take_warnings(&self) -> Vec<Warning> {
        match &self.data {
            Data::Stored(_) => Vec::new(),
            Data::Operational(data) => data.take_warnings(),
        }
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The number of the last commit to this datastore; 0 where there was none.
    pub fn version(&self) -> Result<u64> {
        Ok(self.stamp(&InstancePath::root())?.version)
    }

    /// Whether a data node exists. A container without presence exists where the node around it
    /// does (RFC 7950 §7.5.1); a whole list, where it has an entry.
    pub fn exists(&self, path: &InstancePath) -> Result<bool> {
        let at_least = Selection {
            depth: Some(1),
            ..Selection::default()
        };
        self.answer(path, &at_least, &mut |state, _| state.exists(path))
    }

    /// Whether something is stored at a path or below: as [`Self::exists`], but a container without
    /// presence has to hold something.
    pub fn has_content(&self, path: &InstancePath) -> Result<bool> {
        let all = Selection::default();
        self.answer(path, &all, &mut |state, _| state.has_content(path))
    }

    /// The last change of a resource or of something in it. Kept for containers, list entries and
    /// the datastore; for others, that of the container or entry around them. Of the operational
    /// state, the last push. A datastore that nothing was committed to has version 0, and the time
    /// since when it cannot have changed: that of its anchor, or when running was last replaced as a
    /// whole.
    pub fn stamp(&self, path: &InstancePath) -> Result<Stamp> {
        if matches!(self.data, Data::Operational(_)) {
            let root = self.state().root();
            return stamp::find(self.snapshot(), &root.key, &root.boundaries);
        }
        let Some(place) = self.state().locate(path)? else {
            return Ok(Stamp::default());
        };
        let found = stamp::find(self.snapshot(), &place.key, &place.boundaries)?;
        match found == Stamp::default() {
            true => self.stamp_of_new(),
            false => Ok(found),
        }
    }

    fn stamp_of_new(&self) -> Result<Stamp> {
        let running = TreeId {
            datastore: Datastore::Running.id(),
            ..self.tree
        };
        let root = running.prefix(Subspace::Tree);
        let record = stamp::record(self.snapshot(), &root)?;
        Ok(Stamp {
            version: 0,
            time: record.map_or(Timestamp(0), |record| record.whole.time),
        })
    }

    /// Sends a resource as events: the target itself, not the nodes around it. The datastore sends
    /// every top-level node; a whole list, its entries. False where the target does not exist.
    pub fn read(
        &self,
        path: &InstancePath,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        self.answer(path, selection, &mut |state, sources| {
            read(state, sources, path, selection, sink)
        })
    }

    /// How many entries a list or leaf-list has; linear in that number.
    pub fn count(&self, path: &InstancePath) -> Result<u64> {
        let entries = Selection {
            depth: Some(1),
            ..Selection::default()
        };
        self.answer(path, &entries, &mut |state, _| state.count(path))
    }

    /// How many keys the datastore takes; linear in that number.
    pub fn keys(&self) -> Result<u64> {
        let range = KeyRange::prefix(&self.tree.prefix(Subspace::Tree));
        let mut cursor = self.snapshot().scan(&range, Direction::Forward)?;
        let mut count = 0;
        while cursor.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
