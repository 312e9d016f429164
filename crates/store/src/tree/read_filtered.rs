//! Reads of a datastore with a filter.

use espalier_yang::Sink;

use super::filter::{Filter, Plan};
use super::operational::ProviderReach;
use super::query::selected_nodes;
use super::read::FilteredRead;
use super::selection::{Selection, WithDefaults};
use super::view::View;
use crate::error::Result;

impl View {
    /// Sends what a filter selects (RFC 6241 §6, §8.9), in the order of the datastore: each node once, with its ancestors
    /// and the keys of all entries on the way. Nothing if it selects nothing.
    ///
    /// The result is streamed. The cost is that of the selected data, if the filter has the keys of the entries; else the
    /// lists of which it does not have them are scanned. An XPath expression with other predicates, axes or functions is
    /// evaluated first, and the keys of what it selects are kept in memory.
    ///
    /// Of the selection, all but `fields` and `page` apply, to what the filter selects: the depth counts from each selected
    /// node, which is level 1 (RFC 8526 §3.1.1). The keys of an entry are sent at any depth. A subtree filter is compared
    /// with the data that the with-defaults mode reports, an XPath expression with the accessible tree (RFC 7950 §6.4.1);
    /// both only with what the access rules of the view show.
    ///
    /// # Errors
    /// `invalid-value` for origins of another datastore than operational (RFC 8526 §3.1.1); `too-big` beyond
    /// [`FILTER_PLAN_NODES_MAX`](crate::FILTER_PLAN_NODES_MAX); `resource-denied` if an evaluation visits too many nodes
    /// ([`espalier_yang::xpath::evaluate::STEPS_MAX`]); those of the engine.
    pub fn read_filtered(
        &self,
        filter: &Filter,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.check_selection(selection)?;
        let access = self.access.as_deref();
        if let Some(plan) = filter.plan(self.schema())? {
            return self.read_plan(&plan, selection, sink);
        }
        let Filter::XPath(expression) = filter else {
            return Ok(());
        };
        // Entries of which only a default is shown are there if it is reported, or set.
        let mode = match selection.with_defaults {
            WithDefaults::Trim => WithDefaults::Explicit,
            mode => mode,
        };
        let rules = access.map(|access| (access, mode));
        let reads = Filter::reads(self.schema(), expression)?;
        self.with_reach(&ProviderReach::Plan(&reads), &mut |state, sources| {
            let plan = selected_nodes((state, sources), rules, expression.expression())?;
            let read = FilteredRead {
                state,
                sources,
                plan: &plan,
                selection,
                access,
                paged_list: None,
            };
            read.send(sink)
        })
    }

    /// Sends what a plan selects.
    pub(in crate::tree) fn read_plan(
        &self,
        plan: &Plan,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let access = self.access.as_deref();
        self.with_reach(&ProviderReach::Plan(plan), &mut |state, sources| {
            let read = FilteredRead {
                state,
                sources,
                plan,
                selection,
                access,
                paged_list: None,
            };
            read.send(sink)
        })
    }
}
