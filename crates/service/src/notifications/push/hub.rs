//! The on-change subscriptions of a datastore in this process.

use std::sync::Arc;

use espalier_store::{Error, FilterRoutes, ReaderAccess, Result, TrackedFilter, Tree};
use espalier_yang::InstancePath;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::context::EventContext;
use super::super::termination::Termination;
use super::follow;
use super::marks::Marks;
use crate::access::NACM_MODULE;

/// A receiver of an on-change subscription in a hub. The receivers of a configured subscription have the same number of the
/// subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::notifications) struct MemberId(u64);

/// The on-change subscriptions of a datastore, and the version up to which they are marked.
pub(in crate::notifications) struct PushHub {
    state: Mutex<HubState>,
}

struct HubState {
    /// The datastore, with the modules that the filters are for.
    tree: Tree,
    /// The newest version that was looked at.
    reached: u64,
    is_followed: bool,
    /// The number of members that there were.
    joined: u64,
    routes: FilterRoutes<MemberId>,
    members: FxHashMap<MemberId, Member>,
}

struct Member {
    marks: Arc<Marks>,
    /// The filter; `None` if the modules were replaced since, and the subscription did not join again.
    filter: Option<Arc<TrackedFilter>>,
}

/// The number of changed nodes that are looked up together, so that receivers do not wait long for the hub.
const PATHS_PAGE: usize = 1024;

/// Access rules of a subscriber can be added at any time, so all changes that can concern it with rules are routed.
const ROUTED: ReaderAccess = ReaderAccess::Restricted;

impl PushHub {
    /// Without subscriptions.
    pub fn new(tree: Tree) -> Self {
        Self {
            state: Mutex::new(HubState {
                tree,
                reached: 0,
                is_followed: false,
                joined: 0,
                routes: FilterRoutes::default(),
                members: FxHashMap::default(),
            }),
        }
    }

    /// The place of a new receiver.
    pub fn new_member(&self) -> MemberId {
        let mut state = self.state.lock();
        state.joined += 1;
        MemberId(state.joined)
    }

    /// The datastore, with the modules that it has now.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the anchor was deleted; those of the engine.
    pub fn tree(&self, context: &dyn EventContext) -> Result<Tree> {
        self.state.lock().current_tree(context)
    }

    /// Adds a subscription, or replaces its filter: it gets the versions whose changes can concern it, from a version on that
    /// is not newer than the datastore is now.
    ///
    /// # Errors
    /// Those of the engine, and of starting a thread.
    pub fn join(
        self: &Arc<Self>,
        context: &Arc<dyn EventContext>,
        id: MemberId,
        member: (Arc<Marks>, Arc<TrackedFilter>),
    ) -> Result<()> {
        let (marks, filter) = member;
        let mut state = self.state.lock();
        if !state.is_followed {
            let watch = state.tree.watch_commits()?;
            state.reached = state.tree.view()?.version()?;
            follow::start(self, context, &state.tree, watch)?;
            state.is_followed = true;
        }
        state.remove(id);
        let is_current = Arc::ptr_eq(filter.schema(), state.tree.schema());
        match is_current {
            true => state.routes.add(&filter, ROUTED, id),
            // The receiver joins again.
            false => marks.lose(),
        }
        let filter = is_current.then_some(filter);
        state.members.insert(id, Member { marks, filter });
        Ok(())
    }

    /// Removes a subscription.
    pub fn leave(&self, id: MemberId) {
        self.state.lock().remove(id);
    }

    /// Whether there are no subscriptions; the datastore is then not followed any more.
    pub fn stop_if_unused(&self) -> bool {
        let mut state = self.state.lock();
        let is_unused = state.members.is_empty();
        state.is_followed &= !is_unused;
        is_unused
    }

    /// Ends all subscriptions.
    pub fn fail(&self, reason: Termination) {
        let mut state = self.state.lock();
        state.is_followed = false;
        for member in state.members.values() {
            member.marks.end(reason);
        }
    }

    /// Marks the subscriptions that the commits since the last call can concern.
    ///
    /// # Errors
    /// Those of the engine; [`Error::Unknown`] if the anchor was deleted.
    pub fn advance(&self, context: &dyn EventContext) -> Result<()> {
        let tree = self.tree(context)?;
        let newest = tree.view()?.version()?;
        let mut reached = self.state.lock().reached;
        if newest < reached {
            // A backup was restored.
            let mut state = self.state.lock();
            state.lose_all();
            state.reached = newest;
        }
        while reached < newest {
            reached += 1;
            let found = self.concerned(&tree, reached);
            let mut state = self.state.lock();
            match found {
                Ok(found) => state.mark(&found, reached),
                Err(Error::Pruned { .. } | Error::NoVersion { .. }) => state.lose_all(),
                Err(error) => return Err(error),
            }
            state.reached = reached;
        }
        Ok(())
    }

    /// The subscriptions that the changes of a version can concern. One that joins meanwhile reads the version by itself.
    fn concerned(&self, tree: &Tree, version: u64) -> Result<FxHashSet<MemberId>> {
        let mut found = FxHashSet::default();
        let rules = tree.schema().module_by_name(NACM_MODULE);
        let mut concerns_all = false;
        let mut paths = Vec::new();
        tree.each_difference(version - 1, version, &mut |schema, change| {
            let first = change.path.steps.first();
            let module = first.map(|step| schema.node(step.node).module);
            // Rules that change can show or hide anything.
            match Arc::ptr_eq(schema, tree.schema()) && (module.is_none() || module != rules) {
                true => paths.push(change.path.clone()),
                false => concerns_all = true,
            }
            if paths.len() >= PATHS_PAGE {
                self.state.lock().find(&paths, &mut found);
                paths.clear();
            }
            Ok(())
        })?;
        let state = self.state.lock();
        state.find(&paths, &mut found);
        if concerns_all {
            state.routes.all(&mut found);
        }
        Ok(found)
    }
}

impl HubState {
    fn current_tree(&mut self, context: &dyn EventContext) -> Result<Tree> {
        if !self.tree.is_current()? {
            let running = context.reopened(&self.tree)?;
            self.tree = running.sibling_datastore(self.tree.datastore(), "")?;
            self.routes = FilterRoutes::default();
            for member in self.members.values_mut() {
                member.filter = None;
                member.marks.lose();
            }
        }
        Ok(self.tree.clone())
    }

    fn remove(&mut self, id: MemberId) {
        if let Some(Member {
            filter: Some(filter),
            ..
        }) = self.members.remove(&id)
        {
            self.routes.remove(&filter, ROUTED, id);
        }
    }

    fn find(&self, paths: &[InstancePath], found: &mut FxHashSet<MemberId>) {
        for path in paths {
            self.routes.find(path, found);
        }
    }

    fn mark(&self, found: &FxHashSet<MemberId>, version: u64) {
        let members = found.iter().filter_map(|id| self.members.get(id));
        members.for_each(|member| member.marks.mark(version));
    }

    fn lose_all(&self) {
        self.members.values().for_each(|member| member.marks.lose());
    }
}
