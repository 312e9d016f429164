//! The open nodes of a read, and their output to the sink.

use espalier_yang::data::{Annotation, Origin, Stop};
use espalier_yang::{Mark, NodeId, Sink, Value};

use super::super::locate::TreeState;
use super::super::selection::{Content, Selection};
use super::access::ReadAccess;
use super::frame_filter::{FilterRead, FrameFilter, Matched};
use super::node_access::NodeAccess;
use super::origin::{Source, Sources};
use super::sublist_count::SublistCount;
use crate::error::Error;
use crate::fragment::Packed;

/// Why a read ends early.
pub(super) enum Halt {
    /// The sink stopped it.
    Stop,
    /// The store failed.
    Error(Error),
}

impl From<Stop> for Halt {
    fn from(_: Stop) -> Self {
        Self::Stop
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<espalier_keyspace::Error> for Halt {
    fn from(error: espalier_keyspace::Error) -> Self {
        Self::Error(error.into())
    }
}

/// The result of a step of a read.
pub(super) type ReadResult<T> = std::result::Result<T, Halt>;

/// A container or list entry that encloses the current key.
pub(super) struct Frame {
    pub node: NodeId,
    /// Length of its key.
    pub length: usize,
    /// Its level, the resource itself being 1.
    pub depth: u32,
    /// Whether it was sent to the sink.
    pub is_open: bool,
    /// Whether everything below is selected.
    pub is_fully_selected: bool,
    /// What is shown of it.
    pub access: NodeAccess,
    /// Whether it or an enclosing frame is denied, and was not sent when this frame was entered.
    is_below_denied: bool,
    /// Its key leaves, until it is sent.
    keys: Vec<(NodeId, Value)>,
    /// Its origin, if it must be sent.
    sent_origin: Option<Origin>,
    /// The origin that its children inherit.
    pub origin: Option<Origin>,
    /// Its children found so far, if defaults are reported.
    pub children_found: Vec<NodeId>,
    /// The filter below it.
    pub filter: FrameFilter,
    /// The entries sent of its lists.
    pub sublist: SublistCount,
}

/// A container or list entry to be entered.
pub(super) struct NewFrame<'k> {
    pub node: NodeId,
    /// Its key; for a container that is not stored, that of the node that encloses it.
    pub key: &'k [u8],
    pub stored: Stored,
    pub access: NodeAccess,
    /// What the filter selects of it.
    pub matched: Matched,
}

impl Frame {
    /// Whether it is not sent because it is denied, or below a denied node.
    fn is_hidden(&self) -> bool {
        self.is_below_denied && !self.is_open
    }
}

/// Whether a container or list entry is stored, or exists only for defaults in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Yes,
    No,
}

/// A read of one resource.
pub(super) struct ResourceReader<'a> {
    pub state: TreeState<'a>,
    pub selection: &'a Selection,
    pub sink: &'a mut dyn Sink,
    pub frames: Vec<Frame>,
    /// The key of the innermost frame, or of the parent of the target.
    pub key: Vec<u8>,
    /// The parent node of the target.
    pub outer: Option<NodeId>,
    /// The length of the key of the parent of the target.
    pub outer_length: usize,
    /// The level of the parent of the target.
    pub outer_depth: u32,
    /// Whether nodes are sent only once they have content.
    pub is_lazy: bool,
    /// Whether defaults of unset leaves are reported.
    pub reports_defaults: bool,
    /// The top-level nodes found so far, if defaults are reported.
    pub outer_children: Vec<NodeId>,
    /// The sources of the datastore, if it has origins.
    pub sources: Option<&'a dyn Sources>,
    /// The data of each source at the current key, if origins are reported.
    pub sources_at_key: Vec<Source>,
    /// The access rules, if there are any.
    pub access: Option<ReadAccess<'a>>,
    /// Whether anything was sent.
    pub has_sent: bool,
    /// The filter of the read, if it has one.
    pub filter: Option<FilterRead<'a>>,
    /// The list of which all entries are sent whatever the limit of sublists: the target.
    pub paged_list: Option<NodeId>,
    /// The entries sent of the lists outside of all frames.
    pub outer_sublist: SublistCount,
}

