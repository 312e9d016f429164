//! The updates of an on-change subscription (RFC 8641 §3.3).

use std::sync::Arc;

use espalier_store::{
    AccessTable, ChangedScopes, Datastore, Error, FilteredDifference, FilteredEdit, ReaderAccess,
    Result, Selection, TrackedFilter, Tree,
};
use espalier_yang::data::TreeBuilder;

use super::super::context::EventContext;
use super::super::established::{Established, Suspension};
use super::super::termination::Termination;
use super::change_type::ChangeType;
use super::datastore_target::{OnChange, PUSH_UPDATE_NODES_MAX, PushTarget};
use super::hub::{MemberId, PushHub};
use super::marks::Marks;
use super::outbox::{Outbox, is_too_big};
use super::source::PushContents;
use super::update::PushUpdate;

/// The maximum number of updates that are read together.
const UPDATES_PAGE: usize = 32;

/// What the receiver of an on-change subscription has, and what it has to get.
pub(super) struct Changes {
    hub: Arc<PushHub>,
    member: MemberId,
    established: Arc<Established>,
    marks: Arc<Marks>,
    /// The filter with which it is in the hub.
    filter: Option<Arc<TrackedFilter>>,
    is_filter_replaced: bool,
    /// What the receiver has; `None` before the first update.
    sent: Option<Sent>,
    /// Whether all selected data has to be sent.
    must_sync: bool,
    /// Whether that is tried again after the next change only: it was too much.
    waits: bool,
    /// Whether the access rules have to be compared.
    checks_access: bool,
    /// The number of the next patch.
    patch: u64,
}

/// The state that a receiver has.
#[derive(Clone)]
struct Sent {
    version: u64,
    access: Option<Arc<AccessTable>>,
}

impl Sent {
    fn has_same_access(&self, other: &Self) -> bool {
        match (&self.access, &other.access) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn reader(&self, other: &Self) -> ReaderAccess {
        match self.access.is_some() || other.access.is_some() {
            true => ReaderAccess::Restricted,
            false => ReaderAccess::Unrestricted,
        }
    }
}

impl Changes {
    /// Changes since a version; without it, all selected data first.
    pub fn new(hub: Arc<PushHub>, established: &Arc<Established>, since: Option<u64>) -> Self {
        let sent = since.map(|version| Sent {
            version,
            access: None,
        });
        Self {
            member: hub.new_member(),
            hub,
            marks: Arc::new(Marks::new(Arc::clone(established))),
            established: Arc::clone(established),
            filter: None,
            is_filter_replaced: false,
            must_sync: sent.is_none(),
            sent,
            waits: false,
            checks_access: false,
            patch: 0,
        }
    }

    /// Whether something has to be read now, also within the dampening period.
    pub fn is_due(&self) -> bool {
        let is_new = self.filter.is_none() || self.is_filter_replaced;
        is_new || self.checks_access || (self.must_sync && !self.waits)
    }

    /// Whether there may be changes to read.
    pub fn has_any(&self) -> bool {
        self.marks.has_any()
    }

    /// Why the subscription ends, if it does.
    pub fn ended(&self) -> Option<Termination> {
        self.marks.ended()
    }

    /// All selected data is sent next.
    pub fn request_sync(&mut self) {
        (self.must_sync, self.waits) = (true, false);
    }

    /// The filter of the target was replaced.
    pub fn replace_filter(&mut self) {
        self.is_filter_replaced = true;
        self.request_sync();
    }

    /// The access rules are compared with those of the last update.
    pub fn check_access(&mut self) {
        self.checks_access = true;
    }

    /// No more changes are marked.
    pub fn leave(&self) {
        self.hub.leave(self.member);
    }

    /// Reads the next updates. After an error, all selected data is sent. Blocks.
    ///
    /// # Errors
    /// Those of the filter and of the engine.
    pub fn read(
        &mut self,
        context: &Arc<dyn EventContext>,
        (target, trigger): (&PushTarget, &OnChange),
        outbox: &mut Outbox,
    ) -> Result<()> {
        let read = self.read_updates(context, (target, trigger), outbox);
        if read.is_err() {
            self.request_sync();
        }
        read
    }

    fn read_updates(
        &mut self,
        context: &Arc<dyn EventContext>,
        (target, trigger): (&PushTarget, &OnChange),
        outbox: &mut Outbox,
    ) -> Result<()> {
        let tree = self.hub.tree(&**context)?;
        let is_new = self.filter.is_none();
        let filter = self.join(context, &tree, target)?;
        self.checks_access = false;
        let caller = self.established.new.session.caller();
        let access = context.access_of_caller(caller, &tree, tree.schema())?;
        let access = access.table().cloned();
        if is_new && let Some(sent) = &mut self.sent {
            // What changed before the receiver joined was not marked.
            sent.access.clone_from(&access);
            self.marks.mark(tree.view()?.version()?);
        }
        if self.marks.take_lost() {
            outbox.suspend(Suspension::Volume);
            self.must_sync = true;
        }
        let reads = Reads {
            tree: &tree,
            filter: &filter,
            excluded: &trigger.excluded,
        };
        if !self.must_sync {
            let is_dampened = trigger.dampening > 0;
            if is_dampened && !outbox.dampening_left(trigger).is_zero() {
                return Ok(());
            }
            self.read_changes(&reads, (access.clone(), is_new || is_dampened), outbox)?;
        }
        match self.must_sync {
            true => self.sync(&reads, access, outbox),
            false => Ok(()),
        }
    }

