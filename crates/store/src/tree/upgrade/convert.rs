//! Converts the rows of a datastore from one schema to another.
//!
//! Rows are read in key order; subtrees with the same storage format are skipped by a seek. Only changed
//! rows are held in memory.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::{CaseChoice, Node};
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Keys, NodeId, NodeKind};
use rustc_hash::FxHashMap;

use super::nodes::{NodeMapping, is_presence_container, is_same_kind, kind_name};
use super::report::{ChangedPlace, Places};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::{LocalId, take_local_id};
use crate::node_dictionary;
use crate::overlay::Changes;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::Datastore;
use crate::tree::locate::{TreeState, in_subspace};
use crate::tree::read::skip_entry;

/// What happens to data that does not conform to the new schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MismatchPolicy {
    /// It is an error.
    Refuse,
    /// Data of removed nodes is deleted; everything else is an error.
    DropUnknown,
    /// All of it is deleted.
    DropAll,
}

/// The rows of a datastore in a new schema, as changes of the old rows.
#[derive(Debug, Default)]
pub(super) struct Conversion {
    /// The changed rows.
    pub changes: Changes,
    /// Entries and containers with changed keys: old to new key.
    pub moved: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Converted data.
    pub converted: Places,
    /// Deleted data.
    pub dropped: Places,
    /// Data that does not conform.
    pub errors: Errors,
    /// The deletions as changes of the old rows.
    pub lost: Changes,
}

impl Conversion {
    /// Whether nothing changes and there are no errors.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.errors.is_empty()
    }
}

/// A container or list entry that encloses the last row.
pub(super) struct Frame {
    pub old: Option<NodeId>,
    pub new: Option<NodeId>,
    /// Its key under the old schema.
    pub old_key: Vec<u8>,
    /// Its key under the new schema.
    pub new_key: Vec<u8>,
    /// Whether it has a row of its own.
    pub has_row: bool,
    /// Whether any content is kept.
    has_content: bool,
    /// The cases of its children, with the first child of each.
    cases: Vec<(CaseChoice, NodeId)>,
    /// The last positions assigned in its lists that get a stored order.
    pub positions: FxHashMap<NodeId, Position>,
}

impl Frame {
    pub fn new(old: Option<NodeId>, new: Option<NodeId>, old_key: &[u8], new_key: Vec<u8>) -> Self {
        Self {
            old,
            new,
            old_key: old_key.to_vec(),
            new_key,
            has_row: false,
            has_content: false,
            cases: Vec::new(),
            positions: FxHashMap::default(),
        }
    }

    fn is_moved(&self) -> bool {
        self.old_key != self.new_key
    }
}

/// How to continue after a row.
enum NextRow {
    Row,
    /// Skip all rows with this many bytes of the key as prefix.
    SkipPrefix(usize),
}

/// The outcome for a place in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PlaceOutcome {
    Refused,
    Dropped,
    Converted,
}

/// Maximum number of reported places of one schema node; the others are only counted.
const PLACES_PER_NODE_MAX: usize = 10;

// Rows are converted or the change is rejected; nothing is hidden: docs/decisions/0015.
/// A conversion in progress.
pub(super) struct Converter<'a> {
    pub old: TreeState<'a>,
    pub new: &'a Compiled,
    pub nodes: &'a NodeMapping,
    pub mismatch_policy: MismatchPolicy,
    pub frames: Vec<Frame>,
    pub result: Conversion,
    /// The number of places of each schema node, by outcome.
    places_by_node: FxHashMap<(PlaceOutcome, String), usize>,
    /// New rows by key; true if another key had the value before.
    puts: BTreeMap<Vec<u8>, (Vec<u8>, bool)>,
    deletes: BTreeSet<Vec<u8>>,
    cleared: Vec<KeyRange>,
}

/// Converts the content of a datastore.
pub(super) fn convert(
    old: TreeState<'_>,
    new: &Compiled,
    nodes: &NodeMapping,
    mismatch_policy: MismatchPolicy,
) -> Result<Conversion> {
    if nodes.is_same() {
        return Ok(Conversion::default());
    }
    let root = old.tree.prefix(Subspace::Tree);
    let mut converter = Converter {
        old,
        new,
        nodes,
        mismatch_policy,
        frames: vec![Frame::new(None, None, &root, root.clone())],
        result: Conversion::default(),
        places_by_node: FxHashMap::default(),
        puts: BTreeMap::new(),
        deletes: BTreeSet::new(),
        cleared: Vec::new(),
    };
    converter.run(&KeyRange::prefix(&root))?;
    converter.finish()
}

