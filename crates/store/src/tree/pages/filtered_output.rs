//! Sends what a filter selects of the entries of a page, in any order.
//!
//! Each entry is read by the plan of the filter, with the entry in place of the whole list.

use espalier_yang::data::{Annotations, Stop};
use espalier_yang::{Mark, NodeId, Sink, Value};

use crate::access::AccessTable;
use crate::error::Result;
use crate::tree::filter::{Instance, Plan, PlanId};
use crate::tree::locate::TreeState;
use crate::tree::read::{FilteredRead, FirstEvent, Sources};
use crate::tree::selection::{Content, Selection};

/// The plan of a filter that selects entries of a list.
pub(super) struct EntryPlan<'a> {
    pub state: TreeState<'a>,
    pub sources: Option<&'a dyn Sources>,
    pub access: Option<&'a AccessTable>,
    pub selection: &'a Selection,
    pub plan: Plan,
    /// The node of the plan for the entries.
    pub id: PlanId,
    pub list: NodeId,
    /// Whether every entry is selected and shown.
    pub is_whole: bool,
}

impl EntryPlan<'_> {
    /// Whether entries of the list can have the selected content.
    pub fn is_selected(&self) -> bool {
        let is_config = self.state.schema().node(self.list).is_config;
        is_config || self.selection.content != Content::Config
    }

    /// The read of what the filter selects of an entry.
    fn of_entry(&mut self, entry: &[u8]) -> FilteredRead<'_> {
        let instance = Instance::TreeKey(entry.into());
        self.plan.set_instance(self.id, instance);
        FilteredRead {
            state: self.state,
            sources: self.sources,
            plan: &self.plan,
            selection: self.selection,
            access: self.access,
            paged_list: Some(self.list),
        }
    }
}

/// The output of what a filter selects.
pub(super) struct FilteredOutput<'a> {
    pub entries: EntryPlan<'a>,
    pub sink: EntriesInAncestors<'a>,
}

impl FilteredOutput<'_> {
    /// Whether the filter selects anything of an entry that the reader sees.
    pub fn shows(&mut self, entry: &[u8]) -> Result<bool> {
        if self.entries.is_whole {
            return Ok(true);
        }
        let mut first = FirstEvent::default();
        let mut below = EntriesInAncestors::new(&mut first, self.sink.list, self.sink.levels);
        below.has_ancestors = true;
        self.entries.of_entry(entry).send(&mut below)?;
        Ok(first.is_found)
    }

    /// Annotates the next entry.
    pub fn annotate(&mut self, annotations: Annotations) {
        self.sink.of_entry = annotations;
    }

    /// Sends an entry; false if the receiver accepts no more.
    pub fn send(&mut self, entry: &[u8]) -> Result<bool> {
        self.entries.of_entry(entry).send(&mut self.sink)?;
        Ok(!self.sink.is_stopped)
    }

    /// Closes the ancestors of the entries.
    pub fn end(&mut self) {
        self.sink.end();
    }
}

/// Passes on entries that are sent each with its ancestors, which are the same for all, and are passed on once.
pub(super) struct EntriesInAncestors<'a> {
    sink: &'a mut dyn Sink,
    list: NodeId,
    /// The number of ancestors.
    levels: usize,
    /// The level of the open node.
    depth: usize,
    /// Whether the ancestors were passed on.
    has_ancestors: bool,
    /// The annotations of the next entry.
    of_entry: Annotations,
    /// The annotations of the next node.
    pending: Annotations,
    is_stopped: bool,
}

impl<'a> EntriesInAncestors<'a> {
    /// A sink of entries of a list with this number of ancestors.
    pub fn new(sink: &'a mut dyn Sink, list: NodeId, levels: usize) -> Self {
        Self {
            sink,
            list,
            levels,
            depth: 0,
            has_ancestors: false,
            of_entry: Annotations::new(),
            pending: Annotations::new(),
            is_stopped: false,
        }
    }

    fn end(&mut self) {
        if !self.has_ancestors || self.is_stopped {
            return;
        }
        for _ in 0..self.levels {
            if self.sink.close(Mark::default()).is_err() {
                return;
            }
        }
    }

    /// Passes on a node, unless it is of the ancestors and these were passed on.
    fn pass(
        &mut self,
        node: NodeId,
        send: impl FnOnce(&mut dyn Sink) -> std::result::Result<(), Stop>,
    ) -> std::result::Result<(), Stop> {
        let begins = self.depth == self.levels && node == self.list;
        let mut annotations = std::mem::take(&mut self.pending);
        if begins {
            self.has_ancestors = true;
            annotations.append(&mut self.of_entry);
        } else if self.depth <= self.levels && self.has_ancestors {
            return Ok(());
        }
        let mut result = Ok(());
        if !annotations.is_empty() {
            result = self.sink.annotate(annotations);
        }
        let result = result.and_then(|()| send(&mut *self.sink));
        self.is_stopped |= result.is_err();
        result
    }
}

impl Sink for EntriesInAncestors<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> std::result::Result<(), Stop> {
        self.pass(node, |sink| sink.open(node, mark))?;
        self.depth += 1;
        Ok(())
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> std::result::Result<(), Stop> {
        self.pass(node, |sink| sink.leaf(node, value, mark))
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> std::result::Result<(), Stop> {
        self.pass(node, |sink| sink.any(node, json, mark))
    }

    fn close(&mut self, mark: Mark) -> std::result::Result<(), Stop> {
        self.depth -= 1;
        if self.depth < self.levels {
            return Ok(());
        }
        let closed = self.sink.close(mark);
        self.is_stopped |= closed.is_err();
        closed
    }

    fn annotate(&mut self, annotations: Annotations) -> std::result::Result<(), Stop> {
        self.pending.extend(annotations);
        Ok(())
    }
}