impl ResourceReader<'_> {
    /// Enters a container or list entry.
    pub fn push(&mut self, new: NewFrame<'_>) -> ReadResult<()> {
        let NewFrame {
            node,
            key,
            stored,
            access,
            ..
        } = new;
        let (length, has_filter) = (key.len(), self.filter.is_some());
        let (depth, is_fully_selected) = self.level_of(node, &new.matched);
        let is_np_container = self.state.schema().node(node).is_np_container();
        let is_hidden_above = match self.frames.last() {
            Some(frame) => frame.is_hidden(),
            // An empty container exists if its parent does, which may be hidden.
            None => is_np_container && self.is_outer_denied(),
        };
        let (sent_origin, origin) = self.origin_of_frame(node, key, length)?;
        let shows_itself = is_fully_selected
            && match is_hidden_above {
                // With a filter, a container without presence is sent with its first content, unless that is beyond the
                // depth.
                _ if has_filter && is_np_container => {
                    !self.is_level_within_depth(depth + 1) && self.has_shown_content(&new)?
                }
                true => !is_np_container && self.is_shown_empty(node, stored),
                false => self.is_shown_empty(node, stored),
            }
            && self.passes_origin(self.state.schema().node(node), origin.unwrap_or_default())
            && (access != NodeAccess::Denied || self.shows_denied(&new)?);
        let filter = match is_fully_selected && self.selection.depth.is_none() {
            true => FrameFilter::default(),
            false => self.frame_filter(new.matched, (stored == Stored::Yes).then_some(key))?,
        };
        self.record_child(node);
        self.key.clear();
        self.key.extend_from_slice(key);
        let is_target = self.outer_depth == 0 && self.frames.is_empty();
        let is_open =
            (!self.is_lazy || is_target) && access != NodeAccess::Denied && !is_hidden_above;
        self.frames.push(Frame {
            node,
            length,
            depth,
            is_open,
            is_fully_selected,
            access,
            is_below_denied: access == NodeAccess::Denied || is_hidden_above,
            keys: Vec::new(),
            sent_origin,
            origin,
            children_found: Vec::new(),
            filter,
            sublist: SublistCount::default(),
        });
        match (is_open, shows_itself) {
            (true, _) => {
                self.count_entry_frame(self.frames.len() - 1)?;
                self.annotate_origin(sent_origin)?;
                self.has_sent = true;
                Ok(self.sink.open(node, Mark::default())?)
            }
            (false, true) => self.open_frames(),
            (false, false) => Ok(()),
        }
    }

    fn annotate_origin(&mut self, origin: Option<Origin>) -> ReadResult<()> {
        if let Some(origin) = origin {
            self.sink.annotate(vec![Annotation::Origin(origin)])?;
        }
        Ok(())
    }

    /// Whether a fully selected node is sent even without content: as state, or as selected config. A
    /// non-presence container only if it has content, perhaps beyond the depth.
    fn is_shown_empty(&self, node: NodeId, stored: Stored) -> bool {
        let node = self.state.schema().node(node);
        match self.selection.content {
            Content::NonConfig => !node.is_config && !node.is_np_container(),
            _ => stored == Stored::Yes || !node.is_np_container(),
        }
    }

    /// Records that a node exists, for the decision on defaults.
    pub fn record_child(&mut self, node: NodeId) {
        if !self.reports_defaults {
            return;
        }
        let children_found = match self.frames.last_mut() {
            Some(frame) => &mut frame.children_found,
            None => &mut self.outer_children,
        };
        if children_found.last() != Some(&node) {
            children_found.push(node);
        }
    }

    /// Leaves the frames that do not enclose `key`.
    pub fn leave_frames(&mut self, key: &[u8]) -> ReadResult<()> {
        while let Some(frame) = self.frames.last() {
            if key.starts_with(&self.key[..frame.length]) {
                self.key.truncate(frame.length);
                return Ok(());
            }
            self.pop()?;
        }
        self.key.truncate(self.outer_length);
        Ok(())
    }

    /// Leaves the innermost frame.
    pub fn pop(&mut self) -> ReadResult<()> {
        if self.reports_defaults {
            self.report_absent_defaults()?;
        }
        if let Some(frame) = self.frames.pop()
            && frame.is_open
        {
            self.sink.close(Mark::default())?;
        }
        Ok(())
    }

    /// Sends all frames within the depth that are not sent yet.
    pub fn open_frames(&mut self) -> ReadResult<()> {
        if self.frames.last().is_none_or(|frame| frame.is_open) {
            return Ok(());
        }
        self.has_sent = true;
        let depth = self.selection.depth.unwrap_or(u32::MAX);
        for index in 0..self.frames.len() {
            if self.frames[index].is_open || self.frames[index].depth > depth {
                continue;
            }
            self.count_entry_frame(index)?;
            let frame = &mut self.frames[index];
            frame.is_open = true;
            if let Some(origin) = frame.sent_origin {
                self.sink.annotate(vec![Annotation::Origin(origin)])?;
            }
            self.sink.open(frame.node, Mark::default())?;
            for (node, value) in frame.keys.drain(..) {
                self.sink.leaf(node, value, Mark::default())?;
            }
        }
        Ok(())
    }

    /// Visits a leaf of the innermost frame.
    pub fn leaf(&mut self, node: NodeId, packed: Packed) -> ReadResult<()> {
        self.record_child(node);
        let is_state = self.selection.content == Content::NonConfig;
        let has_filter = self.filter.is_some();
        if has_filter && self.is_key(node) && self.selects_entry_by_key(node, &packed)? {
            self.open_frames()?;
        }
        if is_state && (self.is_within_depth() || has_filter) && self.is_config_key(node) {
            return self.entry_key(node, packed);
        }
        if !self.shows_leaf(node, &packed) {
            // The keys of an entry of which anything is shown are part of it.
            if !self.is_key(node) || !(has_filter || self.selects_leaf(node, &packed)) {
                return Ok(());
            }
            return self.entry_key(node, packed);
        }
        let is_beyond = self.is_beyond_unsent();
        let is_selected = match is_beyond {
            true => self.selects_at_any_depth(node),
            false => self.selects_leaf(node, &packed),
        };
        let is_selected = is_selected && self.leaf_passes_origin(node, &packed)?;
        if !is_selected && has_filter && self.is_key(node) {
            return self.entry_key(node, packed);
        }
        if !is_selected || self.is_trimmed(node, &packed) {
            return Ok(());
        }
        self.open_frames()?;
        if is_beyond {
            return Ok(());
        }
        self.annotate_leaf_origin(node, &packed)?;
        self.send(node, packed)
    }

    /// Sends a leaf unconditionally.
    pub fn send(&mut self, node: NodeId, packed: Packed) -> ReadResult<()> {
        self.has_sent = true;
        self.count_value(node)?;
        match packed {
            Packed::Value(value) => self.sink.leaf(node, value, Mark::default())?,
            Packed::Any(json) => self.sink.any(node, &json, Mark::default())?,
        }
        Ok(())
    }

    fn is_config_key(&self, node: NodeId) -> bool {
        let node = self.state.schema().node(node);
        node.is_config && node.as_value().is_some_and(|value| value.is_key)
    }

    pub fn is_key(&self, node: NodeId) -> bool {
        let value = self.state.schema().node(node).as_value();
        value.is_some_and(|value| value.is_key)
    }

    /// Visits a key of an entry that may contain what is selected: sent once content of the entry is.
    fn entry_key(&mut self, node: NodeId, packed: Packed) -> ReadResult<()> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        match packed {
            Packed::Value(value) if !frame.is_open => frame.keys.push((node, value)),
            packed => self.send(node, packed)?,
        }
        Ok(())
    }
}
