//! The target of a read, by its kind.

use espalier_keyspace::KeyRange;
use espalier_yang::{InstancePath, Keys, Mark, NodeId, Sink};

use super::super::filter::Plan;
use super::super::locate::{Location, LocationKind, TreeState};
use super::super::selection::{Content, Selection, WithDefaults};
use super::access::ReadAccess;
use super::first_event::{FirstContent, FirstEvent};
use super::frame::{Halt, NewFrame, ReadResult, ResourceReader, Stored};
use super::frame_filter::{FilterRead, FrameFilter, Matched};
use super::origin::Sources;
use super::sublist_count::SublistCount;
use crate::access::{AccessOperation, AccessTable};
use crate::error::Result;
use crate::fragment::{Packed, Reader, take_entry_value};
use crate::keys::take_local_id;

/// The length of the key of a container, or of the whole list of an entry.
fn list_length(place: &Location) -> Result<usize> {
    let parent = place.boundaries.iter().rev().nth(1);
    let mut rest = &place.key[parent.copied().unwrap_or_default()..];
    take_local_id(&mut rest)?;
    Ok(place.key.len() - rest.len())
}

/// The rules for a read of the target at a path.
fn access_to_target<'t>(table: &'t AccessTable, path: &InstancePath) -> ReadAccess<'t> {
    let parent = path.parent().unwrap_or_default();
    let decision = table.decide(AccessOperation::Read, &parent);
    ReadAccess::new(table, decision, parent.steps.len())
}

/// Sends the resource at a path as events; false if it does not exist.
pub(in crate::tree) fn read(
    state: TreeState<'_>,
    sources: Option<&dyn Sources>,
    path: &InstancePath,
    selection: &Selection,
    access: Option<&AccessTable>,
    sink: &mut dyn Sink,
) -> Result<bool> {
    let Some(place) = state.locate(path)? else {
        return Ok(false);
    };
    let target = Target {
        state,
        sources,
        path,
        place: &place,
        access,
    };
    let mut reader = target.reader(selection, sink);
    let found = reader.target(&place, path);
    let is_unseen = access.is_some() && !path.is_root() && !reader.has_sent;
    match found {
        Ok(true) if is_unseen => {}
        Ok(found) => return Ok(found),
        Err(Halt::Stop) => return Ok(true),
        Err(Halt::Error(error)) => return Err(error),
    }
    // For a restricted reader, the target exists if something of it can be seen, even if that is not selected.
    let (all, mut first) = (Selection::default(), FirstEvent::default());
    let mut other = target.reader(&all, &mut first);
    if let Err(Halt::Error(error)) = other.target(&place, path) {
        return Err(error);
    }
    match (first.is_found, place.kind, place.node) {
        (true, LocationKind::Inner, Some(node)) => {
            match reader.send_without_content(&place, node) {
                Err(Halt::Error(error)) => Err(error),
                _ => Ok(true),
            }
        }
        (is_found, ..) => Ok(is_found),
    }
}

/// Whether a read of a resource sends more than containers without presence.
pub(in crate::tree) fn sends_content(
    (state, sources): (TreeState<'_>, Option<&dyn Sources>),
    path: &InstancePath,
    selection: &Selection,
    access: Option<&AccessTable>,
) -> Result<bool> {
    let Some(place) = state.locate(path)? else {
        return Ok(false);
    };
    let target = Target {
        state,
        sources,
        path,
        place: &place,
        access,
    };
    let mut first = FirstContent::new(state.schema());
    match target.reader(selection, &mut first).target(&place, path) {
        Err(Halt::Error(error)) => Err(error),
        _ => Ok(first.is_found),
    }
}

/// A read of what a plan selects of a datastore.
pub(in crate::tree) struct FilteredRead<'a> {
    pub state: TreeState<'a>,
    pub sources: Option<&'a dyn Sources>,
    pub plan: &'a Plan,
    pub selection: &'a Selection,
    pub access: Option<&'a AccessTable>,
    /// The list that a page is of, which the limit of sublists does not apply to.
    pub paged_list: Option<NodeId>,
}