/// The state of an old version in later modules.
pub(in crate::tree) struct ConvertedPast {
    /// The changes from its rows to those in the later modules.
    pub changes: Changes,
    /// The deletions in its rows of data that does not conform to the later modules.
    pub lost: Changes,
}

/// Converts a version, without data that does not conform.
pub(in crate::tree) fn convert_all(
    state: TreeState<'_>,
    new: &Compiled,
    nodes: &NodeMapping,
) -> Result<ConvertedPast> {
    let conversion = convert(state, new, nodes, MismatchPolicy::DropAll)?;
    Ok(ConvertedPast {
        changes: conversion.changes,
        lost: conversion.lost,
    })
}

/// Converts a version, all of whose data must conform.
///
/// # Errors
/// [`Error::Data`] with every place that does not conform.
pub(in crate::tree) fn convert_strictly(state: TreeState<'_>, new: &Compiled) -> Result<Changes> {
    let nodes = NodeMapping::between(state.compiled, new);
    let conversion = convert(state, new, &nodes, MismatchPolicy::Refuse)?;
    conversion.errors.into_result()?;
    Ok(conversion.changes)
}

impl Converter<'_> {
    fn run(&mut self, range: &KeyRange) -> Result<()> {
        let snapshot = self.old.snapshot;
        let mut cursor = snapshot.scan(range, Direction::Forward)?;
        let mut skipped = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            self.close_frames(key);
            let next = match self.row(key, value) {
                Err(Error::Corrupt(problem)) => {
                    self.unreadable(key, &problem);
                    NextRow::Row
                }
                next => next?,
            };
            if let NextRow::SkipPrefix(length) = next {
                skipped.clear();
                skipped.extend_from_slice(&key[..length]);
                match KeyRange::prefix(&skipped).end {
                    Some(end) => cursor.seek(&end)?,
                    None => break,
                }
            }
        }
        while self.frames.len() > 1 {
            self.close();
        }
        Ok(())
    }

    /// Closes the containers and entries that do not enclose a key.
    fn close_frames(&mut self, key: &[u8]) {
        while self.frames.len() > 1
            && let Some(frame) = self.frames.last()
            && !key.starts_with(&frame.old_key)
        {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let is_presence = is_presence_container(&self.new.schema, frame.new);
        if frame.has_content && !frame.has_row && is_presence {
            let path = self.path(&frame.old_key, None);
            self.report_converted(path, || {
                "it is a presence container now and is stored as such".to_owned()
            });
            self.put(frame.new_key, Vec::new(), true);
        }
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<NextRow> {
        let mut at = self.innermost().old_key.len();
        if at == key.len() {
            self.fragment(value)?;
            return Ok(NextRow::Row);
        }
        while at < key.len() {
            let (parent, is_moved) = (self.innermost().old, self.innermost().is_moved());
            let mut rest = &key[at..];
            let id = take_local_id(&mut rest)?;
            let list = key.len() - rest.len();
            let Some((child, new)) = self.child(parent, id, &key[..list])? else {
                return Ok(NextRow::SkipPrefix(list));
            };
            let node = self.old.schema().node(child);
            if !self.check_case(new, Some((&key[..list], child)))? {
                return Ok(NextRow::SkipPrefix(list));
            }
            if self.nodes.is_same_below(child) && !is_moved {
                self.mark_content();
                return Ok(NextRow::SkipPrefix(list));
            }
            skip_entry(node, &mut rest)?;
            at = key.len() - rest.len();
            if node.is_leaf_list() {
                if at < key.len() {
                    return Err(Error::corrupt(
                        "a key continues after the entry of a leaf-list",
                    ));
                }
                self.leaf_list_entry((child, new), key, list, value)?;
                return Ok(NextRow::Row);
            }
            let own = (at == key.len()).then_some(value);
            if !self.enter((child, new), &key[..at], list, own)? {
                return Ok(NextRow::SkipPrefix(at));
            }
        }
        Ok(NextRow::Row)
    }

    pub fn innermost(&mut self) -> &mut Frame {
        // The frame of the datastore is never popped.
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// The old and the new child with a local id; none if it is removed, which is reported.
    fn child(
        &mut self,
        parent: Option<NodeId>,
        id: LocalId,
        key: &[u8],
    ) -> Result<Option<(NodeId, NodeId)>> {
        let Some(child) = self.old.layout().child(parent, id) else {
            let path = self.hidden_path(parent, id)?;
            self.report_unknown(
                path,
                "this node is not in the modules of the store: it was hidden",
            );
            self.clear(key);
            return Ok(None);
        };
        let Some(new) = self.nodes.new_node(child) else {
            let path = self.path(key, None);
            self.report_unknown(path, NODE_REMOVED);
            self.clear(key);
            return Ok(None);
        };
        let (old_node, new_node) = (self.old.schema().node(child), self.new.schema.node(new));
        if self.is_config_lost(old_node, new_node) {
            let path = self.path(key, None);
            self.report_unknown(path, NODE_IS_STATE);
            self.clear(key);
            return Ok(None);
        }
        if !is_same_kind(old_node, new_node) {
            let problem = format!("{} became {}", kind_name(old_node), kind_name(new_node));
            let path = self.path(key, None);
            self.report_mismatch(DataError::new(ErrorTag::BadElement, problem).at(path));
            self.clear(key);
            return Ok(None);
        }
        let inner = matches!(
            old_node.kind,
            NodeKind::Container { .. } | NodeKind::List(_)
        );
        if !inner && !old_node.is_leaf_list() {
            return Err(Error::corrupt("a leaf has a key of its own"));
        }
        Ok(Some((child, new)))
    }

    /// Whether a configuration loses a node because it is state data in the new schema (RFC 8342 §5). Data
    /// that was state data before was stored intentionally, as ONAP CPS does.
    pub fn is_config_lost(&self, old: &Node, new: &Node) -> bool {
        let is_state_held = self.old.tree.datastore == Datastore::Operational.id();
        old.is_config && !new.is_config && !is_state_held
    }

    /// Whether a child may coexist with its siblings: it is in the same case. `place` is the key and the
    /// old node; none for a leaf of the innermost frame.
    pub fn check_case(&mut self, new: NodeId, place: Option<(&[u8], NodeId)>) -> Result<bool> {
        let node = self.new.schema.node(new);
        let other_case = node.cases.iter().find_map(|of| {
            let frame = &self.frames[self.frames.len() - 1];
            let mut others = frame.cases.iter();
            let other =
                others.find(|(other, _)| other.choice == of.choice && other.case != of.case);
            other.map(|(_, other)| *other)
        });
        let Some(other_case) = other_case else {
            for of in node.cases.clone() {
                let frame = self.innermost();
                if !frame.cases.iter().any(|(case, _)| *case == of) {
                    frame.cases.push((of, new));
                }
            }
            return Ok(true);
        };
        let problem = format!(
            "'{}' and '{}' belong to two cases of one choice",
            self.new.schema.node(other_case).name,
            node.name
        );
        let path = match place {
            Some((key, _)) => self.path(key, None),
            None => {
                let key = self.innermost().old_key.clone();
                self.path(&key, self.old_leaf(new))
            }
        };
        self.report_mismatch(DataError::new(ErrorTag::BadElement, problem).at(path));
        if let Some((key, _)) = place {
            self.clear(key);
        }
        Ok(false)
    }

    /// The old leaf of the innermost frame that a new leaf replaces.
    fn old_leaf(&self, new: NodeId) -> Option<NodeId> {
        let frame = self.frames.last()?;
        let id = self.new.layout.id(new);
        self.old.layout().child(frame.old, id)
    }

    /// Records that the innermost frame, and its ancestors, have content.
    pub fn mark_content(&mut self) {
        for frame in self.frames.iter_mut().rev() {
            if std::mem::replace(&mut frame.has_content, true) {
                return;
            }
        }
    }

    /// Puts the new form of a row. Deletions are applied before all puts.
    pub fn put_converted(
        &mut self,
        old: (&[u8], &[u8]),
        new_key: Vec<u8>,
        new_value: Vec<u8>,
    ) -> bool {
        if old.0 != new_key {
            self.deletes.insert(old.0.to_vec());
            return self.put(new_key, new_value, true);
        }
        if old.1 != new_value {
            return self.put(new_key, new_value, false);
        }
        true
    }

    /// Puts a row; false if another row has this key already.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>, is_moved: bool) -> bool {
        self.puts.insert(key, (value, is_moved)).is_none()
    }

    pub fn delete(&mut self, key: Vec<u8>) {
        self.deletes.insert(key);
    }

    /// Deletes everything below an old key.
    pub fn clear(&mut self, key: &[u8]) {
        for subspace in [Subspace::Tree, Subspace::Order] {
            let range = KeyRange::prefix(&in_subspace(key, subspace));
            self.result.lost.delete_range(&range);
            self.cleared.push(range);
        }
    }

    fn finish(mut self) -> Result<Conversion> {
        for range in &self.cleared {
            self.result.changes.delete_range(range);
        }
        for key in &self.deletes {
            self.result.changes.delete(key.clone());
        }
        let mut taken = Vec::new();
        for (key, (value, is_moved)) in std::mem::take(&mut self.puts) {
            let is_free = !is_moved
                || self.deletes.contains(&key)
                || self.result.changes.is_cleared(&key)
                || self.old.snapshot.get(&key)?.is_none();
            match is_free {
                true => self.result.changes.put(key, value),
                false => taken.push(key),
            }
        }
        for key in taken {
            let path = self.path(&in_subspace(&key, Subspace::Tree), None);
            self.report_duplicate(path);
        }
        Ok(self.result)
    }

    /// Reports two entries with the same key.
    pub fn report_duplicate(&mut self, path: String) {
        let problem = "another entry has the same keys in the new modules";
        self.report_mismatch(DataError::new(ErrorTag::BadElement, problem).at(path));
    }

    /// Reports data of a removed node.
    pub fn report_unknown(&mut self, path: String, problem: &str) {
        match self.mismatch_policy {
            MismatchPolicy::Refuse => {
                let error = DataError::new(ErrorTag::UnknownElement, problem).at(path);
                self.report_refused(error.with_app_tag(UNKNOWN_NODE));
            }
            MismatchPolicy::DropUnknown | MismatchPolicy::DropAll => {
                self.report_dropped(path, problem.to_owned())
            }
        }
    }

    /// Reports data that does not conform.
    pub fn report_mismatch(&mut self, error: DataError) {
        match self.mismatch_policy {
            MismatchPolicy::Refuse | MismatchPolicy::DropUnknown => self.report_refused(error),
            MismatchPolicy::DropAll => {
                let change = format!("{} ({})", error.message, error.tag.as_str());
                self.report_dropped(error.path, change);
            }
        }
    }

    fn report_refused(&mut self, error: DataError) {
        match self.is_listed(PlaceOutcome::Refused, &error.path) {
            true => self.result.errors.push(error),
            false => self.result.errors.count_more(1),
        }
    }

    fn report_dropped(&mut self, path: String, change: String) {
        match self.is_listed(PlaceOutcome::Dropped, &path) {
            true => self.result.dropped.push(ChangedPlace { path, change }),
            false => self.result.dropped.count += 1,
        }
    }

    /// Reports converted data.
    pub fn report_converted(&mut self, path: String, change: impl FnOnce() -> String) {
        match self.is_listed(PlaceOutcome::Converted, &path) {
            true => {
                let change = change();
                self.result.converted.push(ChangedPlace { path, change });
            }
            false => self.result.converted.count += 1,
        }
    }

    /// Whether a place is among the first ones of its schema node, which are listed: many similar places
    /// must not hide another one.
    fn is_listed(&mut self, outcome: PlaceOutcome, path: &str) -> bool {
        let count = self
            .places_by_node
            .entry((outcome, without_predicates(path)));
        let count = count.or_default();
        *count += 1;
        *count <= PLACES_PER_NODE_MAX
    }

    /// Reports a row that is unreadable in the old schema.
    fn unreadable(&mut self, key: &[u8], problem: &str) {
        let path = format!("key {}", key.escape_ascii());
        let problem = format!("the row cannot be read: {problem}");
        self.report_mismatch(DataError::new(ErrorTag::OperationFailed, problem).at(path));
        self.deletes.insert(key.to_vec());
    }

    /// The instance identifier of an old key, or of a leaf in it.
    pub fn path(&self, key: &[u8], leaf: Option<NodeId>) -> String {
        let named = || -> Result<Option<InstancePath>> {
            let Some(mut trail) = key_nodes_of_list(&self.old, key)? else {
                return Ok(None);
            };
            // The key of a whole list or leaf-list contains no entry.
            let last = trail.last().copied();
            let list = last.filter(|last| last.end > key.len());
            if list.is_some() {
                trail.pop();
            }
            let mut path = self.old.named_path_of(key, &trail)?;
            if let Some(list) = list {
                path = path.child(list.node, Keys::None);
            }
            if let Some(leaf) = leaf {
                path = path.child(leaf, Keys::None);
            }
            Ok(Some(path))
        };
        match named() {
            Ok(Some(path)) if path.is_root() => "/".to_owned(),
            Ok(Some(path)) => path.to_instance_identifier(self.old.schema()),
            _ => format!("key {}", key.escape_ascii()),
        }
    }

    /// The path of a node that is not in the old schema, by its name in the dictionary.
    pub fn hidden_path(&mut self, parent: Option<NodeId>, id: LocalId) -> Result<String> {
        let key = self.innermost().old_key.clone();
        let above = match parent {
            Some(_) => self.path(&key, None),
            None => String::new(),
        };
        let names = schema_names(&self.old, parent);
        let name = node_dictionary::name_of(self.old.snapshot, &names, id)?;
        Ok(match name {
            Some(name) => format!("{above}/{name}"),
            None => format!("{above}/(node {})", id.0),
        })
    }
}

/// The schema path of an instance identifier. Empty for all rows without a path.
fn without_predicates(path: &str) -> String {
    let mut nodes = String::new();
    let mut quote = None;
    let mut is_in_predicate = false;
    if !path.starts_with('/') {
        return nodes;
    }
    for letter in path.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '[') => is_in_predicate = true,
            (None, ']') => is_in_predicate = false,
            (None, '\'' | '"') if is_in_predicate => quote = Some(letter),
            (None, _) if is_in_predicate => {}
            (None, _) => nodes.push(letter),
        }
    }
    nodes
}

