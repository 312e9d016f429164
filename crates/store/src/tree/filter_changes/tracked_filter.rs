//! A filter with its plan.

use std::sync::Arc;

use espalier_yang::{DataError, ErrorTag, Schema, Sink};

use crate::error::Result;
use crate::tree::filter::{Filter, Plan};
use crate::tree::selection::Selection;
use crate::tree::view::View;

/// A filter of the data of one schema, whose changes are followed.
#[derive(Clone, Debug)]
pub struct TrackedFilter {
    schema: Arc<Schema>,
    filter: Filter,
    selection: Selection,
    /// What it selects; if it must be evaluated, what an evaluation may read.
    plan: Plan,
    is_evaluated: bool,
}

impl TrackedFilter {
    /// Plans a filter. Of the selection, the with-defaults mode and the content apply.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](crate::FILTER_PLAN_NODES_MAX).
    pub fn new(schema: &Arc<Schema>, filter: Filter, selection: Selection) -> Result<Self> {
        let exact = filter.plan(schema)?;
        let is_evaluated = exact.is_none();
        let plan = match (exact, &filter) {
            (Some(plan), _) => plan,
            (None, Filter::XPath(expression)) => Filter::reads(schema, expression)?,
            (None, _) => Plan::everything(),
        };
        Ok(Self {
            schema: Arc::clone(schema),
            filter,
            selection,
            plan,
            is_evaluated,
        })
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether it can select nothing of any data.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// Sends what it selects of a view, as [`View::read_filtered`].
    ///
    /// # Errors
    /// As there; `operation-failed` if the view has another schema.
    pub fn read(&self, view: &View, sink: &mut dyn Sink) -> Result<()> {
        self.check(view)?;
        view.read_filtered(&self.filter, &self.selection, sink)
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Whether a change anywhere in the plan can affect everything.
    pub(super) fn is_evaluated(&self) -> bool {
        self.is_evaluated
    }

    pub(super) fn check(&self, view: &View) -> Result<()> {
        match Arc::ptr_eq(view.schema(), &self.schema) {
            true => Ok(()),
            false => {
                let message = "the filter is of other modules than the data";
                Err(DataError::new(ErrorTag::OperationFailed, message).into())
            }
        }
    }
}