impl FilteredRead<'_> {
    /// Sends the selected nodes with their ancestors and the keys of all entries, in the order of the datastore.
    pub fn send(&self, sink: &mut dyn Sink) -> Result<()> {
        let (root, place) = (InstancePath::root(), self.state.root());
        let target = Target {
            state: self.state,
            sources: self.sources,
            path: &root,
            place: &place,
            access: self.access,
        };
        let mut reader = target.reader(self.selection, sink);
        reader.is_lazy = true;
        reader.outer_depth = 1;
        reader.paged_list = self.paged_list;
        reader.filter = Some(FilterRead {
            plan: self.plan,
            root: FrameFilter::default(),
            is_whole: false,
        });
        match reader.send_filtered(&place.key) {
            Err(Halt::Error(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// The target of a read, and who reads it.
#[derive(Clone, Copy)]
pub(in crate::tree) struct Target<'a> {
    pub state: TreeState<'a>,
    pub sources: Option<&'a dyn Sources>,
    pub path: &'a InstancePath,
    pub place: &'a Location,
    pub access: Option<&'a AccessTable>,
}

impl<'a> Target<'a> {
    pub(super) fn reader(
        &self,
        selection: &'a Selection,
        sink: &'a mut dyn Sink,
    ) -> ResourceReader<'a> {
        let Self {
            state,
            sources,
            path,
            place,
            access,
        } = *self;
        let outer_length = place.boundaries.last().copied().unwrap_or_default();
        ResourceReader {
            state,
            selection,
            sink,
            frames: Vec::new(),
            key: place.key[..outer_length.min(place.key.len())].to_vec(),
            outer: path.parent().and_then(|parent| parent.target()),
            outer_length,
            outer_depth: 0,
            is_lazy: selection.content == Content::NonConfig || selection.fields.is_some(),
            reports_defaults: matches!(
                selection.with_defaults,
                WithDefaults::ReportAll | WithDefaults::ReportAllTagged
            ),
            outer_children: Vec::new(),
            sources,
            sources_at_key: Vec::new(),
            access: access.map(|table| access_to_target(table, path)),
            has_sent: false,
            filter: None,
            paged_list: path.target(),
            outer_sublist: SublistCount::default(),
        }
    }
}

impl ResourceReader<'_> {
    /// Whether a leaf is a key of an entry of which the reader sees something: it is then part of that.
    fn is_key_of_shown(&self, leaf: NodeId, path: &InstancePath) -> ReadResult<bool> {
        match path.parent().filter(|_| self.is_key(leaf)) {
            Some(parent) => self.shows_anything_at(&parent),
            None => Ok(false),
        }
    }

    /// Sends a container, or an entry with its keys.
    fn send_without_content(&mut self, place: &Location, node: NodeId) -> ReadResult<()> {
        self.sink.open(node, Mark::default())?;
        let keys = self.state.schema().node(node).keys();
        let selects_keys = self.selection.depth.is_none_or(|depth| depth > 1);
        if !keys.is_empty() && selects_keys && self.selection.fields.is_none() {
            let row = self.state.snapshot.get(&place.key)?.unwrap_or_default();
            for (&key, leaf) in keys.iter().zip(Reader::new(&row)) {
                let (_, packed) = leaf?;
                self.send(key, packed)?;
            }
        }
        Ok(self.sink.close(Mark::default())?)
    }

    fn target(&mut self, place: &Location, path: &InstancePath) -> ReadResult<bool> {
        match (place.kind, place.node) {
            (LocationKind::Leaf, Some(node)) => self.leaf_target(place, node, path),
            (LocationKind::Entry, Some(node)) => self.entry_target(place, node, path),
            (LocationKind::AllEntries, Some(node)) => self.list_target(place, node, path),
            (LocationKind::Inner, Some(node)) => self.inner_target(place, node, path),
            _ => self.root_target(place),
        }
    }

    fn send_filtered(&mut self, root: &[u8]) -> ReadResult<()> {
        let range = self.enter_root(root)?;
        self.scan(&range)?;
        match self.reports_defaults {
            true => self.report_absent_roots(),
            false => Ok(()),
        }
    }

    fn root_target(&mut self, place: &Location) -> ReadResult<bool> {
        self.outer_depth = 1;
        self.scan(&KeyRange::prefix(&place.key))?;
        if self.reports_defaults {
            self.report_absent_roots()?;
        }
        Ok(true)
    }

    fn inner_target(
        &mut self,
        place: &Location,
        node: NodeId,
        path: &InstancePath,
    ) -> ReadResult<bool> {
        let range = KeyRange::prefix(&place.key);
        if !self.state.any(&range)? && !self.is_implied_target(node, path)? {
            return Ok(false);
        }
        let schema_node = self.state.schema().node(node);
        // For an entry, all before its keys belongs to the list.
        let list = list_length(place)?;
        let Some(access) = self.access_of(schema_node, &place.key, list)? else {
            return Ok(false);
        };
        self.push(NewFrame {
            node,
            key: &place.key,
            stored: Stored::Yes,
            access,
            matched: Matched::default(),
        })?;
        self.scan(&range)?;
        Ok(true)
    }

    /// Whether an empty container exists (RFC 7950 §7.5.1): if its parent does and its `when` is true.
    fn is_implied_target(&self, node: NodeId, path: &InstancePath) -> ReadResult<bool> {
        let node = self.state.schema().node(node);
        let parent = path.parent().unwrap_or_default();
        if !node.is_np_container() || !self.has_parent(&parent)? {
            return Ok(false);
        }
        if node.whens.is_empty() {
            return Ok(true);
        }
        self.evaluate_at(&parent, |evaluator, place| {
            for when in &node.whens {
                if !evaluator.when(when, place, node.id)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn has_parent(&self, parent: &InstancePath) -> ReadResult<bool> {
        let Some(place) = self.state.locate(parent)? else {
            return Ok(false);
        };
        match place.node {
            None => Ok(true),
            Some(node) if self.state.schema().node(node).is_np_container() => {
                self.is_implied_target(node, parent)
            }
            Some(_) => Ok(self.state.snapshot.get(&place.key)?.is_some()),
        }
    }

    fn leaf_target(
        &mut self,
        place: &Location,
        node: NodeId,
        path: &InstancePath,
    ) -> ReadResult<bool> {
        let id = self.state.layout().id(node);
        let state = self.state;
        if let Some(value) = state.snapshot.get(&place.key)? {
            for leaf in Reader::new(&value) {
                let (other, packed) = leaf?;
                if other == id {
                    if !self.shows_leaf(node, &packed) && !self.is_key_of_shown(node, path)? {
                        return Ok(false);
                    }
                    self.load_sources(&place.key)?;
                    self.annotate_leaf_origin(node, &packed)?;
                    self.send(node, packed)?;
                    return Ok(true);
                }
            }
        }
        self.default_target(node, path)
    }

    /// Sends the defaults of an unset leaf or leaf-list, if requested.
    fn default_target(&mut self, node: NodeId, path: &InstancePath) -> ReadResult<bool> {
        if !self.is_default_in_use(node, path)? {
            return Ok(false);
        }
        let value = self.state.schema().node(node).as_value();
        let defaults = value.map_or(&[][..], |value| &value.defaults);
        for default in defaults {
            if self.shows_value(node, Some(default)) {
                self.send_default(node, default)?;
            }
        }
        Ok(true)
    }

    /// Whether the defaults of an unset leaf or leaf-list are in use and requested.
    pub fn is_default_in_use(&self, node: NodeId, path: &InstancePath) -> ReadResult<bool> {
        let defaults = self.state.schema().node(node).as_value();
        let has_default = defaults.is_some_and(|value| !value.defaults.is_empty());
        let parent = path.parent().unwrap_or_default();
        if !has_default || !self.reports_defaults || !self.has_parent(&parent)? {
            return Ok(false);
        }
        self.evaluate_at(&parent, |evaluator, place| evaluator.is_in_use(place, node))
    }

    fn entry_target(
        &mut self,
        place: &Location,
        node: NodeId,
        path: &InstancePath,
    ) -> ReadResult<bool> {
        let Some(value) = self.state.snapshot.get(&place.key)? else {
            return self.default_entry_target(node, path);
        };
        let packed = Packed::Value(take_entry_value(&value)?);
        if !self.shows_leaf(node, &packed) {
            return Ok(false);
        }
        self.load_sources(&place.key)?;
        self.annotate_leaf_origin(node, &packed)?;
        self.send(node, packed)?;
        Ok(true)
    }

    /// Sends an entry of an unset leaf-list that has this default value.
    fn default_entry_target(&mut self, node: NodeId, path: &InstancePath) -> ReadResult<bool> {
        let Some((last, above)) = path.steps.split_last() else {
            return Ok(false);
        };
        let Keys::Values(values) = &last.keys else {
            return Ok(false);
        };
        let mut list = InstancePath {
            steps: above.to_vec(),
        };
        list.steps.push(espalier_yang::Step {
            node,
            keys: Keys::None,
        });
        let is_set = match self.state.locate(&list)? {
            Some(place) => self.state.any(&KeyRange::strictly_below(&place.key))?,
            None => false,
        };
        if is_set || !self.is_default_in_use(node, path)? {
            return Ok(false);
        }
        let value = self.state.schema().node(node).as_value();
        let default = value.and_then(|value| {
            let mut defaults = value.defaults.iter();
            defaults.find(|default| values.first() == Some(default))
        });
        match default {
            Some(default) if self.shows_value(node, Some(default)) => {
                self.send_default(node, default).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    fn list_target(
        &mut self,
        place: &Location,
        node: NodeId,
        path: &InstancePath,
    ) -> ReadResult<bool> {
        let range = KeyRange::strictly_below(&place.key);
        if !self.state.any(&range)? {
            return self.default_target(node, path);
        }
        self.scan(&range)?;
        Ok(true)
    }
}
