//! Choices: creating a node of one case deletes the nodes of the others (RFC 7950 §7.9).

use espalier_keyspace::KeyRange;
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, Schema};

use super::apply::{Applying, Around, Touch};
use crate::error::Result;
use crate::fragment::Fragment;
use crate::keys::put_local_id;

/// The siblings of a node that belong to other cases of a choice it is in.
pub(in crate::tree) fn rivals<'s>(
    schema: &'s Schema,
    node: &'s Node,
) -> impl Iterator<Item = NodeId> + 's {
    let siblings = node
        .parent
        .map_or(schema.roots(), |parent| &schema.node(parent).children);
    siblings
        .iter()
        .copied()
        .filter(move |&other| is_rival(node, schema.node(other)))
}

/// Whether two siblings are in different cases of one choice.
fn is_rival(node: &Node, other: &Node) -> bool {
    let pairs = node.cases.iter().zip(&other.cases);
    let differing = pairs
        .skip_while(|(mine, theirs)| mine == theirs)
        .map(|(mine, theirs)| mine.choice == theirs.choice);
    differing.take(1).any(|is_same_choice| is_same_choice)
}

impl Applying<'_> {
    /// Deletes what is stored in other cases than that of `node`, which is about to be created.
    pub fn clear_rivals(&mut self, around: &Around, node: &Node) -> Result<()> {
        if node.cases.is_empty()
            || around.is_new && self.errors.is_empty() && !self.has_written(around)
        {
            return Ok(());
        }
        self.clear_rival_subtrees(around, node)?;
        self.clear_rival_leaves(around, node)
    }

    fn has_written(&self, around: &Around) -> bool {
        self.overlay.writes_in(&KeyRange::prefix(&around.key))
    }

    /// Deletes the containers and entries of other cases. Leaves have no keys of their own.
    pub fn clear_rival_subtrees(&mut self, around: &Around, node: &Node) -> Result<()> {
        for rival in rivals(self.schema(), node) {
            let mut key = around.key.clone();
            put_local_id(&mut key, self.compiled.layout.id(rival));
            if self.state().any(&KeyRange::prefix(&key))? {
                self.clear(&key)?;
                self.touch(around, Touch::Within);
                self.touch_emptied(Some(rival), &key);
            }
        }
        Ok(())
    }

    fn clear_rival_leaves(&mut self, around: &Around, node: &Node) -> Result<()> {
        let Some(mut fragment) = self.fragment(around)? else {
            return Ok(());
        };
        if self.remove_rivals(&mut fragment, node) {
            self.write_fragment(around, &fragment);
        }
        Ok(())
    }

    /// Removes the leaves of other cases from a fragment; whether there were any.
    pub fn remove_rivals(&self, fragment: &mut Fragment, node: &Node) -> bool {
        let mut removed = false;
        for rival in rivals(self.schema(), node) {
            removed |= fragment.remove(self.compiled.layout.id(rival));
        }
        removed
    }
}
