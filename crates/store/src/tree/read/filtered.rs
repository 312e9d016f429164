//! Follows the plan of a filter during a scan.
//!
//! Each frame has the plan nodes that its instance fulfils, and the tree keys that these select below it. A key outside
//! of them is skipped by a seek to the next one.

use espalier_keyspace::KeyRange;
use espalier_yang::schema::Node;
use espalier_yang::{Keys, NodeId, NodeKind, Value};

use super::super::filter::{ContentCondition, Instance, PlanId, PlanNode};
use super::frame::{ReadResult, ResourceReader};
use super::frame_filter::{Child, FilterRead, FrameFilter, Match, Matched, Skip};
use super::node_access::NodeAccess;
use super::scan::skip_entry;
use crate::fragment::take_entry_value;
use crate::keys::{put_local_id, skip_key_values};

impl ResourceReader<'_> {
    /// The filter below the innermost frame.
    fn filter_here(&self) -> Option<&FrameFilter> {
        let filter = self.filter.as_ref()?;
        Some(match self.frames.last() {
            Some(frame) => &frame.filter,
            None => &filter.root,
        })
    }

    /// Whether the filter selects the innermost frame with everything below it.
    pub fn is_whole(&self) -> bool {
        match (self.frames.last(), &self.filter) {
            (Some(frame), _) => frame.is_fully_selected,
            (None, Some(filter)) => filter.is_whole,
            (None, None) => true,
        }
    }

    /// Whether the children of the innermost frame are selected with it.
    pub fn inherits_selection(&self) -> bool {
        self.is_whole() && (self.is_within_depth() || self.is_beyond_unsent())
    }

    /// Whether the filter names a child of the innermost frame.
    pub fn names(&self, node: NodeId) -> bool {
        let (Some(filter), Some(here)) = (&self.filter, self.filter_here()) else {
            return false;
        };
        let names = |&id: &PlanId| {
            let mut children = filter.plan.children_of(id, node);
            children.next().is_some() || filter.plan.names_leaf(id, node)
        };
        here.active.iter().any(names)
    }

    /// Whether the filter selects a leaf of the innermost frame by its name.
    pub fn names_leaf(&self, node: NodeId, value: Option<&Value>) -> bool {
        let (Some(filter), Some(here)) = (&self.filter, self.filter_here()) else {
            return false;
        };
        let selects = |&id: &PlanId| filter.plan.selects_leaf(id, node, value);
        here.active.iter().any(selects)
    }

    /// Whether the filter selects every entry of a list of the innermost frame with everything below it.
    pub fn names_all_of(&self, list: NodeId) -> bool {
        let (Some(filter), Some(here)) = (&self.filter, self.filter_here()) else {
            return false;
        };
        let is_all = |id: PlanId| {
            let node = filter.plan.node(id);
            node.selects && node.conditions.is_empty() && node.instance == Instance::ALL
        };
        let mut active = here.active.iter();
        active.any(|&id| filter.plan.children_of(id, list).any(is_all))
    }

    /// Whether the filter selects a default of a leaf or leaf-list of the innermost frame.
    pub fn selects_default(&self, node: &Node, value: &Value) -> bool {
        let (Some(filter), Some(here)) = (&self.filter, self.filter_here()) else {
            return true;
        };
        if self.inherits_selection() || self.names_leaf(node.id, Some(value)) {
            return true;
        }
        let is_value = |&id: &PlanId| {
            let entry = filter.plan.node(id);
            let is_instance = match &entry.instance {
                Instance::Keys(Keys::Values(values)) => {
                    values.as_slice() == std::slice::from_ref(value)
                }
                Instance::Keys(Keys::None) => true,
                _ => false,
            };
            entry.selects && is_instance && holds_for_value(&entry.conditions, value)
        };
        let mut active = here.active.iter();
        active.any(|&id| filter.plan.children_of(id, node.id).any(|id| is_value(&id)))
    }

    /// What the filter selects of a child.
    pub fn match_child(&mut self, child: &Child<'_>) -> ReadResult<Match> {
        if self.filter.is_none() {
            return Ok(Match::Enter(Matched::default()));
        }
        let is_inherited = self.inherits_selection();
        if is_inherited && self.selection.depth.is_none() {
            return Ok(Match::Enter(Matched::default()));
        }
        let named = self.plan_nodes_of(child)?;
        let matched = self.fulfilled(&named, child)?;
        Ok(match is_inherited || !matched.active.is_empty() {
            true => Match::Enter(matched),
            false => Match::Skip(self.skip(child.key, named.is_empty())),
        })
    }

    /// The plan nodes that a child fulfils.
    fn fulfilled(&mut self, named: &[PlanId], child: &Child<'_>) -> ReadResult<Matched> {
        let mut matched = Matched::default();
        let Some(plan) = self.filter.as_ref().map(|filter| filter.plan) else {
            return Ok(matched);
        };
        for &id in named {
            if self.fulfils(&plan.node(id).conditions, child)? {
                matched.is_selected |= plan.node(id).selects;
                matched.active.push(id);
            }
        }
        Ok(matched)
    }

    /// What the filter selects of a container that is not stored.
    pub fn match_absent(&mut self, child: &Child<'_>) -> ReadResult<Option<Matched>> {
        let (Some(filter), Some(here)) = (&self.filter, self.filter_here()) else {
            return Ok(Some(Matched::default()));
        };
        let (plan, is_inherited) = (filter.plan, self.inherits_selection());
        let active = here.active.iter();
        let named: Vec<PlanId> = active
            .flat_map(|&id| plan.children_of(id, child.node.id))
            .collect();
        let matched = self.fulfilled(&named, child)?;
        let is_entered = is_inherited || !matched.active.is_empty();
        Ok(is_entered.then_some(matched))
    }

    /// Whether the filter selects an entry of a leaf-list of the innermost frame. `list` is the length of the key of the
    /// whole leaf-list.
    pub fn match_entry(
        &self,
        node: &Node,
        key: &[u8],
        list: usize,
        row: &[u8],
    ) -> ReadResult<Option<Skip>> {
        let Some(filter) = self.filter.as_ref().filter(|_| !self.inherits_selection()) else {
            return Ok(None);
        };
        let child = Child {
            node,
            key,
            list,
            row: None,
            access: NodeAccess::All,
        };
        let named = self.plan_nodes_of(&child)?;
        let value = take_entry_value(row)?;
        let is_selected = |id: &PlanId| {
            let entry = filter.plan.node(*id);
            entry.selects && holds_for_value(&entry.conditions, &value)
        };
        match named.iter().any(is_selected) {
            true => Ok(None),
            false => Ok(Some(self.skip(key, named.is_empty()))),
        }
    }

    /// The plan nodes for the key of a child: those for its whole list, for its leading keys, and for itself.
    fn plan_nodes_of(&self, child: &Child<'_>) -> ReadResult<Vec<PlanId>> {
        let mut named = Vec::new();
        let Some(here) = self
            .filter_here()
            .filter(|here| !here.candidates.is_empty())
        else {
            return Ok(named);
        };
        let Child {
            node, key, list, ..
        } = *child;
        named.extend(here.at(&key[..list]));
        let mut rest = &key[list..];
        while !rest.is_empty() {
            match node.is_positional() {
                true => skip_entry(node, &mut rest)?,
                false => skip_key_values(&mut rest, 1)?,
            }
            named.extend(here.at(&key[..key.len() - rest.len()]));
        }
        Ok(named)
    }

    /// Where the scan continues after a child of which nothing is selected.
    pub fn skip(&self, key: &[u8], is_unnamed: bool) -> Skip {
        match self.filter_here() {
            Some(here) if is_unnamed && !self.inherits_selection() => match here.next(key) {
                Some(next) => Skip::To(next.clone()),
                None => Skip::Subtree(
                    self.frames
                        .last()
                        .map_or(self.outer_length, |frame| frame.length),
                ),
            },
            _ => Skip::Subtree(key.len()),
        }
    }

    /// The filter below a new frame with this key.
    pub fn frame_filter(&self, matched: Matched, key: Option<&[u8]>) -> ReadResult<FrameFilter> {
        let candidates = match key {
            Some(key) => self.candidates(&matched.active, key)?,
            None => Vec::new(),
        };
        Ok(FrameFilter {
            active: matched.active,
            candidates,
        })
    }

    /// The tree keys that plan nodes select below the instance with a key, sorted.
    fn candidates(&self, active: &[PlanId], key: &[u8]) -> ReadResult<Vec<(Vec<u8>, PlanId)>> {
        let mut candidates = Vec::new();
        let Some(filter) = &self.filter else {
            return Ok(candidates);
        };
        for (node, id) in active.iter().flat_map(|&id| &filter.plan.node(id).children) {
            match &filter.plan.node(*id).instance {
                Instance::TreeKey(own) if own.starts_with(key) => {
                    candidates.push((own.to_vec(), *id));
                }
                Instance::TreeKey(_) => {}
                Instance::Keys(keys) => {
                    let mut own = key.to_vec();
                    put_local_id(&mut own, self.state.layout().id(*node));
                    if self.state.put_entry(&mut own, *node, keys)? {
                        candidates.push((own, *id));
                    }
                }
            }
        }
        candidates.sort();
        Ok(candidates)
    }

    /// Evaluates the filter for the datastore; returns the range of what it selects.
    pub fn enter_root(&mut self, root: &[u8]) -> ReadResult<KeyRange> {
        let everything = KeyRange::prefix(root);
        let Some(plan) = self.filter.as_ref().map(|filter| filter.plan) else {
            return Ok(everything);
        };
        let mut active = Vec::new();
        let access = self.parent_access();
        for &id in plan.roots() {
            let conditions = &plan.node(id).conditions;
            if conditions.is_empty() || self.fulfils_at_root(conditions, root, access)? {
                active.push(id);
            }
        }
        let candidates = self.candidates(&active, root)?;
        let is_whole = active.iter().any(|&id| plan.node(id).selects);
        let range = match is_whole {
            true => everything,
            false => self.narrowed(&active, &candidates, everything)?,
        };
        self.filter = Some(FilterRead {
            plan,
            root: FrameFilter { active, candidates },
            is_whole,
        });
        Ok(range)
    }

    /// The smallest range that contains all selected keys with their entries.
    fn narrowed(
        &self,
        active: &[PlanId],
        candidates: &[(Vec<u8>, PlanId)],
        everything: KeyRange,
    ) -> ReadResult<KeyRange> {
        let plan = match &self.filter {
            Some(filter) => filter.plan,
            None => return Ok(everything),
        };
        // The leaves of the datastore are stored at its own key.
        let has_leaves = active.iter().any(|&id| !plan.node(id).leaves.is_empty());
        if has_leaves || self.reports_defaults {
            return Ok(everything);
        }
        let (mut candidates, mut within) = (candidates.to_vec(), None);
        loop {
            match candidates.as_slice() {
                [(key, id)] if self.is_passage(plan.node(*id)) => {
                    let (key, id) = (key.clone(), *id);
                    candidates = self.candidates(&[id], &key)?;
                    within = Some(key);
                }
                [(first, _), ..] => {
                    let ends = candidates.iter().map(|(key, _)| KeyRange::prefix(key).end);
                    let end = ends.max().flatten();
                    let start = first.clone();
                    return Ok(KeyRange { start, end });
                }
                [] => {
                    return Ok(KeyRange::prefix(
                        &within.unwrap_or(everything.start.clone()),
                    ));
                }
            }
        }
    }

    /// Whether a plan node only leads to its children: a container of which nothing else is read.
    fn is_passage(&self, node: &PlanNode) -> bool {
        let kind = node.node.map(|node| &self.state.schema().node(node).kind);
        let is_container = matches!(kind, Some(NodeKind::Container { .. }));
        is_container && !node.selects && node.conditions.is_empty() && node.leaves.is_empty()
    }
}

/// Whether conditions hold for an entry of a leaf-list.
fn holds_for_value(conditions: &[ContentCondition], value: &Value) -> bool {
    let has_value = |condition: &ContentCondition| {
        let mut values = condition.0.iter();
        values.any(|(_, wanted)| wanted == value)
    };
    conditions.iter().all(has_value)
}
