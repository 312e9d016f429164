//! Reads a page of one state of a datastore.

use espalier_keyspace::KeyRange;
use espalier_yang::schema::Node;
use espalier_yang::xpath::evaluate::{Evaluator, Limits};
use espalier_yang::{InstancePath, Instances, Keys, Sink, Value};

use super::condition::PageCondition;
use super::cursor::{Cursor, ListState, Position, QueryHash, Side, not_found};
use super::cut::Cut;
use super::entries::{Entries, PagedList};
use super::filtered_output::{EntriesInAncestors, EntryPlan, FilteredOutput};
use super::metadata::PageInfo;
use super::output::Output;
use super::page::{Start, out_of_range};
use super::parameters::LOCALE;
use super::request::{PageRequest, PageStart};
use super::scope::range_of;
use super::sorted::Sorted;
use crate::access::AccessTable;
use crate::error::{Error, Result};
use crate::fragment::Fragment;
use crate::keys::put_key_value;
use crate::tree::filter::{Plan, PlanId};
use crate::tree::locate::{Location, TreeState, order_key_of};
use crate::tree::query::instances;
use crate::tree::read::{EntryReader, Sources, Target, skip_entry};
use crate::tree::readable_instances::ReadableInstances;
use crate::tree::selection::{Content, OriginFilter, Selection, WithDefaults};
use crate::tree::stamp;
use crate::tree::validate::{NodeRef, are_indexes_current};

/// A filter that selects entries of the list of a page.
#[derive(Clone, Copy)]
pub(super) struct PageFilter<'a> {
    pub plan: &'a Plan,
    /// The node of the plan for the entries.
    pub id: PlanId,
    /// Whether it selects every entry with everything below it.
    pub is_whole: bool,
}

/// A read of a page.
#[derive(Clone, Copy)]
pub(super) struct PageRead<'a> {
    /// The whole list or leaf-list.
    pub path: &'a InstancePath,
    /// The leading keys of the entries that a filter selects.
    pub keys: &'a Keys,
    pub request: &'a PageRequest,
    pub selection: &'a Selection,
    pub access: Option<&'a AccessTable>,
    pub filter: Option<PageFilter<'a>>,
}

impl PageRead<'_> {
    /// A plan of what condition and order read, if they read more than what is sent.
    pub fn planned_reach(&self) -> Result<Option<Plan>> {
        let PageRequest {
            condition, sort, ..
        } = self.request;
        match condition.evaluated() {
            Some(_) if !condition.stays_in_entry() => Ok(Some(Plan::everything())),
            None if sort.is_none() => Ok(None),
            _ => Plan::of_path(self.path).map(Some),
        }
    }

    /// Sends the page. Returns its metadata; `None` if the list has no entries.
    pub fn run(
        &self,
        state: TreeState<'_>,
        sources: Option<&dyn Sources>,
        sink: &mut dyn Sink,
    ) -> Result<Option<PageInfo>> {
        let Some(place) = state.locate(self.path)? else {
            return Ok(None);
        };
        let data = instances(state, sources)?;
        let parent_length = place.boundaries.last().copied().unwrap_or_default();
        let parent = data.node_ref_at(&place.key[..parent_length])?;
        let (Some(node), Some(parent)) = (place.node, parent) else {
            return Ok(None);
        };
        let list = PagedList {
            data: &data,
            node: state.schema().node(node),
            key: &place.key,
            parent: &parent,
        };
        let target = Target {
            state,
            sources,
            path: self.path,
            place: &place,
            access: self.access,
        };
        let output = self.output(&target, list.node, sink);
        let condition = self.request.condition.evaluated();
        let run = RunningPage {
            read: *self,
            state,
            sources,
            place: &place,
            node: list.node,
        };
        let Some(access) = self.access else {
            let evaluator = Evaluator::new(&data, Limits::default());
            return run.send(Entries::new(list, output, evaluator, condition));
        };
        // Entries of which only a default is shown are there if it is reported, or set.
        let mode = match self.selection.with_defaults {
            WithDefaults::Trim => WithDefaults::Explicit,
            mode => mode,
        };
        let readable = ReadableInstances::new(&data, (state, sources), (access, mode));
        let evaluator = Evaluator::new(&readable, Limits::default());
        run.send(Entries::new(list, output, evaluator, condition))
    }

    fn output<'r>(
        &'r self,
        target: &Target<'r>,
        node: &Node,
        sink: &'r mut dyn Sink,
    ) -> Output<'r> {
        let Some(filter) = self.filter else {
            return Output::Resource(EntryReader::new(target, node.id, self.selection, sink));
        };
        let is_whole = filter.is_whole
            && self.access.is_none()
            && self.selection.origins == OriginFilter::All
            && match self.selection.content {
                Content::All | Content::Config => true,
                Content::NonConfig => false,
            };
        Output::Filtered(FilteredOutput {
            entries: EntryPlan {
                state: target.state,
                sources: target.sources,
                access: self.access,
                selection: self.selection,
                plan: filter.plan.clone(),
                id: filter.id,
                list: node.id,
                is_whole,
            },
            sink: EntriesInAncestors::new(sink, node.id, self.path.steps.len() - 1),
        })
    }
}

/// A page that is being read.
struct RunningPage<'a> {
    read: PageRead<'a>,
    state: TreeState<'a>,
    sources: Option<&'a dyn Sources>,
    /// The whole list.
    place: &'a Location,
    node: &'a Node,
}

