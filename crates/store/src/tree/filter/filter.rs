//! The filter of a read.

use espalier_yang::Schema;
use espalier_yang::data::subtree_filter::SubtreeFilter;

use super::expression::FilterExpression;
use super::plan::Plan;
use super::plan_path::{plan_path, plan_reads};
use super::plan_subtree::plan_subtree;
use crate::error::Result;

/// What a read of a datastore selects (RFC 6241 §6, §8.9).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Filter {
    /// Everything.
    #[default]
    All,
    /// What a subtree filter selects.
    Subtree(SubtreeFilter),
    /// The nodes that an expression selects, with everything below them.
    XPath(FilterExpression),
}

impl Filter {
    /// The plan; `None` for an expression that must be evaluated.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
    pub(in crate::tree) fn plan(&self, schema: &Schema) -> Result<Option<Plan>> {
        match self {
            Self::All => Ok(Some(Plan::everything())),
            Self::Subtree(filter) => plan_subtree(schema, filter).map(Some),
            Self::XPath(filter) => plan_path(schema, &filter.expression().root),
        }
    }

    /// A plan of what the evaluation of an expression may read, and more.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
    pub(in crate::tree) fn reads(schema: &Schema, expression: &FilterExpression) -> Result<Plan> {
        plan_reads(schema, &expression.expression().root)
    }
}
