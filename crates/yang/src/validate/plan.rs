//! The compiled constraints of a schema, and how changes affect each of them.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::dependencies::Dependencies;
use super::leafref_target::TargetPath;
use super::route::{Route, ancestor, chain};
use super::sparse_lists::ByNode;
use crate::schema::{Node, NodeId, NodeKind, Schema, Type, TypeKind};
use crate::xpath::evaluate::resolved_type;

/// The id of a rule: an index into one [`ValidationPlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct RuleId(pub u32);

/// The kind of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RuleKind {
    /// A `must` of the node, by index.
    Must(usize),
    /// The `when`s of the node.
    When,
    /// The nodes that the values refer to exist (leafref, instance-identifier, and unions with these).
    Reference,
    /// The required children of a container, list entry or the root: mandatory nodes and choices, `min-elements`,
    /// `max-elements`.
    RequiredChildren,
    /// A `unique` of the list, by index.
    Unique(usize),
}

/// A constraint on the instances of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// The constrained node; `None` for the required children of the root.
    pub node: Option<NodeId>,
    /// Its kind.
    pub kind: RuleKind,
    /// The ancestor at whose instances the rule is checked: the result is the same for all instances of the node in one
    /// instance of the anchor.
    pub anchor: Option<NodeId>,
    /// The nodes from below the anchor down to the node.
    pub chain: Vec<NodeId>,
    /// Whether the result is the same for all instances in one parent, so that one check is enough.
    pub is_uniform: bool,
    /// The order of `when`s: each after those that it reads.
    pub rank: u32,
}

/// A rule to check because a node changed, and the route to trace back from that node to the rule's anchor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trigger {
    pub rule: RuleId,
    pub route: Route,
}

/// The required children of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequiredChildren {
    /// The rule.
    pub rule: Option<RuleId>,
    /// Mandatory leaves, `anydata` and `anyxml`.
    pub mandatory: Vec<NodeId>,
    /// Mandatory choices.
    pub choices: Vec<u32>,
    /// Lists and leaf-lists with a minimum or maximum number of entries.
    pub elements: Vec<NodeId>,
}

/// The compiled constraints of a schema. Immutable, shared between threads.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationPlan {
    pub(crate) rules: Vec<Rule>,
    /// For each node, the rules that read it.
    pub(crate) triggers: ByNode<Trigger>,
    /// For each node, the rules on its own instances.
    pub(crate) own_rules: ByNode<RuleId>,
    /// For each node (last: the root), the rules whose anchor it is.
    pub(crate) anchored: ByNode<RuleId>,
    /// For each node, the leafrefs that refer to it.
    pub(crate) referrers: ByNode<NodeId>,
    /// For each node, whether it or a descendant has rules, so that validation must visit it.
    pub(crate) has_rules: Vec<bool>,
    /// For each node, whether a change of it, or of a default in it, can affect a rule.
    pub(crate) affects_rules: Vec<bool>,
    /// For each node that is a leaf of a `unique`: the list and the index of the `unique`.
    pub(crate) uniques: FxHashMap<NodeId, Vec<(NodeId, usize)>>,
    /// The required children by node (`None`: the root).
    pub(crate) required_children: FxHashMap<Option<NodeId>, RequiredChildren>,
    /// For each node with references, the rule on them.
    pub(crate) references: FxHashMap<NodeId, RuleId>,
    /// For each leafref, its paths (a union may have several), by their text.
    pub(crate) targets: FxHashMap<NodeId, Vec<(Box<str>, TargetPath)>>,
    /// Rules that may read any node.
    pub(crate) unbounded_rules: Vec<RuleId>,
    /// Rules on values that may refer to any node.
    pub(crate) instance_identifiers: Vec<RuleId>,
    /// Leaves and leaf-lists with an index by value.
    pub(crate) indexed: Vec<bool>,
    /// Lists and leaf-lists whose number of entries is maintained.
    pub(crate) counted: Vec<bool>,
    /// Leaves in lists whose sum is maintained.
    pub(crate) summed: Vec<bool>,
    /// Leaves in lists with an index of their values in order, per list.
    pub(crate) ordered: Vec<bool>,
    /// For each node (last: the root), whether a leaf in its fragment belongs to an index.
    pub(crate) index_holders: Vec<bool>,
    /// For each node (last: the root), whether a change of its fragment can affect a rule.
    pub(crate) is_watched: Vec<bool>,
}

impl ValidationPlan {
    /// Compiles the constraints of a schema.
    pub fn compile(schema: &Schema) -> Self {
        let mut builder = PlanBuilder::new(schema);
        builder.add_required_children_rules();
        for node in schema.nodes() {
            builder.add_node_rules(node.id);
        }
        builder.finish()
    }

