//! The nodes that are open while reading, and telling the sink of them.

use espalier_yang::data::{Annotation, Origin, Stop};
use espalier_yang::{Mark, NodeId, Sink, Value};

use super::super::locate::State;
use super::super::selection::{Content, Selection};
use super::origin::{Source, Sources};
use crate::error::Error;
use crate::fragment::Packed;

/// Why a reading ends early.
pub(super) enum Halt {
    /// The sink wants no more.
    Stop,
    /// The store could not be read.
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

/// The result of a part of a reading.
pub(super) type Flow<T> = std::result::Result<T, Halt>;

/// A container or list entry around the current key.
pub(super) struct Frame {
    pub node: NodeId,
    /// Length of its key.
    pub length: usize,
    /// Its level, the resource itself being 1.
    pub depth: u32,
    /// Whether the sink has been told of it.
    pub is_open: bool,
    /// Whether everything below is selected.
    pub is_whole: bool,
    /// Its key leaves, while it is not open.
    keys: Vec<(NodeId, Value)>,
    /// Its origin, where the sink has to be told.
    told_origin: Option<Origin>,
    /// The origin that its children have where nothing else is said.
    pub origin: Option<Origin>,
    /// Its children met so far, where defaults are reported.
    pub seen: Vec<NodeId>,
}

/// Whether a container or list entry has a key, or stands for defaults that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Yes,
    No,
}

/// One reading of one resource.
pub(super) struct Reading<'a> {
    pub state: State<'a>,
    pub selection: &'a Selection,
    pub sink: &'a mut dyn Sink,
    pub frames: Vec<Frame>,
    /// The key of the innermost frame, or of the resource around the target.
    pub key: Vec<u8>,
    /// The node around the target.
    pub outer: Option<NodeId>,
    /// The length of the key of the resource around the target.
    pub outer_length: usize,
    /// The level of the resource around the target.
    pub outer_depth: u32,
    /// Whether nodes are told of only when something in them is.
    pub is_lazy: bool,
    /// Whether defaults of what was not set are reported.
    pub reports_defaults: bool,
    /// What was met outside all frames, where defaults are reported.
    pub outer_seen: Vec<NodeId>,
    /// What the datastore is made of, where origins can be told.
    pub sources: Option<&'a dyn Sources>,
    /// What each of them has at the current key, where origins are told.
    pub at_key: Vec<Source>,
}

impl Reading<'_> {
    /// A container or list entry begins; its key is the first `length` bytes of `key`.
    pub fn push(&mut self, node: NodeId, key: &[u8], length: usize) -> Flow<()> {
        self.push_frame(node, key, length, Stored::Yes)
    }

    /// The same, of a container that may not be stored.
    pub fn push_frame(
        &mut self,
        node: NodeId,
        key: &[u8],
        length: usize,
        stored: Stored,
    ) -> Flow<()> {
        let depth = self.depth_below();
        let is_whole = self.is_whole(node);
        let shows_itself = is_whole && self.is_shown_empty(node, stored);
        let (told_origin, origin) = self.origin_of_frame(node, key, length)?;
        self.see(node);
        self.key.clear();
        self.key.extend_from_slice(&key[..length]);
        let is_target = self.outer_depth == 0 && self.frames.is_empty();
        let is_open = !self.is_lazy || is_target;
        self.frames.push(Frame {
            node,
            length,
            depth,
            is_open,
            is_whole,
            keys: Vec::new(),
            told_origin,
            origin,
            seen: Vec::new(),
        });
        match (is_open, shows_itself) {
            (true, _) => {
                self.annotate_origin(told_origin)?;
                Ok(self.sink.open(node, Mark::default())?)
            }
            (false, true) => self.open_frames(),
            (false, false) => Ok(()),
        }
    }

    fn annotate_origin(&mut self, origin: Option<Origin>) -> Flow<()> {
        if let Some(origin) = origin {
            self.sink.annotate(vec![Annotation::Origin(origin)])?;
        }
        Ok(())
    }

    /// Whether a node that is wholly selected is shown though nothing in it may be: as state, or as
    /// config that is not left out. Of a container without presence, only one that holds something
    /// (perhaps beyond the depth).
    fn is_shown_empty(&self, node: NodeId, stored: Stored) -> bool {
        let node = self.state.schema().node(node);
        match self.selection.content {
            Content::NonConfig => !node.is_config && !node.is_np_container(),
            _ => stored == Stored::Yes || !node.is_np_container(),
        }
    }

    /// Remembers that a node is there, where that decides on defaults.
    pub fn see(&mut self, node: NodeId) {
        if !self.reports_defaults {
            return;
        }
        let seen = match self.frames.last_mut() {
            Some(frame) => &mut frame.seen,
            None => &mut self.outer_seen,
        };
        if seen.last() != Some(&node) {
            seen.push(node);
        }
    }

    /// Leaves the frames that are not around `key`.
    pub fn leave(&mut self, key: &[u8]) -> Flow<()> {
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
    pub fn pop(&mut self) -> Flow<()> {
        if self.reports_defaults {
            self.absent_defaults()?;
        }
        if let Some(frame) = self.frames.pop()
            && frame.is_open
        {
            self.sink.close(Mark::default())?;
        }
        Ok(())
    }

    /// Tells the sink of every frame that it has not been told of.
    pub fn open_frames(&mut self) -> Flow<()> {
        if self.frames.last().is_none_or(|frame| frame.is_open) {
            return Ok(());
        }
        for frame in self.frames.iter_mut().filter(|frame| !frame.is_open) {
            frame.is_open = true;
            if let Some(origin) = frame.told_origin {
                self.sink.annotate(vec![Annotation::Origin(origin)])?;
            }
            self.sink.open(frame.node, Mark::default())?;
            for (node, value) in frame.keys.drain(..) {
                self.sink.leaf(node, value, Mark::default())?;
            }
        }
        Ok(())
    }

    /// A leaf of the innermost frame.
    pub fn leaf(&mut self, node: NodeId, packed: Packed) -> Flow<()> {
        self.see(node);
        let is_state = self.selection.content == Content::NonConfig;
        if is_state && self.is_within_depth() && self.is_config_key(node) {
            return self.config_key(node, packed);
        }
        if !self.selects_leaf(node) || self.is_trimmed(node, &packed) {
            return Ok(());
        }
        self.open_frames()?;
        self.tell_leaf_origin(node, &packed)?;
        self.send(node, packed)
    }

    /// Sends a leaf as it is.
    pub fn send(&mut self, node: NodeId, packed: Packed) -> Flow<()> {
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

    /// The key of an entry that may hold state: shown once something of the entry is.
    fn config_key(&mut self, node: NodeId, packed: Packed) -> Flow<()> {
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
