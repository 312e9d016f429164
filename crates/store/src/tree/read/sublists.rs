//! The limit of the entries of lists and leaf-lists below the target (`sublist-limit`, draft-ietf-netconf-list-pagination
//! §3.2).

use espalier_yang::data::Stop;
use espalier_yang::{Instances, Keys, Mark, NodeId, Sink, Value};

use super::super::pages::remaining_annotation;
use super::super::selection::{Content, Selection};
use super::super::validate::{Indexes, StoreInstances, are_indexes_current};
use super::frame::{ReadResult, ResourceReader};
use super::resource::read;

impl ResourceReader<'_> {
    /// Whether as many entries of a list below the innermost frame were sent as the selection allows.
    pub fn is_sublist_full(&self, list: NodeId) -> bool {
        let Some(limit) = self.limit_of(list) else {
            return false;
        };
        let count = match self.frames.last() {
            Some(frame) => &frame.sublist,
            None => &self.outer_sublist,
        };
        count.of(list) >= limit
    }

    /// The limit of a child of the innermost frame.
    fn limit_of(&self, list: NodeId) -> Option<u64> {
        let limit = self.selection.sublist_limit?;
        let node = self.state.schema().node(list);
        let is_limited = (node.is_list() || node.is_leaf_list()) && self.paged_list != Some(list);
        is_limited.then_some(limit)
    }

    /// Counts a frame that is about to be sent, if it is an entry.
    pub fn count_entry_frame(&mut self, index: usize) -> ReadResult<()> {
        let node = self.frames[index].node;
        self.count_sublist_entry(node, index)
    }

    /// Counts a value that is about to be sent, if it is an entry.
    pub fn count_value(&mut self, node: NodeId) -> ReadResult<()> {
        self.count_sublist_entry(node, self.frames.len())
    }

    /// Counts an entry of a list in the frame before `index`. The first one is annotated if others are cut.
    fn count_sublist_entry(&mut self, list: NodeId, index: usize) -> ReadResult<()> {
        let Some(limit) = self.limit_of(list) else {
            return Ok(());
        };
        let parent = index.checked_sub(1);
        let count = match parent {
            Some(parent) => &mut self.frames[parent].sublist,
            None => &mut self.outer_sublist,
        };
        count.add(list);
        if count.of(list) != 1 {
            return Ok(());
        }
        let length = parent.map_or(self.outer_length, |parent| self.frames[parent].length);
        let parent_key = self.key[..length].to_vec();
        if let Some(remaining) = self.cut_entries(&parent_key, list, limit)? {
            self.sink.annotate(vec![remaining_annotation(remaining)])?;
        }
        Ok(())
    }

    /// Whether more entries of a list would be sent than the limit; with the number of the others, if it is known.
    fn cut_entries(
        &self,
        parent: &[u8],
        list: NodeId,
        limit: u64,
    ) -> ReadResult<Option<Option<u64>>> {
        let state = self.state;
        let is_selected = self.filter.is_none() || self.is_whole() || self.names_all_of(list);
        if !is_selected {
            return Ok(None);
        }
        let is_kept = self.access.is_none()
            && self.sources.is_none()
            && self.selection.content == Content::All
            && state.compiled.plan().is_counted(list)
            && are_indexes_current(state.compiled, state.tree, state.snapshot)?;
        if is_kept {
            let data = StoreInstances::new(state, Indexes::Current);
            if let Some(parent) = data.node_ref_at(parent)? {
                let count = data.count(&parent, list)?;
                return Ok((count > limit).then_some(Some(count - limit.min(count))));
            }
        }
        let trail = state.trail(parent)?.unwrap_or_default();
        let path = state.path_of(parent, &trail)?.child(list, Keys::None);
        let all = Selection {
            content: self.selection.content,
            with_defaults: self.selection.with_defaults,
            depth: (self.selection.content != Content::NonConfig).then_some(1),
            ..Selection::default()
        };
        let mut entries = EntriesBeyond { limit, depth: 0 };
        let table = self.access_table();
        read(state, self.sources, &path, &all, table, &mut entries)?;
        Ok((entries.limit == u64::MAX).then_some(None))
    }
}

/// Stops at the first entry beyond a limit.
struct EntriesBeyond {
    /// The number of entries left; [`u64::MAX`] if there was one more.
    limit: u64,
    depth: usize,
}

impl EntriesBeyond {
    fn entry(&mut self) -> Result<(), Stop> {
        if self.depth > 0 {
            return Ok(());
        }
        match self.limit.checked_sub(1) {
            Some(left) => {
                self.limit = left;
                Ok(())
            }
            None => {
                self.limit = u64::MAX;
                Err(Stop)
            }
        }
    }
}

impl Sink for EntriesBeyond {
    fn open(&mut self, _: NodeId, _: Mark) -> Result<(), Stop> {
        self.entry()?;
        self.depth += 1;
        Ok(())
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> Result<(), Stop> {
        self.entry()
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> Result<(), Stop> {
        Ok(())
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        self.depth -= 1;
        Ok(())
    }
}
