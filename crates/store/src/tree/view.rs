//! A consistent view of a datastore.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::data::Stop;
use espalier_yang::{
    DataError, ErrorTag, ErrorType, InstancePath, Mark, NodeId, Schema, Sink, Value,
};

use super::datastore::Datastore;
use super::locate::TreeState;
use super::operational::{Operational, OperationalData, ProviderReach, Warning};
use super::read::{CountedNodes, FirstEvent, Sources, read};
use super::selection::{OriginFilter, Selection, WithOrigin};
use super::stamp::{self, Stamp};
use crate::access::{AccessTable, Uniform};
use crate::clock::Timestamp;
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::ReadCache;
use crate::store::Store;
use crate::subspace::Subspace;

/// Reads from a state; for operational, with the sources that it is merged from.
pub(super) type StateReader<'a, T> =
    &'a mut dyn FnMut(TreeState<'_>, Option<&dyn Sources>) -> Result<T>;

/// A datastore at one point in time, unaffected by later commits. The engine cannot reclaim space while a
/// view is held.
pub struct View {
    data: ViewData,
    compiled: Arc<Compiled>,
    tree: TreeId,
    /// The access rules of the reader, if there are any.
    pub(super) access: Option<Arc<AccessTable>>,
}

/// The data of a view.
enum ViewData {
    /// Stored data.
    Stored(Box<dyn Snapshot + Send>),
    /// The operational state, whose providers are called on reads.
    Operational(Box<OperationalData>),
}

impl View {
    pub(super) fn new(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
    ) -> Self {
        let data = ViewData::Stored(snapshot);
        Self {
            data,
            compiled,
            tree,
            access: None,
        }
    }

    pub(super) fn operational(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
        store: Store,
    ) -> Result<Self> {
        let operational = Operational::new(snapshot, Arc::clone(&compiled), tree)?;
        let data = ViewData::Operational(Box::new(OperationalData::new(operational, store)));
        Ok(Self {
            data,
            compiled,
            tree,
            access: None,
        })
    }

    /// The same view for a reader with access rules: what the rules deny is not there. They must be compiled for
    /// [`Self::schema`].
    #[must_use]
    pub fn with_access(mut self, access: Option<Arc<AccessTable>>) -> Self {
        self.access = access.filter(|access| !access.reads_all());
        self
    }

    /// Whether the reader may see everything at a path and below.
    pub fn shows_all(&self, path: &InstancePath) -> bool {
        let access = self.access.as_deref();
        access.is_none_or(|access| access.reads_at(path) == Uniform::Allowed)
    }

    /// The same view with a read cache, for a commit that reads some keys repeatedly.
    pub(super) fn for_change(mut self) -> Self {
        if let ViewData::Stored(snapshot) = self.data {
            self.data = ViewData::Stored(Box::new(ReadCache::new(snapshot)));
        }
        self
    }

    pub(super) fn into_snapshot(self) -> Box<dyn Snapshot + Send> {
        match self.data {
            ViewData::Stored(snapshot) => snapshot,
            ViewData::Operational(data) => Box::new(data.into_operational()),
        }
    }

    /// The stored data; for operational, without the data of providers.
    fn snapshot(&self) -> &dyn Snapshot {
        match &self.data {
            ViewData::Stored(snapshot) => &**snapshot,
            ViewData::Operational(data) => data.operational(),
        }
    }

