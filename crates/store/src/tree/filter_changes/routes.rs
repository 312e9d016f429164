//! An index from paths to the filters that a change there can concern.

use std::hash::Hash;

use espalier_yang::{InstancePath, Keys, NodeId, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::ReaderAccess;
use super::tracked_filter::TrackedFilter;
use crate::tree::filter::{Instance, PlanId};

/// Filters of one schema, found by the paths of changes. The cost of a look-up depends on the length of the path and on the
/// number of filters found, not on that of all filters: entries that filters name by all their keys are found by these keys.
#[derive(Debug)]
pub struct FilterRoutes<K> {
    root: Route<K>,
}

/// The filters with plan nodes for an instance.
#[derive(Debug)]
struct Route<K> {
    /// The filters that any change at or below the instance can concern.
    whole: FxHashSet<K>,
    /// The filters that select something below it: its creation and deletion concern them.
    passing: FxHashSet<K>,
    /// By schema node and keys; without keys, for all entries, and for those that begin with some keys.
    children: FxHashMap<(NodeId, Keys), Self>,
}

impl<K> Default for Route<K> {
    fn default() -> Self {
        Self {
            whole: FxHashSet::default(),
            passing: FxHashSet::default(),
            children: FxHashMap::default(),
        }
    }
}

impl<K> Default for FilterRoutes<K> {
    fn default() -> Self {
        Self {
            root: Route::default(),
        }
    }
}

/// Whether a filter is added or removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Add,
    Remove,
}

impl<K: Copy + Eq + Hash> FilterRoutes<K> {
    /// Adds a filter of a reader with its number.
    pub fn add(&mut self, filter: &TrackedFilter, access: ReaderAccess, key: K) {
        self.change(filter, key, (access, Change::Add));
    }

    /// Removes a filter, which was added with the same number for the same reader.
    pub fn remove(&mut self, filter: &TrackedFilter, access: ReaderAccess, key: K) {
        self.change(filter, key, (access, Change::Remove));
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Adds the numbers of the filters that a change of a node can concern.
    pub fn find(&self, path: &InstancePath, found: &mut FxHashSet<K>) {
        self.root.find(&path.steps, found);
    }

    /// Adds the numbers of all filters.
    pub fn all(&self, found: &mut FxHashSet<K>) {
        self.root.all(found);
    }

    fn change(&mut self, filter: &TrackedFilter, key: K, change: (ReaderAccess, Change)) {
        for &root in filter.plan().roots() {
            self.root.change(filter, root, (key, change));
        }
    }
}

impl<K: Copy + Eq + Hash> Route<K> {
    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.passing.is_empty() && self.children.is_empty()
    }

    fn change(
        &mut self,
        filter: &TrackedFilter,
        id: PlanId,
        (key, (access, change)): (K, (ReaderAccess, Change)),
    ) {
        let node = filter.plan().node(id);
        let is_container = |id| filter.schema().node(id).is_np_container();
        // Whether an entry is shown can depend on anything below it.
        let is_shown =
            access == ReaderAccess::Restricted && node.node.is_some_and(|node| !is_container(node));
        let is_whole = node.selects || !node.conditions.is_empty() || is_shown;
        let numbers = match is_whole {
            true => &mut self.whole,
            false => &mut self.passing,
        };
        match change {
            Change::Add => numbers.insert(key),
            Change::Remove => numbers.remove(&key),
        };
        if is_whole {
            return;
        }
        for (leaf, _) in &node.leaves {
            let leaf = self.children.entry((*leaf, Keys::None)).or_default();
            match change {
                Change::Add => leaf.whole.insert(key),
                Change::Remove => leaf.whole.remove(&key),
            };
        }
        for &(child, id) in &node.children {
            let keys = exact_keys(filter, child, id);
            let route = self.children.entry((child, keys)).or_default();
            route.change(filter, id, (key, (access, change)));
        }
        if change == Change::Remove {
            self.children.retain(|_, route| !route.is_empty());
        }
    }

    fn find(&self, steps: &[Step], found: &mut FxHashSet<K>) {
        found.extend(&self.whole);
        let Some((step, rest)) = steps.split_first() else {
            found.extend(&self.passing);
            return;
        };
        if self.children.is_empty() {
            return;
        }
        if let Some(all) = self.children.get(&(step.node, Keys::None)) {
            all.find(rest, found);
        }
        // Filters with fewer keys than the entry has are found as those of all entries.
        if step.keys != Keys::None
            && let Some(one) = self.children.get(&(step.node, step.keys.clone()))
        {
            one.find(rest, found);
        }
    }

    fn all(&self, found: &mut FxHashSet<K>) {
        found.extend(&self.whole);
        found.extend(&self.passing);
        self.children.values().for_each(|route| route.all(found));
    }
}

/// The keys of the only entry that a plan node stands for; none if there may be several.
fn exact_keys(filter: &TrackedFilter, node: NodeId, id: PlanId) -> Keys {
    let node = filter.schema().node(node);
    let count = match node.is_leaf_list() {
        true => 1,
        false => node.keys().len(),
    };
    match &filter.plan().node(id).instance {
        Instance::Keys(keys @ Keys::Values(values)) if values.len() == count => keys.clone(),
        _ => Keys::None,
    }
}
