//! `unique` (RFC 7950 §7.8.3): no two entries of a list have the same values in some leaves.

use std::ops::ControlFlow;

use super::checker::Checker;
use super::plan::Rule;
use super::route::chain;
use crate::error::{DataError, ErrorTag};
use crate::instances::{Indexed, Instances};
use crate::path::Keys;
use crate::schema::NodeId;
use crate::value::Value;
use crate::xpath::evaluate::Item;

impl<T: Instances> Checker<'_, T> {
    /// Compares an entry with the entries that have the same values.
    pub fn unique(&mut self, rule: &Rule, index: usize, entry: &T::Inner) -> Result<(), T::Error> {
        let Some(list) = rule.node else {
            return Ok(());
        };
        let (Some(leaves), Some(parent)) = (
            self.schema()
                .node(list)
                .as_list()
                .map(|node| &node.unique[index]),
            self.data.parent(entry),
        ) else {
            return Ok(());
        };
        let Some(values) = self.unique_values(list, leaves, entry)? else {
            return Ok(());
        };
        let mut duplicate = None;
        let mut compare = |other: T::Inner| {
            let is_duplicate = other != *entry
                && self.unique_values(list, leaves, &other)?.as_ref() == Some(&values);
            Ok(match is_duplicate {
                true => {
                    duplicate = Some(other);
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            })
        };
        let indexed = self
            .data
            .find_entries(&parent, list, index, &values, &mut compare)?;
        if indexed == Indexed::No {
            self.data.entries(&parent, list, &mut compare)?;
        }
        let Some(duplicate) = duplicate else {
            return Ok(());
        };
        let path = self.data.path(&duplicate)?;
        let path = path.to_instance_identifier(self.schema());
        let names: Vec<&str> = leaves
            .iter()
            .map(|&leaf| &*self.schema().node(leaf).name)
            .collect();
        let message = format!("{path} has the same {}", names.join(" and "));
        let of_entry = self.data.path(entry)?;
        let non_unique = leaves.iter().map(|&leaf| {
            let nodes = chain(self.schema(), Some(list), Some(leaf)).unwrap_or_default();
            let nodes = nodes.into_iter();
            let path = nodes.fold(of_entry.clone(), |path, node| path.child(node, Keys::None));
            path.to_instance_identifier(self.schema())
        });
        let error = DataError::new(ErrorTag::OperationFailed, message)
            .with_app_tag("data-not-unique")
            .of_leaves(non_unique.collect());
        self.report(&Item::Inner(entry.clone()), error)
    }

    /// The values of an entry, including defaults in use; `None` if one is missing.
    fn unique_values(
        &self,
        list: NodeId,
        leaves: &[NodeId],
        entry: &T::Inner,
    ) -> Result<Option<Vec<Value>>, T::Error> {
        let mut values = Vec::with_capacity(leaves.len());
        for &leaf in leaves {
            let nodes = chain(self.schema(), Some(list), Some(leaf)).unwrap_or_default();
            let mut holder = entry.clone();
            for &container in &nodes[..nodes.len().saturating_sub(1)] {
                holder = self.data.container(&holder, container);
            }
            match self.evaluator.leaf(&holder, leaf)? {
                Some((value, _)) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }
}