/// The `error-app-tag` of data that [`MismatchPolicy::DropUnknown`] removes.
pub const UNKNOWN_NODE: &str = "unknown-node";

/// The error for data of a removed node.
pub(super) const NODE_REMOVED: &str = "the new modules do not have this node (removed, its feature is off, or deviated as not supported)";

/// The error for configuration of a node that is state data in the new schema.
pub(super) const NODE_IS_STATE: &str =
    "this node is state data in the new modules, which is not part of a configuration";

/// The nodes on the path of a key that may end at a list or leaf-list without an entry. The last node of
/// such a key ends beyond it.
fn key_nodes_of_list(
    state: &TreeState<'_>,
    key: &[u8],
) -> Result<Option<crate::tree::key_nodes::KeyNodes>> {
    let mut trail = crate::tree::key_nodes::KeyNodes::new();
    let mut at = state.tree.prefix(Subspace::Tree).len();
    while at < key.len() {
        let mut rest = &key[at..];
        let parent = trail.last().map(|point| point.node);
        let Some(node) = state.layout().child(parent, take_local_id(&mut rest)?) else {
            return Ok(None);
        };
        let list = key.len() - rest.len();
        let of = state.schema().node(node);
        let is_whole = rest.is_empty() && (of.is_list() || of.is_leaf_list());
        match is_whole {
            true => at = key.len() + 1,
            false => {
                skip_entry(of, &mut rest)?;
                at = key.len() - rest.len();
            }
        }
        let end = at;
        trail.push(crate::tree::key_nodes::KeyNode { node, list, end });
    }
    Ok(Some(trail))
}

/// The schema path of a node, as in the dictionary.
fn schema_names(state: &TreeState<'_>, node: Option<NodeId>) -> String {
    let Some(node) = node else {
        return String::new();
    };
    let node: &Node = state.schema().node(node);
    let above = schema_names(state, node.parent);
    let module = &state.schema().module(node.module).name;
    format!("{above}/{module}:{}", node.name)
}