    /// The required children of a node (`None`: the root).
    pub(crate) fn required_children(&self, parent: Option<NodeId>) -> Option<&RequiredChildren> {
        self.required_children.get(&parent)
    }

    /// The compiled path of a leafref.
    pub(crate) fn target(&self, leafref: NodeId, path: &str) -> Option<&TargetPath> {
        let targets = self.targets.get(&leafref)?;
        let found = targets.iter().find(|(text, _)| **text == *path);
        found.map(|(_, target)| target)
    }

    /// Returns whether there is nothing to validate except types and structure.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether the store must maintain an index of a leaf or leaf-list by value.
    pub fn is_indexed(&self, node: NodeId) -> bool {
        self.indexed[node.0 as usize]
    }

    /// Returns whether the store must maintain the number of entries of a list or leaf-list.
    pub fn is_counted(&self, node: NodeId) -> bool {
        self.counted[node.0 as usize]
    }

    /// Returns whether the store must maintain the sum of a leaf per list.
    pub fn is_summed(&self, node: NodeId) -> bool {
        self.summed[node.0 as usize]
    }

    /// Returns whether the store must maintain an ordered index of a leaf per list.
    pub fn is_ordered(&self, node: NodeId) -> bool {
        self.ordered[node.0 as usize]
    }

    /// Returns whether leaves that are direct children of a node (`None`: the root) belong to an index, their own or
    /// that of a `unique`.
    pub fn has_indexed_leaves(&self, parent: Option<NodeId>) -> bool {
        let index = parent.map_or(self.index_holders.len() - 1, |node| node.0 as usize);
        self.index_holders[index]
    }

    /// Returns whether the creation, deletion or leaf changes of a node's instance (`None`: the root) can affect a
    /// rule.
    pub fn is_watched(&self, parent: Option<NodeId>) -> bool {
        let index = parent.map_or(self.is_watched.len() - 1, |node| node.0 as usize);
        self.is_watched[index]
    }

    pub(crate) fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.0 as usize]
    }

    pub(crate) fn anchored(&self, node: Option<NodeId>) -> &[RuleId] {
        let index = node.map_or(self.anchored.len() - 1, |node| node.0 as usize);
        &self.anchored[index]
    }
}

struct PlanBuilder<'s> {
    schema: &'s Schema,
    plan: ValidationPlan,
    /// The nodes that the `when` of each node reads, for the order.
    when_dependencies: FxHashMap<NodeId, Vec<NodeId>>,
}

impl<'s> PlanBuilder<'s> {
    fn new(schema: &'s Schema) -> Self {
        let nodes = schema.nodes().len();
        let plan = ValidationPlan {
            triggers: ByNode::new(nodes),
            own_rules: ByNode::new(nodes),
            anchored: ByNode::new(nodes + 1),
            referrers: ByNode::new(nodes),
            has_rules: vec![false; nodes],
            affects_rules: vec![false; nodes],
            indexed: vec![false; nodes],
            counted: vec![false; nodes],
            summed: vec![false; nodes],
            ordered: vec![false; nodes],
            ..ValidationPlan::default()
        };
        Self {
            schema,
            plan,
            when_dependencies: FxHashMap::default(),
        }
    }

    fn add(&mut self, node: Option<NodeId>, kind: RuleKind, levels: usize) -> RuleId {
        let id = RuleId(self.plan.rules.len() as u32);
        let anchor = ancestor(self.schema, node, levels);
        let chain = chain(self.schema, anchor, node).unwrap_or_default();
        self.plan.rules.push(Rule {
            node,
            kind,
            anchor,
            chain,
            is_uniform: false,
            rank: 0,
        });
        if let Some(node) = node {
            self.plan.own_rules[node.0 as usize].push(id);
        }
        let index = anchor.map_or(self.plan.anchored.len() - 1, |node| node.0 as usize);
        self.plan.anchored[index].push(id);
        id
    }

    /// Adds the rules on required children of the root and of every interior node, including those in operations and
    /// notifications: their input and output are validated by the same rules.
    fn add_required_children_rules(&mut self) {
        let schema = self.schema;
        let parents = std::iter::once(None).chain(schema.nodes().map(|node| Some(node.id)));
        let choices = mandatory_choices(schema);
        for parent in parents {
            let mut required = required_children_of(schema, parent, &choices);
            let lists = [&required.mandatory, &required.elements];
            if lists.iter().any(|nodes| !nodes.is_empty()) || !required.choices.is_empty() {
                required.rule = Some(self.add(parent, RuleKind::RequiredChildren, 0));
                self.plan.required_children.insert(parent, required);
            }
        }
        for node in schema.nodes() {
            let (min, max) = element_limits(&node.kind);
            self.plan.counted[node.id.0 as usize] |= node.is_config && (min > 1 || max.is_some());
        }
    }