    /// Adds the subscription to the hub, with the filter for the modules of now.
    fn join(
        &mut self,
        context: &Arc<dyn EventContext>,
        tree: &Tree,
        target: &PushTarget,
    ) -> Result<Arc<TrackedFilter>> {
        if let Some(filter) = &self.filter {
            if !self.is_filter_replaced && Arc::ptr_eq(filter.schema(), tree.schema()) {
                return Ok(Arc::clone(filter));
            }
            self.must_sync = true;
        }
        let schema = tree.schema();
        let filter = target.source.filter(schema)?;
        let filter = TrackedFilter::new(schema, filter, Selection::default())?;
        let filter = Arc::new(filter);
        let member = (Arc::clone(&self.marks), Arc::clone(&filter));
        self.hub.join(context, self.member, member)?;
        self.is_filter_replaced = false;
        Ok(Arc::clone(self.filter.insert(filter)))
    }

    /// The changes of the marked versions: of each, or together.
    fn read_changes(
        &mut self,
        reads: &Reads<'_>,
        (access, are_united): (Option<Arc<AccessTable>>, bool),
        outbox: &mut Outbox,
    ) -> Result<()> {
        while let Some(sent) = self.sent.clone() {
            let mut to = Sent {
                version: sent.version,
                access: access.clone(),
            };
            let has_same_access = sent.has_same_access(&to);
            let next = match are_united || !has_same_access {
                true => self.marks.take_all(),
                false => self.marks.take_first(),
            };
            to.version = next.map_or(sent.version, |next| next.max(sent.version));
            if to.version == sent.version && has_same_access {
                match next {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            }
            let mut from = sent;
            if !are_united && has_same_access {
                // The versions between do not concern the filter.
                from.version = to.version - 1;
            }
            match reads.edits(&from, &to)? {
                Some(edits) => self.send(reads, edits, outbox),
                None => {
                    self.must_sync = true;
                    return Ok(());
                }
            }
            self.sent = Some(to);
            if outbox.ready.len() >= UPDATES_PAGE {
                return Ok(());
            }
        }
        self.must_sync = true;
        Ok(())
    }

    fn send(&mut self, reads: &Reads<'_>, mut edits: Vec<FilteredEdit>, outbox: &mut Outbox) {
        if edits.is_empty() {
            return;
        }
        let is_excluded =
            |edit: &FilteredEdit| reads.excluded.contains(&ChangeType::of(&edit.change));
        edits.retain(|edit| !is_excluded(edit));
        if edits.is_empty() {
            return self.established.receiver.exclude();
        }
        outbox.update(PushUpdate::Changes {
            patch: self.patch,
            schema: Arc::clone(reads.filter.schema()),
            edits,
        });
        self.patch += 1;
    }

    /// Sends all selected data.
    fn sync(
        &mut self,
        reads: &Reads<'_>,
        access: Option<Arc<AccessTable>>,
        outbox: &mut Outbox,
    ) -> Result<()> {
        let mut view = reads.tree.view()?;
        let version = view.version()?;
        if reads.tree.datastore() == Datastore::Operational {
            // The pushed data alone, as in the differences.
            view = reads.tree.at(version)?;
        }
        let view = view.with_access(access.clone());
        let mut builder = TreeBuilder::with_limit(PUSH_UPDATE_NODES_MAX);
        let read = reads.filter.read(&view, &mut builder);
        let tree = read.and_then(|()| builder.finish().map_err(Error::from));
        self.marks.forget(version);
        let tree = match tree {
            Err(error) if is_too_big(&error) => {
                self.waits = true;
                outbox.suspend(Suspension::SyncTooBig);
                return Ok(());
            }
            tree => tree?,
        };
        (self.must_sync, self.waits, self.patch) = (false, false, 0);
        self.sent = Some(Sent { version, access });
        outbox.update(PushUpdate::Contents(PushContents {
            parts: vec![(Arc::clone(reads.filter.schema()), tree)],
            is_incomplete: false,
        }));
        Ok(())
    }
}

/// What the changes are read from.
struct Reads<'a> {
    tree: &'a Tree,
    filter: &'a TrackedFilter,
    excluded: &'a [ChangeType],
}

impl Reads<'_> {
    /// The edits between two states; `None` if all selected data has to be sent instead.
    fn edits(&self, from: &Sent, to: &Sent) -> Result<Option<Vec<FilteredEdit>>> {
        match self.difference(from, to) {
            Ok(FilteredDifference::Edits(edits)) => Ok(Some(edits)),
            Ok(FilteredDifference::Unavailable)
            | Err(Error::Pruned { .. } | Error::NoVersion { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn difference(&self, from: &Sent, to: &Sent) -> Result<FilteredDifference> {
        let mut scopes = match from.has_same_access(to) {
            true => ChangedScopes::new(self.filter, from.reader(to)),
            false => ChangedScopes::everything(self.filter),
        };
        let mut has_other_modules = false;
        if !scopes.is_everything() {
            let versions = (from.version, to.version);
            let add = &mut |schema: &_, change: &_| {
                match Arc::ptr_eq(schema, self.filter.schema()) {
                    true => scopes.add(change),
                    false => has_other_modules = true,
                }
                Ok(())
            };
            self.tree.each_difference(versions.0, versions.1, add)?;
        }
        if has_other_modules {
            return Ok(FilteredDifference::Unavailable);
        }
        if scopes.is_empty() {
            return Ok(FilteredDifference::Edits(Vec::new()));
        }
        let [before, after] = [from, to].map(|state| {
            let view = self.tree.at(state.version)?;
            Ok::<_, Error>(view.with_access(state.access.clone()))
        });
        let (before, after) = (before?, after?);
        // The modules were replaced between them.
        if !Arc::ptr_eq(before.schema(), after.schema()) {
            return Ok(FilteredDifference::Unavailable);
        }
        scopes.difference(&before, &after)
    }
}
