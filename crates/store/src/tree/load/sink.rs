//! The sink of a load: tracks open nodes and their keys.

use espalier_keyspace::{Snapshot, Writer};
use espalier_yang::data::Stop;
use espalier_yang::{DataError, ErrorTag, Mark, NodeId, NodeKind, Sink, Value};
use rustc_hash::FxHashMap;

use super::deferred::{DEFERRED_BYTES_MAX, DeferredEvent, DeferredEvents};
use super::options::{LoadMode, LoadOptions};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::fragment::Packed;
use crate::keys::LocalId;
use crate::position::Position;
use crate::tree::Tree;
use crate::tree::log::CommitLog;

/// Progress is reported after this many fragments.
const PROGRESS_EVERY: u64 = 4096;

/// An open container or list entry.
#[derive(Default)]
pub(in crate::tree) struct Frame {
    pub node: Option<NodeId>,
    /// Its key, once complete.
    pub key: Vec<u8>,
    pub has_key: bool,
    /// Whether it was empty before, so that no lookups are needed.
    pub is_new: bool,
    pub keys: Vec<Option<Value>>,
    pub leaves: Vec<(LocalId, Packed)>,
    /// The last positions assigned in its lists ordered by user.
    pub positions: FxHashMap<NodeId, Position>,
}

/// The result of a load.
#[derive(Clone, Copy, Default)]
pub(in crate::tree) struct LoadOutcome {
    pub fragments: u64,
    pub values: u64,
    pub is_changed: bool,
    /// Whether a load that replaces everything wrote the data that is stored.
    pub is_identical: bool,
}

/// A load in progress.
pub(in crate::tree) struct Loader<'a, 'o> {
    pub compiled: &'a Compiled,
    pub base: &'a dyn Snapshot,
    pub writer: &'a mut dyn Writer,
    /// The log of a load into an empty datastore, which needs no records; none for a proposal.
    log: Option<CommitLog>,
    pub mode: LoadMode,
    progress: Option<&'a mut &'o mut dyn FnMut(u64)>,
    pub frames: Vec<Frame>,
    /// Closed frames, kept for reuse.
    spare: Vec<Frame>,
    deferred: Option<DeferredEvents>,
    error: Option<Error>,
    fragments: u64,
    values: u64,
}

impl<'a, 'o> Loader<'a, 'o> {
    pub fn new(
        tree: &'a Tree,
        base: &'a dyn Snapshot,
        writer: &'a mut dyn Writer,
        log: Option<CommitLog>,
        options: &'a mut LoadOptions<'o>,
    ) -> Self {
        let root = Frame {
            key: tree.tree_key(),
            has_key: true,
            is_new: log.is_some(),
            ..Frame::default()
        };
        Self {
            compiled: tree.compiled(),
            base,
            writer,
            log,
            mode: options.mode,
            progress: options.progress.as_mut(),
            frames: vec![root],
            spare: Vec::new(),
            deferred: None,
            error: None,
            fragments: 0,
            values: 0,
        }
    }

    /// Ends the load after the document. Writes nothing if nothing changed.
    pub fn finish(mut self, parsed: Result<()>) -> Result<LoadOutcome> {
        if let Some(error) = self.error {
            return Err(error);
        }
        parsed?;
        if self.frames.len() > 1 {
            return Err(Error::Stopped);
        }
        if let Some(root) = self.frames.pop() {
            self.write(root)?;
        }
        let (fragments, values) = (self.fragments, self.values);
        // A document without content deletes existing data.
        let deletes = self.log.as_ref().is_some_and(CommitLog::has_records);
        let is_changed = fragments + values > 0 || deletes;
        if let (true, Some(log)) = (is_changed, self.log) {
            log.finish(&mut *self.writer)?;
        }
        Ok(LoadOutcome {
            fragments,
            values,
            is_changed,
            is_identical: false,
        })
    }

    /// Stores an error for the end and stops the document.
    fn store_error(&mut self, result: Result<()>) -> std::result::Result<(), Stop> {
        result.map_err(|error| {
            self.error.get_or_insert(error);
            Stop
        })
    }

    /// Defers an event if the keys of its list entry are incomplete.
    fn defer(&mut self, event: impl FnOnce() -> DeferredEvent) -> Result<bool> {
        let Some(deferred) = &mut self.deferred else {
            return Ok(false);
        };
        if deferred.push(event()) {
            return Ok(true);
        }
        let message = format!(
            "a list entry has more than {DEFERRED_BYTES_MAX} bytes of content before its keys; put the keys first"
        );
        Err(DataError::new(ErrorTag::TooBig, message).into())
    }