    fn add_node_rules(&mut self, id: NodeId) {
        let schema = self.schema;
        if !is_validated(schema, id) {
            return;
        }
        let node = schema.node(id);
        let is_leaf = !matches!(
            node.kind,
            NodeKind::Container { .. }
                | NodeKind::List(_)
                | NodeKind::Input
                | NodeKind::Output
                | NodeKind::Notification
        );
        let least = usize::from(is_leaf);
        for (index, must) in node.musts.iter().enumerate() {
            let dependencies = Dependencies::of(schema, &must.expression, Some(id), 0);
            let levels_up = dependencies.common_levels_up();
            let rule = self.add(Some(id), RuleKind::Must(index), levels_up.max(least));
            self.plan.rules[rule.0 as usize].is_uniform = levels_up > 0;
            self.add_triggers(rule, dependencies);
        }
        if !node.whens.is_empty() {
            let rule = self.add(Some(id), RuleKind::When, 1);
            for when in &node.whens {
                let levels = usize::from(when.context_levels_up);
                let dependencies = Dependencies::of(schema, &when.expression, Some(id), levels);
                let ends = dependencies
                    .routes
                    .iter()
                    .filter_map(|route| route.last().end(schema));
                self.when_dependencies.entry(id).or_default().extend(ends);
                self.add_triggers(rule, dependencies);
            }
        }
        if let Some(value) = node.as_value()
            && has_reference(&value.value_type)
        {
            let rule = self.add(Some(id), RuleKind::Reference, 1);
            self.plan.references.insert(id, rule);
            self.add_reference(rule, id, &value.value_type);
        }
        if let Some(list) = node.as_list() {
            for (index, leaves) in list.unique.iter().enumerate() {
                self.add(Some(id), RuleKind::Unique(index), 0);
                for &leaf in leaves {
                    self.plan.uniques.entry(leaf).or_default().push((id, index));
                }
            }
        }
    }

    /// Adds the triggers of a rule: it is checked when something that it reads changes.
    fn add_triggers(&mut self, rule: RuleId, dependencies: Dependencies) {
        for list in &dependencies.counted {
            self.plan.counted[list.0 as usize] = true;
        }
        for &leaf in &dependencies.summed {
            self.plan.summed[leaf.0 as usize] |= is_integer(self.schema, leaf);
        }
        for &leaf in &dependencies.ordered {
            self.plan.ordered[leaf.0 as usize] |= is_number(self.schema, leaf);
        }
        if dependencies.is_unbounded {
            self.plan.unbounded_rules.push(rule);
            return;
        }
        for route in dependencies.routes {
            let Some(end) = route.last().end(self.schema) else {
                continue;
            };
            for segment in &route.segments {
                for join in &segment.joins {
                    if let Some(&leaf) = join.down.last() {
                        self.plan.indexed[leaf.0 as usize] = true;
                    }
                    if let Some(&leaf) = join.leaf.last() {
                        self.index_unless_key(leaf);
                    }
                }
                if let Some(leaf) = segment.start.filter(|_| route.segments.len() > 1) {
                    self.plan.indexed[leaf.0 as usize] |=
                        self.schema.node(leaf).as_value().is_some();
                }
            }
            for segment in &route.segments[..route.segments.len() - 1] {
                if let Some(leaf) = segment.end(self.schema) {
                    self.plan.indexed[leaf.0 as usize] = true;
                }
            }
            self.plan.triggers[end.0 as usize].push(Trigger { rule, route });
        }
    }

    /// Adds an index, by which expressions find entries by the value of a leaf, unless the leaf is a key.
    fn index_unless_key(&mut self, leaf: NodeId) {
        let node = self.schema.node(leaf);
        let is_only_key = node
            .parent
            .is_some_and(|parent| self.schema.node(parent).keys() == [leaf]);
        if !is_only_key && !node.is_leaf_list() {
            self.plan.indexed[leaf.0 as usize] = true;
        }
    }

