//! Authorises a change: the access rules of its author against the nodes that it changes.

use std::sync::Arc;

use espalier_yang::data::DataNode;
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Schema};

use super::changes::{ChangeKind, Comparison, NodeChange, each_node_change};
use super::edit::Edit;
use super::tree::Tree;
use crate::access::{AccessOperation, AccessTable};
use crate::error::{Error, Result};

/// What a user can do with a node.
const OPERATIONS_ON_DATA: [AccessOperation; 4] = [
    AccessOperation::Read,
    AccessOperation::Create,
    AccessOperation::Update,
    AccessOperation::Delete,
];

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
                let error = denied(access, self.schema(), operation, change);
                // The number of hidden nodes is hidden too.
                if error.path.is_empty() && errors.iter().any(|known| known.path.is_empty()) {
                    return Ok(());
                }
                errors.push(error);
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
    schema: &Schema,
    operation: AccessOperation,
    change: &NodeChange,
) -> DataError {
    match access.allows(AccessOperation::Read, &change.path) {
        true => {
            let message = format!("access denied: {}", operation.name());
            let error = DataError::new(ErrorTag::AccessDenied, message);
            error.at(change.path.to_instance_identifier(schema))
        }
        false => hidden(),
    }
}

/// The error of a change of a node that the user cannot read: the same whether the node exists or not.
fn hidden() -> DataError {
    DataError::new(ErrorTag::AccessDenied, "access denied")
}

/// Rejects edits that name a node which the user can neither read nor change. Without this, an edit that changes nothing
/// would succeed, and show that the node exists with this value.
///
/// # Errors
/// `access-denied`.
pub(super) fn authorise_named_nodes(
    access: Option<&Arc<AccessTable>>,
    schema: &Schema,
    edits: &[Edit],
) -> Result<()> {
    let Some(access) = access.filter(|access| !access.reads_all()) else {
        return Ok(());
    };
    for (number, edit) in edits.iter().enumerate() {
        let known = match edit.data() {
            Some(data) => named(access, schema, &edit.at, &data.nodes),
            None => require_known(access, &edit.at),
        };
        known.map_err(|error| match error {
            Error::Data(errors) => Error::Data(errors.of_edit(number)),
            error => error,
        })?;
    }
    Ok(())
}

fn named(
    access: &AccessTable,
    schema: &Schema,
    parent: &InstancePath,
    nodes: &[DataNode],
) -> Result<()> {
    for data in nodes {
        let node = schema.node(data.node);
        // A key is part of its entry.
        if node.as_value().is_some_and(|value| value.is_key) {
            continue;
        }
        let path = parent.child(data.node, data.instance(schema));
        // A container without presence has no existence of its own, unless it is what the edit is about.
        if !node.is_np_container() || data.children().is_empty() || data.operation().is_some() {
            require_known(access, &path)?;
        }
        named(access, schema, &path, data.children())?;
    }
    Ok(())
}

fn require_known(access: &AccessTable, path: &InstancePath) -> Result<()> {
    let may = |&operation: &AccessOperation| access.allows(operation, path);
    match path.is_root() || OPERATIONS_ON_DATA.iter().any(may) {
        true => Ok(()),
        false => Err(hidden().into()),
    }
}