    fn open_node(&mut self, node: NodeId) -> Result<()> {
        self.fragments += 1;
        if self.fragments.is_multiple_of(PROGRESS_EVERY)
            && let Some(progress) = &mut self.progress
        {
            progress(self.fragments);
        }
        if self.frames.last().is_some_and(|frame| !frame.has_key) {
            self.deferred.get_or_insert_default();
        }
        if self.defer(|| DeferredEvent::Open(node))? {
            return Ok(());
        }
        self.enter(node)
    }

    fn enter(&mut self, node: NodeId) -> Result<()> {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.node = Some(node);
        frame.has_key = false;
        frame
            .keys
            .resize(self.compiled.schema.node(node).keys().len(), None);
        self.frames.push(frame);
        self.set_key_when_complete()
    }

    /// Sets the key of the innermost frame when all its key leaves are present, and replays the deferred
    /// events.
    fn set_key_when_complete(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        if frame.has_key || frame.keys.iter().any(Option::is_none) {
            return Ok(());
        }
        self.set_key()?;
        let Some(deferred) = self.deferred.take() else {
            return Ok(());
        };
        for event in deferred.events {
            match event {
                DeferredEvent::Open(node) => {
                    if self.frames.last().is_some_and(|frame| !frame.has_key) {
                        self.deferred.get_or_insert_default();
                    }
                    if !self.defer(|| DeferredEvent::Open(node))? {
                        self.enter(node)?;
                    }
                }
                DeferredEvent::Leaf(node, value) => self.leaf_value(node, value)?,
                DeferredEvent::Any(node, json) => self.any_value(node, &json)?,
                DeferredEvent::Close => self.close_node()?,
            }
        }
        Ok(())
    }

    fn leaf_value(&mut self, node: NodeId, value: Value) -> Result<()> {
        if self
            .deferred
            .as_ref()
            .is_some_and(|deferred| deferred.depth > 0)
        {
            return self.defer(|| DeferredEvent::Leaf(node, value)).map(|_| ());
        }
        match &self.compiled.schema.node(node).kind {
            NodeKind::LeafList(_) if self.frames.last().is_some_and(|frame| !frame.has_key) => {
                self.deferred.get_or_insert_default();
                self.defer(|| DeferredEvent::Leaf(node, value)).map(|_| ())
            }
            NodeKind::LeafList(_) => self.write_entry(node, &value),
            NodeKind::Leaf(leaf) if leaf.is_key => self.key_leaf(node, value),
            _ => {
                self.add_leaf(node, Packed::Value(value));
                Ok(())
            }
        }
    }

    fn key_leaf(&mut self, node: NodeId, value: Value) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        let list = frame
            .node
            .map(|list| self.compiled.schema.node(list).keys())
            .unwrap_or_default();
        if let Some(index) = list.iter().position(|&key| key == node) {
            frame.keys[index] = Some(value);
        }
        self.set_key_when_complete()
    }

    fn any_value(&mut self, node: NodeId, json: &str) -> Result<()> {
        if self
            .deferred
            .as_ref()
            .is_some_and(|deferred| deferred.depth > 0)
        {
            return self
                .defer(|| DeferredEvent::Any(node, json.into()))
                .map(|_| ());
        }
        self.add_leaf(node, Packed::Any(json.into()));
        Ok(())
    }

    fn add_leaf(&mut self, node: NodeId, packed: Packed) {
        let id = self.compiled.layout.id(node);
        if let Some(frame) = self.frames.last_mut() {
            frame.leaves.push((id, packed));
        }
    }

    fn close_node(&mut self) -> Result<()> {
        if self
            .deferred
            .as_ref()
            .is_some_and(|deferred| deferred.depth > 0)
        {
            return self.defer(|| DeferredEvent::Close).map(|_| ());
        }
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        if !frame.has_key {
            return Err(
                DataError::new(ErrorTag::MissingElement, "a list entry lacks a key").into(),
            );
        }
        let mut frame = self.write(frame)?;
        frame.keys.clear();
        frame.leaves.clear();
        frame.positions.clear();
        self.spare.push(frame);
        Ok(())
    }
}

impl Sink for Loader<'_, '_> {
    fn open(&mut self, node: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        let result = self.open_node(node);
        self.store_error(result)
    }

    fn leaf(&mut self, node: NodeId, value: Value, _: Mark) -> std::result::Result<(), Stop> {
        self.values += 1;
        let result = self.leaf_value(node, value);
        self.store_error(result)
    }

    fn any(&mut self, node: NodeId, json: &str, _: Mark) -> std::result::Result<(), Stop> {
        self.values += 1;
        let result = self.any_value(node, json);
        self.store_error(result)
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        let result = self.close_node();
        self.store_error(result)
    }
}