    fn add_reference(&mut self, rule: RuleId, id: NodeId, value_type: &Type) {
        match &value_type.kind {
            TypeKind::LeafRef {
                path,
                target: Some(target),
                require_instance: true,
                ..
            } => {
                self.plan.indexed[id.0 as usize] = true;
                self.plan.referrers[target.0 as usize].push(id);
                let compiled = TargetPath::compile(self.schema, path, *target);
                if !compiled
                    .as_ref()
                    .is_some_and(|path| path.is_direct(self.schema))
                {
                    self.plan.indexed[target.0 as usize] = true;
                }
                if let Some(compiled) = compiled {
                    let targets = self.plan.targets.entry(id).or_default();
                    targets.push((path.text.clone(), compiled));
                }
                let mut dependencies = Dependencies::of(self.schema, path, Some(id), 0);
                // The target is found by its value, not by the route.
                let schema = self.schema;
                dependencies.routes.retain(|route| {
                    let end = route.last().end(schema);
                    end.is_none_or(|end| !is_on_path_to(schema, end, *target))
                });
                self.add_triggers(rule, dependencies);
            }
            TypeKind::InstanceIdentifier {
                require_instance: true,
                ..
            } => {
                self.plan.indexed[id.0 as usize] = true;
                self.plan.instance_identifiers.push(rule);
            }
            TypeKind::Union(members) => {
                for member in members.iter().filter(|member| has_reference(member)) {
                    self.add_reference(rule, id, member);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> ValidationPlan {
        let schema = self.schema;
        for index in 0..self.plan.rules.len() {
            if self.plan.rules[index].kind == RuleKind::When
                && let Some(node) = self.plan.rules[index].node
            {
                self.plan.rules[index].rank = self.rank(node, &mut Vec::new());
            }
        }
        // Nodes precede their children, so in reverse order every child is processed first.
        for index in (0..schema.nodes().len()).rev() {
            let node = schema.node(NodeId(index as u32));
            let plan = &self.plan;
            let below = |flags: &[bool]| node.children.iter().any(|child| flags[child.0 as usize]);
            let is_leaf = node.as_value().is_some();
            let has_rules = !plan.anchored[index].is_empty() || below(&plan.has_rules);
            let affects_rules = !plan.triggers[index].is_empty()
                || !plan.own_rules[index].is_empty()
                || !plan.referrers[index].is_empty()
                || plan.uniques.contains_key(&node.id)
                || !plan.instance_identifiers.is_empty()
                || !is_leaf && below(&plan.affects_rules);
            self.plan.has_rules[index] = has_rules;
            self.plan.affects_rules[index] = affects_rules;
        }
        self.compute_watched();
        self.plan
    }

    /// Computes for each node whether changes in its instances can affect a rule.
    fn compute_watched(&mut self) {
        let schema = self.schema;
        let nodes = schema.nodes().map(|node| Some(node.id));
        for parent in nodes.chain([None]) {
            let plan = &self.plan;
            let children = parent.map_or(schema.roots(), |node| &schema.node(node).children);
            let own_rules = parent.map(|node| schema.node(node));
            let is_in_unique = |&child: &NodeId| plan.uniques.contains_key(&child);
            let holds_index = |child: &NodeId| {
                let has_index =
                    plan.is_indexed(*child) || plan.is_summed(*child) || plan.is_ordered(*child);
                has_index && !schema.node(*child).is_leaf_list()
            };
            // An entry may have default values without the containers that contain them.
            let has_unique = own_rules
                .and_then(Node::as_list)
                .is_some_and(|list| !list.unique.is_empty());
            let index_holder =
                has_unique || children.iter().any(is_in_unique) || children.iter().any(holds_index);
            let affects_rules = |&child: &NodeId| {
                let index = child.0 as usize;
                plan.affects_rules[index]
                    || plan.has_rules[index]
                    || !schema.node(child).cases.is_empty()
            };
            let ancestor_affects_rules = |node: &Node| {
                plan.affects_rules[node.id.0 as usize]
                    || !plan.anchored[node.id.0 as usize].is_empty()
                    || !node.cases.is_empty()
                    || plan.required_children.contains_key(&node.parent)
            };
            // A node created in a container without presence makes that container and its ancestors count as existing.
            let around = |node: &&Node| {
                let parent = schema.node(node.parent?);
                parent.is_np_container().then_some(parent)
            };
            let mut nodes_with_value = std::iter::successors(own_rules, around);
            let is_watched = !plan.unbounded_rules.is_empty()
                || !plan.instance_identifiers.is_empty()
                || plan.required_children.contains_key(&parent)
                || children.iter().any(affects_rules)
                || nodes_with_value.any(ancestor_affects_rules);
            self.plan.index_holders.push(index_holder);
            self.plan.is_watched.push(is_watched);
        }
    }

    /// The position of a node's `when` in the order: after those of its ancestors, and after those of the nodes that
    /// it reads.
    fn rank(&self, node: NodeId, path: &mut Vec<NodeId>) -> u32 {
        if path.contains(&node) {
            return 0;
        }
        path.push(node);
        let schema = self.schema;
        let around = schema.node(node).parent;
        let read = self
            .when_dependencies
            .get(&node)
            .into_iter()
            .flatten()
            .copied();
        let mut rank = 0;
        for end in around.into_iter().chain(read) {
            let mut at = Some(end);
            while let Some(other) = at {
                if other != node && !schema.node(other).whens.is_empty() {
                    rank = rank.max(self.rank(other, path) + 1);
                }
                at = schema.node(other).parent;
            }
        }
        path.pop();
        rank
    }
}

/// Returns whether the constraints of a node are validated. Those of state data are not: state data report the actual
/// state (RFC 8342 §5.3), which may violate the model.
pub(crate) fn is_validated(schema: &Schema, node: NodeId) -> bool {
    let is_operation = |&id: &NodeId| {
        matches!(
            schema.node(id).kind,
            NodeKind::Rpc
                | NodeKind::Action
                | NodeKind::Input
                | NodeKind::Output
                | NodeKind::Notification
        )
    };
    schema.node(node).is_config
        || std::iter::successors(Some(node), |&id| schema.node(id).parent)
            .any(|id| is_operation(&id))
}

fn is_integer(schema: &Schema, leaf: NodeId) -> bool {
    let value = schema.node(leaf).as_value();
    value
        .is_some_and(|value| matches!(resolved_type(&value.value_type).kind, TypeKind::Integer(..)))
}

fn is_number(schema: &Schema, leaf: NodeId) -> bool {
    let value = schema.node(leaf).as_value();
    let kind = value.map(|value| &resolved_type(&value.value_type).kind);
    matches!(kind, Some(TypeKind::Integer(..) | TypeKind::Decimal64(..)))
}

/// The minimum and maximum number of entries of a list or leaf-list.
pub(crate) fn element_limits(kind: &NodeKind) -> (u32, Option<u32>) {
    match kind {
        NodeKind::List(list) => (list.min_elements, list.max_elements),
        NodeKind::LeafList(value) => (value.min_elements, value.max_elements),
        _ => (0, None),
    }
}

/// The required children of a node, or of the top level.
fn required_children_of(
    schema: &Schema,
    parent: Option<NodeId>,
    choices: &FxHashMap<Option<NodeId>, Vec<u32>>,
) -> RequiredChildren {
    let children = parent.map_or(schema.roots(), |node| schema.node(node).children.as_slice());
    let mut required = RequiredChildren::default();
    for &child in children {
        let (min, max) = element_limits(&schema.node(child).kind);
        if !is_validated(schema, child) {
            continue;
        }
        if is_mandatory_leaf(schema, child) {
            required.mandatory.push(child);
        }
        if min > 0 || max.is_some() {
            required.elements.push(child);
        }
    }
    let is_operation = parent.is_some_and(|parent| is_validated(schema, parent));
    let choices = choices.get(&parent).into_iter().flatten().copied();
    let is_required = |index: &u32| schema.choices()[*index as usize].is_config || is_operation;
    required.choices.extend(choices.filter(is_required));
    required
}

/// The mandatory choices by parent node.
fn mandatory_choices(schema: &Schema) -> FxHashMap<Option<NodeId>, Vec<u32>> {
    let mut found = FxHashMap::<_, Vec<u32>>::default();
    let choices = (0..).zip(schema.choices());
    for (index, choice) in choices.filter(|(_, choice)| choice.is_mandatory) {
        found.entry(choice.parent).or_default().push(index);
    }
    found
}

/// Returns whether a node is mandatory by itself. A container is not, but its children may be.
pub(crate) fn is_mandatory_leaf(schema: &Schema, node: NodeId) -> bool {
    let node = schema.node(node);
    node.is_mandatory
        && matches!(
            node.kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        )
}

/// Returns whether values of a type refer to nodes that must exist.
pub(crate) fn has_reference(value_type: &Type) -> bool {
    match &value_type.kind {
        TypeKind::LeafRef {
            require_instance, ..
        }
        | TypeKind::InstanceIdentifier {
            require_instance, ..
        } => *require_instance,
        TypeKind::Union(members) => members.iter().any(has_reference),
        _ => false,
    }
}

/// Returns whether a node is the target of a leafref, an ancestor of it, or a key of an ancestor list: these do not
/// change without the target.
pub(super) fn is_on_path_to(schema: &Schema, node: NodeId, target: NodeId) -> bool {
    let mut around = std::iter::successors(Some(target), |&id| schema.node(id).parent);
    around.any(|id| id == node || schema.node(id).keys().contains(&node))
}
