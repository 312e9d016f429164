//! Authorises a change: the access rules of its author against the nodes that it changes.

use espalier_yang::{DataError, ErrorTag, Errors};

use super::changes::{ChangeKind, Comparison, NodeChange, each_node_change};
use super::tree::Tree;
use crate::access::{AccessOperation, AccessTable};
use crate::error::Result;

/// The maximum number of nodes that an `access-denied` error lists.
pub(super) const DENIED_NODES_MAX: usize = 100;

impl Tree {
    /// Requires that rules allow every change of a node: its creation, update (also of its place in a list) or deletion
    /// (RFC 8341 §3.2.3). Non-presence containers have no existence of their own, and the keys of an entry are part of
    /// it: neither is decided on separately.
    ///
    /// Called before subscribers add edits and before validation removes nodes whose `when` became false: these are
    /// acts of the server. The data of the cases that a new case replaces is deleted by the edit itself.
    ///
    /// # Errors
    /// `access-denied` for each node, up to [`DENIED_NODES_MAX`]; with its path only if it can be read.
    pub(super) fn authorise_changes(
        &self,
        access: Option<&AccessTable>,
        comparison: Comparison<'_>,
    ) -> Result<()> {
        let Some(access) = access.filter(|access| !access.writes_all()) else {
            return Ok(());
        };
        let mut errors = Errors::new();
        each_node_change(comparison, &mut |change| {
            let operation = operation_of(change);
            if !access.allows(operation, &change.path) {
                errors.push(denied(access, self.schema(), operation, change));
                if errors.len() >= DENIED_NODES_MAX {
                    return Err(std::mem::take(&mut errors).into());
                }
            }
            Ok(())
        })?;
        Ok(errors.into_result()?)
    }
}

fn operation_of(change: &NodeChange) -> AccessOperation {
    match change.kind {
        ChangeKind::Created => AccessOperation::Create,
        ChangeKind::Deleted => AccessOperation::Delete,
        ChangeKind::Modified | ChangeKind::Moved => AccessOperation::Update,
    }
}

fn denied(
    access: &AccessTable,
    schema: &espalier_yang::Schema,
    operation: AccessOperation,
    change: &NodeChange,
) -> DataError {
    let message = format!("access denied: {}", operation.name());
    let error = DataError::new(ErrorTag::AccessDenied, message);
    match access.allows(AccessOperation::Read, &change.path) {
        true => error.at(change.path.to_instance_identifier(schema)),
        false => error,
    }
}
