//! Pages of a view.

use espalier_yang::{DataError, ErrorTag, ErrorType, InstancePath, Keys, Schema, Sink};

use super::metadata::PageInfo;
use super::page::out_of_range;
use super::read::{PageFilter, PageRead};
use super::request::{PageRequest, PageStart};
use crate::error::Result;
use crate::tree::filter::{Filter, Plan, PlannedList};
use crate::tree::operational::ProviderReach;
use crate::tree::selection::Selection;
use crate::tree::view::View;

impl View {
    /// Sends a page of the entries of a list or leaf-list, a whole one, as [`Self::read`] sends all. The first entry has the
    /// metadata as annotations. Returns the metadata; `None` if the parent of the list does not exist.
    ///
    /// The page is streamed. In the order of the list it costs its own entries and those that an offset skips; with a
    /// condition on other leaves than leading keys, also those up to its end that do not fulfil it; and in the order of
    /// another leaf than the first key, all entries.
    ///
    /// # Errors
    /// Before anything is sent: `invalid-value` with the app-tag `ietf-list-pagination:offset-out-of-range` or
    /// `ietf-list-pagination:cursor-not-found`; `too-big` beyond [`PAGE_ENTRIES_EXAMINED_MAX`](crate::PAGE_ENTRIES_EXAMINED_MAX),
    /// [`PAGE_XPATH_STEPS_MAX`](crate::PAGE_XPATH_STEPS_MAX), [`PAGE_KEYS_BYTES_MAX`](crate::PAGE_KEYS_BYTES_MAX) and
    /// [`PAGE_SORT_BYTES_MAX`](crate::PAGE_SORT_BYTES_MAX), for pages without a limit perhaps later; those of
    /// [`Self::read`].
    pub fn read_page(
        &self,
        path: &InstancePath,
        request: &PageRequest,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<Option<PageInfo>> {
        self.check_selection(selection)?;
        let read = PageRead {
            path,
            keys: &Keys::None,
            request,
            selection,
            access: self.access.as_deref(),
            filter: None,
        };
        let found = match read.planned_reach()? {
            None => self.with_state(path, selection, &mut |state, sources| {
                read.run(state, sources, &mut *sink)
            }),
            Some(plan) => self.with_reach(&ProviderReach::Plan(&plan), &mut |state, sources| {
                read.run(state, sources, &mut *sink)
            }),
        }?;
        if found.is_some() {
            return Ok(found);
        }
        let parent = path.parent().unwrap_or_default();
        if !parent.is_root() && !self.exists(&parent)? {
            return Ok(None);
        }
        empty_page(request).map(Some)
    }

    /// Sends a page of what a filter selects ([`Self::read_filtered`]), which must be entries of one list or leaf-list:
    /// [`Filter::paged_list`]. Nothing if the page has no entries.
    ///
    /// # Errors
    /// `operation-not-supported` if the filter selects anything else; those of [`Self::read_page`] and
    /// [`Self::read_filtered`].
    pub fn read_filtered_page(
        &self,
        filter: &Filter,
        request: &PageRequest,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<PageInfo> {
        self.check_selection(selection)?;
        let (plan, list) = filter
            .planned_list(self.schema())?
            .ok_or_else(not_one_list)?;
        let read = PageRead {
            path: &list.path,
            keys: &list.keys,
            request,
            selection,
            access: self.access.as_deref(),
            filter: Some(PageFilter {
                plan: &plan,
                id: list.id,
                is_whole: list.is_whole,
            }),
        };
        let of_condition = read.planned_reach()?;
        let reach = ProviderReach::Plan(of_condition.as_ref().unwrap_or(&plan));
        let found = self.with_reach(&reach, &mut |state, sources| {
            read.run(state, sources, &mut *sink)
        })?;
        match found {
            Some(info) => Ok(info),
            None => empty_page(request),
        }
    }
}

impl Filter {
    /// The list or leaf-list of which a filter selects entries, if it selects nothing else, and if it needs no evaluation.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](crate::FILTER_PLAN_NODES_MAX).
    pub fn paged_list(&self, schema: &Schema) -> Result<Option<InstancePath>> {
        let planned = self.planned_list(schema)?;
        Ok(planned.map(|(_, list)| list.path))
    }

    fn planned_list(&self, schema: &Schema) -> Result<Option<(Plan, PlannedList)>> {
        let Some(plan) = self.plan(schema)? else {
            return Ok(None);
        };
        let list = plan.only_list(schema);
        Ok(list.map(|list| (plan, list)))
    }
}

/// The page of a list without entries.
fn empty_page(request: &PageRequest) -> Result<PageInfo> {
    match request.start {
        PageStart::Offset(offset) if offset > 0 => Err(out_of_range(offset, 0)),
        _ => Ok(PageInfo::default()),
    }
}

fn not_one_list() -> DataError {
    let message = "a page requires a filter that selects entries of one list or leaf-list only, by keys; other conditions are those of “where”";
    DataError::new(ErrorTag::OperationNotSupported, message).of_type(ErrorType::Application)
}