impl RunningPage<'_> {
    fn send<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        mut entries: Entries<'_, T>,
    ) -> Result<Option<PageInfo>> {
        let (list, request) = (&self.place.key, self.read.request);
        if !self.state.any(&KeyRange::strictly_below(list))? {
            return entries.send_defaults(request);
        }
        let start = self.start(&entries.list)?;
        let of_list = (list.as_slice(), self.node);
        let range = range_of(self.state, of_list, &request.condition, self.read.keys)?;
        let Some(range) = range.filter(|_| entries.output.is_selected()) else {
            return match request.start {
                PageStart::Offset(offset) if offset > 0 => Err(out_of_range(offset, 0)),
                _ => Ok(Some(PageInfo::default())),
            };
        };
        let info = self.send_range(&mut entries, &range, &start)?;
        entries.output.end();
        Ok(Some(info))
    }

    fn send_range<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
        range: &KeyRange,
        start: &Start,
    ) -> Result<PageInfo> {
        let PageRequest {
            sort,
            direction,
            limit,
            ..
        } = self.read.request;
        let cut = Cut {
            range,
            direction: *direction,
            start,
        };
        let mut found = match (sort, limit) {
            (Some(key), limit) => Sorted {
                range,
                key,
                direction: *direction,
                start,
                limit: *limit,
            }
            .find(entries)?,
            (None, Some(limit)) => cut.find(entries, *limit)?,
            (None, None) => {
                let info = self.unlimited_info();
                cut.send_all(entries, &mut |entries| {
                    entries.output.annotate(info.annotations())
                })?;
                return Ok(info);
            }
        };
        let info = match limit {
            None => self.unlimited_info(),
            Some(_) => {
                let state = self.kept_state(&entries.list)?;
                found.total = found.total.or(state.map(|state| state.total));
                let query = (self.query(), state);
                let has_cursors = self.node.is_list();
                found.info(
                    self.read.request,
                    query,
                    &|at| self.keys_of(at),
                    has_cursors,
                )?
            }
        };
        if found.count > 0 && entries.output.annotate(info.annotations())? {
            found.send(entries)?;
        }
        Ok(info)
    }

    /// The metadata of a page without a limit.
    fn unlimited_info(&self) -> PageInfo {
        PageInfo {
            locale: self.read.request.is_sort_requested.then_some(LOCALE),
            ..PageInfo::default()
        }
    }

    /// The hash of the query that the page is of.
    fn query(&self) -> QueryHash {
        let path = self.read.path.to_instance_identifier(self.state.schema());
        let tree = self.state.tree;
        QueryHash::of(&[
            &tree.anchor.to_le_bytes(),
            &[tree.datastore],
            path.as_bytes(),
            self.read.request.query.as_bytes(),
        ])
    }

    fn start(&self, list: &PagedList<'_>) -> Result<Start> {
        let text = match &self.read.request.start {
            PageStart::Offset(offset) => return Ok(Start::Offset(*offset)),
            PageStart::After(keys) => return self.after(keys),
            PageStart::Cursor(text) => text,
        };
        let cursor = Cursor::parse(text, self.query()).ok_or_else(not_found)?;
        let mut at = cursor.at;
        let mut rest = at.entry.as_slice();
        let is_entry = skip_entry(self.node, &mut rest).is_ok() && rest.is_empty();
        let is_sorted = self.read.request.sort.is_some();
        if !is_entry || at.entry.is_empty() || at.sort.is_empty() == is_sorted {
            return Err(not_found());
        }
        // The entry may have another position than when the page was read.
        if !cursor.keys.is_empty()
            && let Some(position) = self
                .state
                .snapshot
                .get(&order_key_of(&self.place.key, &cursor.keys))?
        {
            at.entry = position.into_owned();
        }
        let state = match cursor.rank {
            Some(_) => self.kept_state(list)?,
            None => None,
        };
        let rank = cursor.rank.filter(|(_, of)| Some(*of) == state);
        Ok(Start::At(cursor.side, at, rank.map(|(rank, _)| rank)))
    }

    fn after(&self, keys: &[Value]) -> Result<Start> {
        let mut key = self.place.key.clone();
        let keys = Keys::Values(keys.to_vec());
        let is_placed = self.state.put_entry(&mut key, self.node.id, &keys)?;
        if !is_placed || self.read.request.sort.is_some() {
            return Err(not_found());
        }
        let at = Position {
            sort: Vec::new(),
            entry: key[self.place.key.len()..].to_vec(),
        };
        Ok(Start::At(Side::After, at, None))
    }

    /// The keys of an entry, if its key in the tree has a position in place of them.
    fn keys_of(&self, at: &Position) -> Result<Vec<u8>> {
        let count = self.node.keys().len();
        let mut encoded = Vec::new();
        if !self.node.is_positional() || count == 0 {
            return Ok(encoded);
        }
        let entry = [&self.place.key, at.entry.as_slice()].concat();
        let row = self.state.snapshot.get(&entry)?.unwrap_or_default();
        let values = Fragment::decode(&row, count)?.key_values()?;
        values
            .iter()
            .for_each(|value| put_key_value(&mut encoded, value));
        Ok(encoded)
    }

    /// The number of entries if it is stored, and that of all entries that pages can have.
    fn kept_state(&self, list: &PagedList<'_>) -> Result<Option<ListState>> {
        let state = self.state;
        let is_all = matches!(self.read.request.condition, PageCondition::All)
            && *self.read.keys == Keys::None
            && self.read.filter.is_none_or(|filter| filter.is_whole)
            && self.read.access.is_none();
        let is_kept = self.sources.is_none() && state.compiled.plan().is_counted(self.node.id);
        if !is_all || !is_kept || !are_indexes_current(state.compiled, state.tree, state.snapshot)?
        {
            return Ok(None);
        }
        let Location {
            key, boundaries, ..
        } = self.place;
        Ok(Some(ListState {
            version: stamp::find(state.snapshot, key, boundaries)?.version,
            total: list.data.count(list.parent, self.node.id)?,
        }))
    }
}
