//! Reports origins (RFC 8342 §5.3.4) as annotations.
//!
//! A configuration node without an annotation has the origin of its parent, so only topmost nodes and
//! differing origins are annotated. State data has no origin. A topmost non-presence container is annotated with
//! the origin of its first content.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::NodeId;
use espalier_yang::data::{Annotation, Origin};
use espalier_yang::schema::Node;

use super::super::selection::{OriginFilter, WithOrigin};
use super::frame::{ReadResult, ResourceReader};
use crate::error::Result;
use crate::fragment::{Packed, Reader};
use crate::keys::LocalId;

/// The data of one source of the operational state datastore at a key.
pub(in crate::tree) struct Source {
    /// The stored value.
    pub value: Vec<u8>,
    /// The origin of the node.
    pub origin: Origin,
    /// The origins of leaves that differ.
    pub leaves: Vec<(LocalId, Origin)>,
}

impl Source {
    /// A source whose leaves all have the origin of the node.
    pub fn of(value: Vec<u8>, origin: Origin) -> Self {
        let leaves = Vec::new();
        Self {
            value,
            origin,
            leaves,
        }
    }

    fn origin_of(&self, id: LocalId) -> Origin {
        let own = self.leaves.iter().find(|(other, _)| *other == id);
        own.map_or(self.origin, |(_, origin)| *origin)
    }

    fn leaf(&self, id: LocalId) -> Result<Option<Packed>> {
        for leaf in Reader::new(&self.value) {
            let (other, packed) = leaf?;
            if other == id {
                return Ok(Some(packed));
            }
        }
        Ok(None)
    }
}

/// A state merged from several sources.
pub(in crate::tree) trait Sources: Snapshot {
    /// The data of each source at a key, the lowest first.
    fn sources(&self, key: &[u8]) -> Result<Vec<Source>>;

    /// Itself.
    fn as_snapshot(&self) -> &dyn Snapshot;
}

impl ResourceReader<'_> {
    /// Whether the origin of a node is reported, or compared with a filter.
    fn needs_origin(&self, node: NodeId) -> bool {
        self.needs_origins() && self.state.schema().node(node).is_config
    }

    fn needs_origins(&self) -> bool {
        let is_shown = self.selection.with_origin == WithOrigin::Shown;
        self.sources.is_some() && (is_shown || self.filters_origins())
    }

    /// Whether nodes are filtered by their origin.
    pub fn filters_origins(&self) -> bool {
        self.sources.is_some() && self.selection.origins != OriginFilter::All
    }

    /// Whether a node with this origin passes the filter of origins; state data has none and always does.
    pub fn passes_origin(&self, node: &Node, origin: Origin) -> bool {
        !self.filters_origins() || !node.is_config || self.selection.origins.passes(origin)
    }

    /// As [`Self::passes_origin`], for a leaf or leaf-list entry of the innermost frame.
    pub fn leaf_passes_origin(&self, node: NodeId, packed: &Packed) -> Result<bool> {
        if !self.filters_origins() {
            return Ok(true);
        }
        let inherited = self.frames.last().and_then(|frame| frame.origin);
        let origin = match self.is_key(node) {
            true => inherited.unwrap_or_default(),
            false => self.origin_of_leaf(node, packed)?,
        };
        Ok(self.passes_origin(self.state.schema().node(node), origin))
    }

    /// The origin of a leaf or leaf-list entry at the current key.
    fn origin_of_leaf(&self, node: NodeId, packed: &Packed) -> Result<Origin> {
        match self.state.schema().node(node).is_leaf_list() {
            true => {
                let first = self.sources_at_key.first();
                Ok(first.map(|source| source.origin).unwrap_or_default())
            }
            false => leaf_origin(&self.sources_at_key, self.state.layout().id(node), packed),
        }
    }

    fn shows_origin(&self, node: NodeId) -> bool {
        self.needs_origin(node) && self.selection.with_origin == WithOrigin::Shown
    }

    /// Loads the data of the sources at the current key.
    pub fn load_sources(&mut self, key: &[u8]) -> Result<()> {
        if let Some(sources) = self.sources
            && self.needs_origins()
        {
            self.sources_at_key = sources.sources(key)?;
        }
        Ok(())
    }

    /// The origin of a container or entry, if it must be annotated, and the origin that its children
    /// inherit.
    pub fn origin_of_frame(
        &mut self,
        node: NodeId,
        key: &[u8],
        length: usize,
    ) -> Result<(Option<Origin>, Option<Origin>)> {
        let inherited = self.frames.last().and_then(|frame| frame.origin);
        if !self.needs_origin(node) {
            return Ok((None, inherited));
        }
        let is_np_container = self.state.schema().node(node).is_np_container();
        if is_np_container && inherited.is_some() {
            return Ok((None, inherited));
        }
        let own = match is_np_container {
            false => self.node_origin(&key[..length])?,
            true => self.first_origin(node, &key[..length])?,
        };
        let is_shown = self.selection.with_origin == WithOrigin::Shown;
        let own_annotation = (is_shown && inherited != Some(own)).then_some(own);
        Ok((own_annotation, Some(own)))
    }

    /// The origin of the node at a key: that of the lowest source that has it.
    fn node_origin(&self, key: &[u8]) -> Result<Origin> {
        let Some(sources) = self.sources else {
            return Ok(Origin::default());
        };
        let present = sources.sources(key)?;
        Ok(present
            .first()
            .map_or(Origin::Default, |source| source.origin))
    }

    /// The origin of the first content of a non-presence container.
    fn first_origin(&self, node: NodeId, key: &[u8]) -> Result<Origin> {
        let range = KeyRange::prefix(key);
        let mut cursor = self.state.snapshot.scan(&range, Direction::Forward)?;
        let Some((first, value)) = cursor.next()? else {
            return Ok(Origin::Default);
        };
        let Some(sources) = self.sources.filter(|_| first == key) else {
            return self.node_origin(first);
        };
        let present = sources.sources(key)?;
        let schema = self.state.schema();
        for leaf in Reader::new(value) {
            let (id, packed) = leaf?;
            let child = self.state.layout().child(Some(node), id);
            if child.is_some_and(|child| schema.node(child).is_config) {
                return leaf_origin(&present, id, &packed);
            }
        }
        Ok(present
            .first()
            .map_or(Origin::Default, |source| source.origin))
    }

    /// Annotates the origin of the next leaf or leaf-list entry if it differs from that of its parent.
    pub fn annotate_leaf_origin(&mut self, node: NodeId, packed: &Packed) -> ReadResult<()> {
        if !self.shows_origin(node) || self.is_key(node) {
            return Ok(());
        }
        let origin = self.origin_of_leaf(node, packed)?;
        self.annotate_inherited_origin(origin)
    }

    /// Annotates a default value.
    pub fn annotate_default_origin(&mut self, node: NodeId) -> ReadResult<()> {
        if self.shows_origin(node) {
            self.annotate_inherited_origin(Origin::Default)?;
        }
        Ok(())
    }

    fn annotate_inherited_origin(&mut self, origin: Origin) -> ReadResult<()> {
        let inherited = self.frames.last().and_then(|frame| frame.origin);
        if inherited != Some(origin) {
            self.sink.annotate(vec![Annotation::Origin(origin)])?;
        }
        Ok(())
    }
}

/// The origin of a leaf: that of the lowest source with the value in use.
fn leaf_origin(sources: &[Source], id: LocalId, in_use: &Packed) -> Result<Origin> {
    for source in sources {
        if source.leaf(id)?.as_ref() == Some(in_use) {
            return Ok(source.origin_of(id));
        }
    }
    Ok(Origin::default())
}