    pub(crate) fn state(&self) -> TreeState<'_> {
        TreeState::new(self.snapshot(), &self.compiled, self.tree)
    }

    /// Runs a read of a path, with the providers whose data it selects.
    pub(super) fn with_state<T>(
        &self,
        path: &InstancePath,
        selection: &Selection,
        read_state: StateReader<'_, T>,
    ) -> Result<T> {
        self.with_reach(&ProviderReach::Resource(path, selection), read_state)
    }

    /// Runs a read, with the providers whose data it needs.
    pub(super) fn with_reach<T>(
        &self,
        reach: &ProviderReach<'_>,
        read_state: StateReader<'_, T>,
    ) -> Result<T> {
        let ViewData::Operational(data) = &self.data else {
            return read_state(self.state(), None);
        };
        let mut result = None;
        data.with_providers(self.state(), reach, &mut |state, sources| {
            result = Some(read_state(state, Some(sources))?);
            Ok(())
        })?;
        result.ok_or_else(|| Error::corrupt("a read did not return a result"))
    }

    /// Removes and returns the warnings of reads since the last call: providers of operational state that
    /// failed or returned unexpected data.
    pub fn take_warnings(&self) -> Vec<Warning> {
        match &self.data {
            ViewData::Stored(_) => Vec::new(),
            ViewData::Operational(data) => data.take_warnings(),
        }
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The number of the last commit to this datastore; 0 if there is none.
    pub fn version(&self) -> Result<u64> {
        Ok(self.stamp(&InstancePath::root())?.version)
    }

    /// Whether a data node exists. A non-presence container exists if its parent does (RFC 7950 §7.5.1), a
    /// whole list if it has an entry.
    pub fn exists(&self, path: &InstancePath) -> Result<bool> {
        if !self.shows_all(path) {
            return self.shows_any(path);
        }
        let at_least = Selection {
            depth: Some(1),
            ..Selection::default()
        };
        self.with_state(path, &at_least, &mut |state, _| state.exists(path))
    }

    /// Whether data is stored at a path or below: as [`Self::exists`], but a non-presence container must
    /// not be empty.
    pub fn has_content(&self, path: &InstancePath) -> Result<bool> {
        let all = Selection::default();
        if !self.shows_all(path) {
            return self.shows_any(path);
        }
        self.with_state(path, &all, &mut |state, _| state.has_content(path))
    }

    /// Whether a reader with access rules sees anything at a path or below.
    fn shows_any(&self, path: &InstancePath) -> Result<bool> {
        let mut first = FirstEvent::default();
        let is_found = self.read(path, &Selection::default(), &mut first)?;
        Ok(is_found && (first.is_found || path.is_root()))
    }

    /// The last change of a resource or of its content. Stored for containers, list entries and the
    /// datastore; other nodes have the stamp of the enclosing container or entry. For operational, the
    /// stamp of the last push. A datastore without commits has version 0 and the time since when it cannot
    /// have changed: the creation of its anchor, or the last replacement of running as a whole.
    pub fn stamp(&self, path: &InstancePath) -> Result<Stamp> {
        if matches!(self.data, ViewData::Operational(_)) {
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

    /// Sends a resource as events: the target itself, without its ancestors. For the datastore, every
    /// top-level node; for a whole list, its entries. Returns false if the target does not exist.
    ///
    /// # Errors
    /// `invalid-value` for origins of another datastore than operational (RFC 8527 §3.2.2); those of the engine.
    pub fn read(
        &self,
        path: &InstancePath,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        self.check_selection(selection)?;
        self.with_state(path, selection, &mut |state, sources| {
            read(
                state,
                sources,
                path,
                selection,
                self.access.as_deref(),
                sink,
            )
        })
    }

    /// Checks a selection before anything of its result is sent.
    ///
    /// # Errors
    /// `invalid-value` for origins of another datastore than operational (RFC 8527 §3.2.2).
    pub fn check_selection(&self, selection: &Selection) -> Result<()> {
        let is_operational = matches!(self.data, ViewData::Operational(_));
        let message = match (selection.with_origin, &selection.origins) {
            _ if is_operational => return Ok(()),
            (WithOrigin::Hidden, OriginFilter::All) => return Ok(()),
            (WithOrigin::Shown, _) => "“with-origin” requires the operational state datastore",
            _ => "a filter of origins requires the operational state datastore",
        };
        let error = DataError::new(ErrorTag::InvalidValue, message);
        Err(error.of_type(ErrorType::Protocol).into())
    }

    /// As [`Self::read`], for a resource that a client names: an empty container without presence is not there, unless
    /// defaults below it are sent. The datastore is always there.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_resource(
        &self,
        path: &InstancePath,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        let mut counted = CountedNodes::new(sink);
        let is_found = self.read(path, selection, &mut counted)?;
        let is_only_itself = counted.nodes <= 1;
        let target = path.target().map(|node| self.schema().node(node));
        let is_container = target.is_some_and(|node| node.is_np_container());
        match is_found && is_container && is_only_itself {
            true => self.has_content(path),
            false => Ok(is_found || path.is_root()),
        }
    }

    /// The number of entries of a list or leaf-list; linear in that number.
    pub fn count(&self, path: &InstancePath) -> Result<u64> {
        let entries = Selection {
            depth: Some(1),
            ..Selection::default()
        };
        if !self.shows_all(path) {
            let mut entries = EntryCount { count: 0, depth: 0 };
            self.read(path, &Selection::default(), &mut entries)?;
            return Ok(entries.count);
        }
        self.with_state(path, &entries, &mut |state, _| state.count(path))
    }

    /// The number of keys of the datastore; linear in that number.
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

/// Counts the top-level nodes of a read.
struct EntryCount {
    count: u64,
    depth: usize,
}

impl Sink for EntryCount {
    fn open(&mut self, _: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        self.count += u64::from(self.depth == 0);
        self.depth += 1;
        Ok(())
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> std::result::Result<(), Stop> {
        self.count += u64::from(self.depth == 0);
        Ok(())
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        Ok(())
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        self.depth -= 1;
        Ok(())
    }
}
