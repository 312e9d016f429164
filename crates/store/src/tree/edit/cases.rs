//! Choices: creating a node of one case deletes the nodes of the other cases (RFC 7950 §7.9).

use espalier_keyspace::KeyRange;
use espalier_yang::data::{DataNode, Operation};
use espalier_yang::schema::{CaseChoice, Node};
use espalier_yang::{ErrorTag, Keys, NodeId, Schema, Step};
use smallvec::SmallVec;

use super::apply::{EditApplier, ParentResource, TouchExtent};
use crate::error::Result;
use crate::fragment::Fragment;
use crate::keys::put_local_id;

/// The siblings of a node in other cases of a choice that it belongs to.
pub(in crate::tree) fn siblings_in_other_cases<'s>(
    schema: &'s Schema,
    node: &'s Node,
) -> impl Iterator<Item = NodeId> + 's {
    let siblings = node
        .parent
        .map_or(schema.roots(), |parent| &schema.node(parent).children);
    siblings
        .iter()
        .copied()
        .filter(move |&other| is_in_other_case(node, schema.node(other)))
}

/// Whether two siblings are in different cases of one choice.
fn is_in_other_case(node: &Node, other: &Node) -> bool {
    let pairs = node.cases.iter().zip(&other.cases);
    let differing = pairs
        .skip_while(|(mine, theirs)| mine == theirs)
        .map(|(mine, theirs)| mine.choice == theirs.choice);
    differing.take(1).any(|is_same_choice| is_same_choice)
}

/// Whether a node of an edit creates data. Deletions do not, nor do nodes with operation `none` without
/// created descendants. `inherited` is the operation of a node without its own.
fn creates(data: &DataNode, inherited: Operation) -> bool {
    let operation = data.operation().unwrap_or(inherited);
    match operation {
        Operation::Delete | Operation::Remove => false,
        Operation::None => {
            let mut children = data.children().iter();
            children.any(|child| creates(child, operation))
        }
        _ => true,
    }
}

impl EditApplier<'_> {
    /// Reports siblings that would create data of two cases of one choice (RFC 7950 §7.9): the last one
    /// would delete the others. Only deletions may belong to another case: returns their indexes.
    pub(super) fn check_cases(&mut self, nodes: &[DataNode], operation: Operation) -> Vec<usize> {
        let schema = self.schema();
        let mut deleting = Vec::new();
        let mut chosen: SmallVec<[(CaseChoice, NodeId); 4]> = SmallVec::new();
        for (index, data) in nodes.iter().enumerate() {
            let node = schema.node(data.node);
            if node.cases.is_empty() {
                continue;
            }
            if !creates(data, operation) {
                deleting.push(index);
                continue;
            }
            let mut cases = node.cases.iter();
            let other_case = cases.find_map(|case| {
                let mut chosen_cases = chosen.iter();
                match chosen_cases.find(|(chosen, _)| chosen.choice == case.choice) {
                    Some((chosen, other)) => {
                        (chosen.case != case.case).then_some((case.choice, *other))
                    }
                    None => {
                        chosen.push((case.clone(), data.node));
                        None
                    }
                }
            });
            if let Some((choice, other)) = other_case {
                let message = format!(
                    "'{}' and '{}' belong to two cases of the choice '{}'",
                    schema.node(other).name,
                    node.name,
                    schema.choices()[choice as usize].name,
                );
                self.path.steps.push(Step {
                    node: data.node,
                    keys: Keys::None,
                });
                self.fail_on(data, ErrorTag::BadElement, message);
                self.path.steps.pop();
            }
        }
        let is_in_other_case = |case: &CaseChoice| {
            let mut chosen = chosen.iter();
            chosen.any(|(chosen, _)| chosen.choice == case.choice && chosen.case != case.case)
        };
        deleting.retain(|&index| {
            schema
                .node(nodes[index].node)
                .cases
                .iter()
                .any(is_in_other_case)
        });
        deleting
    }

    /// Deletes stored nodes of other cases than that of `node`, which is about to be created.
    pub fn delete_other_cases(&mut self, resource: &ParentResource, node: &Node) -> Result<()> {
        if node.cases.is_empty()
            || resource.is_new && self.errors.is_empty() && !self.has_written(resource)
        {
            return Ok(());
        }
        self.delete_other_case_subtrees(resource, node)?;
        self.delete_other_case_leaves(resource, node)
    }

    fn has_written(&self, resource: &ParentResource) -> bool {
        self.overlay.writes_in(&KeyRange::prefix(&resource.key))
    }

    /// Deletes the containers and entries of other cases. Leaves have no keys of their own.
    pub fn delete_other_case_subtrees(
        &mut self,
        resource: &ParentResource,
        node: &Node,
    ) -> Result<()> {
        for other_case in siblings_in_other_cases(self.schema(), node) {
            let mut key = resource.key.clone();
            put_local_id(&mut key, self.compiled.layout.id(other_case));
            if self.state().any(&KeyRange::prefix(&key))? {
                self.clear(&key)?;
                self.touch(resource, TouchExtent::Within);
                self.touch_emptied(Some(other_case), &key);
            }
        }
        Ok(())
    }

    fn delete_other_case_leaves(&mut self, resource: &ParentResource, node: &Node) -> Result<()> {
        let Some(mut fragment) = self.fragment(resource)? else {
            return Ok(());
        };
        if self.remove_other_case_leaves(&mut fragment, node) {
            self.write_fragment(resource, &fragment);
        }
        Ok(())
    }

    /// Removes the leaves of other cases from a fragment; returns whether there were any.
    pub fn remove_other_case_leaves(&self, fragment: &mut Fragment, node: &Node) -> bool {
        let mut removed = false;
        for other_case in siblings_in_other_cases(self.schema(), node) {
            removed |= fragment.remove(self.compiled.layout.id(other_case));
        }
        removed
    }
}
