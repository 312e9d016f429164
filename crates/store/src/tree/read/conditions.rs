//! Content match nodes of a subtree filter (RFC 6241 §6.2.5).
//!
//! A condition is compared with what the reader may see: a leaf that the access rules hide, or that the with-defaults mode
//! leaves out, has no value.

use espalier_keyspace::KeyRange;
use espalier_yang::{Instances, NodeId, Value};

use super::super::filter::ContentCondition;
use super::frame::{ReadResult, ResourceReader};
use super::frame_filter::Child;
use super::node_access::NodeAccess;
use crate::fragment::{Packed, Reader};
use crate::keys::put_local_id;

/// The instance whose leaves conditions are about.
struct Holder<'h> {
    key: &'h [u8],
    /// Its stored leaves.
    row: Option<&'h [u8]>,
    access: NodeAccess,
    /// The level of its leaves among the frames.
    depth: usize,
}

impl ResourceReader<'_> {
    /// Whether conditions hold for a child of the innermost frame.
    pub fn fulfils(
        &mut self,
        conditions: &[ContentCondition],
        child: &Child<'_>,
    ) -> ReadResult<bool> {
        let holder = Holder {
            key: child.key,
            row: child.row,
            access: child.access,
            depth: self.frames.len() + 1,
        };
        self.all_hold(conditions, &holder)
    }

    /// Whether conditions hold for the datastore.
    pub fn fulfils_at_root(
        &mut self,
        conditions: &[ContentCondition],
        root: &[u8],
        access: NodeAccess,
    ) -> ReadResult<bool> {
        let row = self.state.snapshot.get(root)?;
        let holder = Holder {
            key: root,
            row: row.as_deref(),
            access,
            depth: 0,
        };
        self.all_hold(conditions, &holder)
    }

    fn all_hold(
        &mut self,
        conditions: &[ContentCondition],
        holder: &Holder<'_>,
    ) -> ReadResult<bool> {
        for ContentCondition(alternatives) in conditions {
            let mut holds = false;
            for (node, value) in alternatives {
                holds = holds || self.has_value(*node, value, holder)?;
            }
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the reader sees this value of a leaf or leaf-list.
    fn has_value(&mut self, node: NodeId, value: &Value, holder: &Holder<'_>) -> ReadResult<bool> {
        let is_there = match self.state.schema().node(node).is_leaf_list() {
            true => self.leaf_list_has(node, value, holder)?,
            false => self.leaf_has(node, value, holder)?,
        };
        // The keys of an entry are shown with everything that is shown of it.
        let is_seen = is_there
            && (self.is_key(node)
                || self.shows_value_in((holder.access, holder.depth), node, Some(value)));
        Ok(is_seen)
    }

    fn leaf_has(&self, node: NodeId, value: &Value, holder: &Holder<'_>) -> ReadResult<bool> {
        let id = self.state.layout().id(node);
        let stored = match holder.row {
            Some(row) => Reader::new(row).find(id)?,
            None => None,
        };
        match stored {
            Some(packed) => {
                let is_value = matches!(&packed, Packed::Value(own) if own == value);
                Ok(is_value && !self.is_trimmed(node, &packed))
            }
            None => self.default_has(node, value, holder),
        }
    }

    fn leaf_list_has(&self, node: NodeId, value: &Value, holder: &Holder<'_>) -> ReadResult<bool> {
        let mut list = holder.key.to_vec();
        put_local_id(&mut list, self.state.layout().id(node));
        if !self.state.any(&KeyRange::strictly_below(&list))? {
            return self.default_has(node, value, holder);
        }
        self.with_instances(|evaluator| {
            let data = evaluator.data();
            match data.node_ref_at(holder.key)? {
                Some(place) => data.has_value(&place, node, value),
                None => Ok(false),
            }
        })
    }

    /// Whether a value is the reported default of a leaf, or one of those of a leaf-list, that is not set.
    fn default_has(&self, node: NodeId, value: &Value, holder: &Holder<'_>) -> ReadResult<bool> {
        let leaf = self.state.schema().node(node).as_value();
        let is_default = leaf.is_some_and(|leaf| leaf.defaults.contains(value));
        if !self.reports_defaults || !is_default {
            return Ok(false);
        }
        self.with_instances(
            |evaluator| match evaluator.data().node_ref_at(holder.key)? {
                Some(place) => evaluator.is_in_use(&place, node),
                None => Ok(false),
            },
        )
    }
}
