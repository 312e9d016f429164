//! Scans a range and converts its rows to events.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, NodeKind};

use super::frame::{NewFrame, ReadResult, ResourceReader, Stored};
use super::frame_filter::{Child, Match, Skip};
use crate::error::Result;
use crate::fragment::{Packed, Reader, take_entry_value};
use crate::keys::{skip_key_values, take_local_id};
use crate::position::Position;

impl ResourceReader<'_> {
    /// Sends every selected node of a range, and closes all frames.
    pub fn scan(&mut self, range: &KeyRange) -> ReadResult<()> {
        let state = self.state;
        let mut cursor = state.snapshot.scan(range, Direction::Forward)?;
        let mut skipped = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            match self.visit_key(key, value)? {
                None => {}
                Some(Skip::To(next)) => cursor.seek(&next)?,
                Some(Skip::Subtree(length)) => {
                    skipped.clear();
                    skipped.extend_from_slice(&key[..length]);
                    match KeyRange::prefix(&skipped).end {
                        Some(end) => cursor.seek(&end)?,
                        None => break,
                    }
                }
            }
        }
        while !self.frames.is_empty() {
            self.pop()?;
        }
        Ok(())
    }

    /// Visits one key of the range. Returns where the scan continues if the key starts an unselected subtree.
    fn visit_key(&mut self, key: &[u8], value: &[u8]) -> ReadResult<Option<Skip>> {
        self.leave_frames(key)?;
        self.load_sources(key)?;
        let (mut parent, mut at) = match self.frames.last() {
            Some(frame) => (Some(frame.node), frame.length),
            None => (self.outer, self.outer_length),
        };
        while at < key.len() {
            let mut rest = &key[at..];
            let id = take_local_id(&mut rest)?;
            let after_id = key.len() - rest.len();
            let Some(child) = self.state.layout().child(parent, id) else {
                return Ok(Some(Skip::Subtree(after_id)));
            };
            let node = self.state.schema().node(child);
            let is_selected = self.descends(node);
            if !is_selected || self.is_child_denied(child) {
                self.record_child(child);
                return Ok(Some(
                    self.skip(&key[..after_id], !is_selected && !self.names(child)),
                ));
            }
            if self.is_sublist_full(child) {
                self.record_child(child);
                return Ok(Some(Skip::Subtree(after_id)));
            }
            skip_entry(node, &mut rest)?;
            at = key.len() - rest.len();
            if node.is_leaf_list() {
                if let Some(skip) = self.match_entry(node, &key[..at], after_id, value)? {
                    self.record_child(child);
                    return Ok(Some(skip));
                }
                self.leaf(child, Packed::Value(take_entry_value(value)?))?;
                return Ok(None);
            }
            let Some(access) = self.access_of(node, &key[..at], after_id)? else {
                self.record_child(child);
                return Ok(Some(Skip::Subtree(at)));
            };
            let matched = match self.match_child(&Child {
                node,
                key: &key[..at],
                list: after_id,
                row: (at == key.len()).then_some(value),
                access,
            })? {
                Match::Enter(matched) => matched,
                Match::Skip(skip) => {
                    self.record_child(child);
                    return Ok(Some(skip));
                }
            };
            self.push(NewFrame {
                node: child,
                key: &key[..at],
                stored: Stored::Yes,
                access,
                matched,
            })?;
            parent = Some(child);
        }
        self.fragment(parent, value)?;
        Ok(None)
    }

    /// Sends the leaves of the innermost frame.
    fn fragment(&mut self, parent: Option<NodeId>, value: &[u8]) -> ReadResult<()> {
        let state = self.state;
        for leaf in Reader::new(value) {
            let (id, packed) = leaf?;
            if let Some(node) = state.layout().child(parent, id) {
                self.leaf(node, packed)?;
            }
        }
        Ok(())
    }
}

/// Skips the part of a key that identifies an entry of a list or leaf-list; containers have none.
pub(crate) fn skip_entry(node: &Node, rest: &mut &[u8]) -> Result<()> {
    match &node.kind {
        NodeKind::List(_) | NodeKind::LeafList(_) if node.is_positional() => Position::skip(rest),
        NodeKind::List(list) => skip_key_values(rest, list.keys.len()),
        NodeKind::LeafList(_) => skip_key_values(rest, 1),
        _ => Ok(()),
    }
}
