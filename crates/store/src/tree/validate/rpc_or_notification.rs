//! Validates the input or output of an operation, or a notification.

use espalier_yang::data::{DataTree, TreeInstances, WithOperation};
use espalier_yang::validate::{validate_operation, with_operation_defaults};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{DataError, ErrorTag, InstancePath, NodeId};

use super::index::are_indexes_current;
use super::instances::{Indexes, StoreInstances};
use crate::error::Result;
use crate::tree::View;

impl View {
    /// Validates the input or output of an operation, or a notification (RFC 7950 §8.3.1) against this
    /// state, which its references and conditions may refer to. `context` is the node of an action or
    /// notification (the root for others); `node` is the input, output or notification, which is the top
    /// node of `tree` (or missing if empty). Returns it with the defaults that are in use.
    ///
    /// # Errors
    /// [`crate::Error::Data`] with every violation; `data-missing` if `context` does not exist.
    pub fn validate_operation(
        &self,
        context: &InstancePath,
        node: NodeId,
        tree: &DataTree,
    ) -> Result<DataTree> {
        let state = self.state();
        let indexes = match are_indexes_current(state.compiled, state.tree, state.snapshot)? {
            true => Indexes::Current,
            false => Indexes::Missing,
        };
        let data = StoreInstances::new(state, indexes);
        let located = match self.exists(context)? {
            true => state.locate(context)?,
            false => None,
        };
        let place = located.map(|located| data.node_ref_at(&located.key));
        let Some(place) = place.transpose()?.flatten() else {
            let path = context.to_instance_identifier(state.schema());
            let message = "the target node of the operation does not exist";
            return Err(DataError::new(ErrorTag::DataMissing, message)
                .at(path)
                .into());
        };
        let operation = TreeInstances::new(state.schema(), tree);
        let whole = WithOperation::new(&data, place, &operation);
        let from = whole.operation(node);
        let plan = state.compiled.plan();
        let errors = validate_operation(plan, &whole, &from, Limits::default())?;
        errors.into_result()?;
        with_operation_defaults(&whole, &from, node, tree)
    }
}
