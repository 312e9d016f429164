//! Copies the schema tree: choices and cases are flattened, everything else is kept.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::error::{SchemaError, SchemaErrors};
use super::ffi::{self, NodeType};
use super::modules::Indexes;
use super::patterns::ReplacedPatterns;
use super::types::{self, ModelPrefixes, TypeCopier};
use super::unique::{self, UniqueStatement};
use crate::schema::{
    Case, CaseChoice, Choice, Constraint, ListNode, ModuleId, Node, NodeId, NodeKind, Ordering,
    Schema, Secrecy, Status, TypeKind, ValueNode,
};

/// The maximum nesting depth of schema nodes.
pub const SCHEMA_DEPTH_MAX: usize = 500;

/// Copies all nodes into `schema`, which already contains the modules and identities.
pub(super) fn copy(
    context: &ffi::Context<'_>,
    replaced: &ReplacedPatterns,
    indexes: Indexes,
    schema: Schema,
) -> Result<Schema, SchemaErrors> {
    let mut walk = Walk {
        schema,
        types: TypeCopier::new(&indexes, replaced),
        indexes: &indexes,
        ids: FxHashMap::default(),
        leafrefs: Vec::new(),
        defaults: Vec::new(),
        lists: Vec::new(),
        errors: Vec::new(),
    };
    let mut modules = context.modules();
    modules.sort_by_key(|module| (module.name(), module.revision()));
    modules.retain(|module| indexes.modules.contains_key(&module.address()));
    for &module in &modules {
        let mut roots = Vec::new();
        walk.siblings(module.data(), &Inherited::default(), &mut roots);
        walk.schema.roots.append(&mut roots);
    }
    for &module in &modules {
        let mut operations = Vec::new();
        walk.siblings(module.operations(), &Inherited::default(), &mut operations);
        walk.schema.operations.append(&mut operations);
    }
    for &module in &modules {
        let mut notifications = Vec::new();
        walk.siblings(
            module.notifications(),
            &Inherited::default(),
            &mut notifications,
        );
        walk.schema.notifications.append(&mut notifications);
    }
    walk.finish(&modules)
}

/// The properties that a node inherits from its ancestors.
#[derive(Clone, Default)]
struct Inherited<'c> {
    parent: Option<NodeId>,
    /// The ancestor data nodes, outermost first, to count levels.
    above: Vec<usize>,
    cases: Vec<CaseChoice>,
    whens: Vec<ffi::Condition<'c>>,
    is_in_input: bool,
    secrecy: Secrecy,
}

struct Walk<'c, 'i> {
    schema: Schema,
    types: TypeCopier<'i>,
    indexes: &'i Indexes,
    ids: FxHashMap<usize, NodeId>,
    /// Leaves whose type has leafrefs, for a second pass.
    leafrefs: Vec<(NodeId, ffi::Node<'c>)>,
    /// Leaves and leaf-lists that have defaults, for a second pass.
    defaults: Vec<(NodeId, ffi::Node<'c>)>,
    /// Lists that have `unique`, for a second pass.
    lists: Vec<(NodeId, ffi::Node<'c>)>,
    errors: Vec<SchemaError>,
}

impl<'c> Walk<'c, '_> {
    fn siblings(
        &mut self,
        first: Option<ffi::Node<'c>>,
        inherited: &Inherited<'c>,
        children: &mut Vec<NodeId>,
    ) {
        for node in first.into_iter().flat_map(ffi::Node::and_siblings) {
            self.node(node, inherited, children);
        }
    }

    fn node(&mut self, node: ffi::Node<'c>, inherited: &Inherited<'c>, children: &mut Vec<NodeId>) {
        match node.node_type().filter(|_| !node.is_internal()) {
            Some(NodeType::Choice) => self.choice(node, inherited, children),
            Some(node_type) => children.extend(self.data_node(node, node_type, inherited)),
            None => {}
        }
    }

    fn choice(
        &mut self,
        node: ffi::Node<'c>,
        inherited: &Inherited<'c>,
        children: &mut Vec<NodeId>,
    ) {
        let index = u32::try_from(self.schema.choices.len()).unwrap_or(u32::MAX);
        let mut inner = inherited.clone();
        inner.whens.extend(node.whens());
        let cases = node.children();
        let default_case = node.default_case().and_then(|default| {
            cases
                .iter()
                .position(|case| case.address() == default.address())
        });
        let choice = Choice {
            name: node.name().into(),
            module: self.module(node),
            parent: inherited.parent,
            enclosing: inherited.cases.clone(),
            is_mandatory: node.is_mandatory(),
            is_config: node.is_config(),
            default_case: default_case.and_then(|position| u32::try_from(position).ok()),
            cases: cases
                .iter()
                .map(|&case| Case {
                    name: case.name().into(),
                    module: self.module(case),
                })
                .collect(),
            whens: self.constraints(node, &inner.whens, &inherited.above),
            status: status(node),
            description: node.description().map(Into::into),
        };
        self.schema.choices.push(choice);
        for (position, &case) in (0..).zip(&cases) {
            let mut within = inner.clone();
            within.whens.extend(case.whens());
            within.cases.push(CaseChoice {
                choice: index,
                case: position,
            });
            for child in case.children() {
                self.node(child, &within, children);
            }
        }
    }

    fn data_node(
        &mut self,
        node: ffi::Node<'c>,
        node_type: NodeType,
        inherited: &Inherited<'c>,
    ) -> Option<NodeId> {
        if inherited.above.len() >= SCHEMA_DEPTH_MAX {
            self.fail(
                node,
                format!("Nodes are nested deeper than {SCHEMA_DEPTH_MAX}."),
            );
            return None;
        }
        let id = NodeId(u32::try_from(self.schema.nodes.len()).ok()?);
        self.ids.insert(node.address(), id);
        let mut above = inherited.above.clone();
        above.push(node.address());
        let mut whens = inherited.whens.clone();
        whens.extend(node.whens());
        let secrecy = secrecy(node, inherited);
        let kind = self.kind(node, node_type, id, secrecy)?;
        let copied = Node {
            id,
            kind,
            name: node.name().into(),
            module: self.module(node),
            parent: inherited.parent,
            children: Vec::new(),
            cases: inherited.cases.clone(),
            is_config: node.is_config(),
            is_mandatory: is_mandatory(node, node_type),
            status: status(node),
            description: node.description().map(Into::into),
            musts: self.constraints(node, &node.musts(), &above),
            whens: self.constraints(node, &whens, &above),
            extensions: node
                .extensions()
                .into_iter()
                .map(|(module, name, argument)| {
                    (format!("{module}:{name}").into(), argument.map(Into::into))
                })
                .collect(),
        };
        self.schema.nodes.push(copied);
        let inner = Inherited {
            parent: Some(id),
            above,
            cases: Vec::new(),
            whens: Vec::new(),
            is_in_input: inherited.is_in_input || node_type == NodeType::Input,
            secrecy,
        };
        let mut children = Vec::new();
        for child in node.children() {
            self.node(child, &inner, &mut children);
        }
        self.set_children(id, children, inherited);
        Some(id)
    }

    /// `above` are the data nodes from the root down to the one that the conditions belong to.
    fn constraints(
        &mut self,
        node: ffi::Node<'c>,
        conditions: &[ffi::Condition<'_>],
        above: &[usize],
    ) -> Vec<Constraint> {
        let mut constraints = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let text = condition.text;
            match types::condition(condition) {
                Ok(expression) => constraints.push(Constraint {
                    text: text.into(),
                    expression,
                    error_message: condition.error_message.map(Into::into),
                    error_app_tag: condition.error_app_tag.map(Into::into),
                    context_levels_up: levels_up(condition.context, above),
                }),
                Err(error) => {
                    self.fail(node, format!("\"{text}\" cannot be parsed: {error}"));
                }
            }
        }
        constraints
    }

    /// Sets the keys of a list too, because they are among its children.
    fn set_children(&mut self, id: NodeId, children: Vec<NodeId>, inherited: &Inherited<'c>) {
        let is_key = |&child: &NodeId| {
            let value = self.schema.node(child).as_value();
            value.is_some_and(|value| value.is_key)
        };
        let keys: Vec<NodeId> = children.iter().copied().filter(is_key).collect();
        let Some(node) = self.schema.nodes.get_mut(id) else {
            return;
        };
        node.children = children;
        let is_output = !node.is_config && !inherited.is_in_input;
        if let NodeKind::List(list) = &mut node.kind {
            // RFC 7950 §7.7.7: `ordered-by` is ignored for state data and output.
            if is_output && !keys.is_empty() {
                list.ordering = Ordering::System;
            }
            list.keys = keys;
        }
    }

    fn kind(
        &mut self,
        node: ffi::Node<'c>,
        node_type: NodeType,
        id: NodeId,
        secrecy: Secrecy,
    ) -> Option<NodeKind> {
        Some(match node_type {
            NodeType::Container => NodeKind::Container {
                presence: node.has_presence(),
            },
            NodeType::List => {
                self.lists.push((id, node));
                NodeKind::List(list_node(node))
            }
            NodeType::Leaf => NodeKind::Leaf(self.value_node(node, id, secrecy)?),
            NodeType::LeafList => NodeKind::LeafList(self.value_node(node, id, secrecy)?),
            NodeType::AnyData => NodeKind::AnyData,
            NodeType::AnyXml => NodeKind::AnyXml,
            NodeType::Rpc => NodeKind::Rpc,
            NodeType::Action => NodeKind::Action,
            NodeType::Input => NodeKind::Input,
            NodeType::Output => NodeKind::Output,
            NodeType::Notification => NodeKind::Notification,
            NodeType::Choice | NodeType::Case => return None,
        })
    }

    fn value_node(
        &mut self,
        node: ffi::Node<'c>,
        id: NodeId,
        secrecy: Secrecy,
    ) -> Option<ValueNode> {
        let compiled = node.value_type()?;
        let value_type = match self.types.copy(node, compiled, secrecy) {
            Ok(copied) => copied,
            Err(message) => {
                self.fail(node, message);
                return None;
            }
        };
        if value_type.has_leafref() {
            self.leafrefs.push((id, node));
        }
        if !node.defaults().is_empty() {
            self.defaults.push((id, node));
        }
        let (min_elements, max_elements) = node.element_limits();
        Some(ValueNode {
            value_type,
            defaults: Vec::new(),
            units: node.units().map(Into::into),
            is_key: node.is_key(),
            ordering: ordering(node),
            min_elements,
            max_elements,
        })
    }

    fn module(&self, node: ffi::Node<'c>) -> ModuleId {
        let module = node.module();
        let id = module.and_then(|module| self.indexes.modules.get(&module.address()));
        id.copied().unwrap_or(ModuleId(0))
    }

    fn fail(&mut self, node: ffi::Node<'c>, message: String) {
        let path = schema_path(node);
        let module = node.module();
        self.errors.push(SchemaError {
            module: module.map_or_else(String::new, |module| {
                super::texts::file_name(module.name(), module.revision())
            }),
            line: 0,
            path,
            message,
        });
    }

    /// The effective `unique` statements of a list.
    fn uniques(
        &self,
        list: NodeId,
        node: ffi::Node<'c>,
        added: &[(&str, &str)],
    ) -> Vec<Vec<NodeId>> {
        let compiled = node.uniques();
        if compiled.is_empty() {
            return Vec::new();
        }
        let path = self.names_between(None, list);
        let added = added.iter();
        let added = added.filter(|(target, _)| unique::leads_to(&unique::segments(target), &path));
        let arguments = node.parsed_uniques().into_iter();
        let arguments = arguments.chain(added.map(|&(_, argument)| argument));
        let statements: Vec<UniqueStatement<'_>> = arguments.map(UniqueStatement::parse).collect();
        let leaves = compiled.into_iter().filter_map(|addresses| {
            let ids = addresses
                .iter()
                .map(|address| self.ids.get(address).copied());
            ids.collect::<Option<Vec<NodeId>>>()
        });
        let mut binding: Vec<Vec<NodeId>> = Vec::new();
        for leaves in leaves {
            let names = leaves
                .iter()
                .map(|&leaf| self.names_between(Some(list), leaf));
            let names: Vec<_> = names.collect();
            let is_whole = statements
                .iter()
                .any(|statement| statement.has_leaves(&names));
            // Without its disabled leaves, one statement may equal another.
            if is_whole && !binding.contains(&leaves) {
                binding.push(leaves);
            }
        }
        binding
    }

    /// The names of the data nodes on the path from a node (`None`: the root) down to another.
    fn names_between(&self, from: Option<NodeId>, to: NodeId) -> Vec<&str> {
        let above = std::iter::successors(Some(to), |&id| self.schema.node(id).parent);
        let mut names: Vec<&str> = above
            .take_while(|&id| Some(id) != from)
            .map(|id| &*self.schema.node(id).name)
            .collect();
        names.reverse();
        names
    }

    fn finish(mut self, modules: &[ffi::Module<'c>]) -> Result<Schema, SchemaErrors> {
        let added = modules.iter().flat_map(|module| module.added_uniques());
        let added: Vec<_> = added.collect();
        for (id, node) in std::mem::take(&mut self.lists) {
            let unique = self.uniques(id, node, &added);
            let node = self.schema.nodes.get_mut(id);
            if let Some(NodeKind::List(list)) = node.map(|node| &mut node.kind) {
                list.unique = unique;
            }
        }
        for (id, node) in std::mem::take(&mut self.leafrefs) {
            let targets = node.leafref_targets().into_iter();
            let targets: Vec<Option<NodeId>> = targets.map(|target| self.id(target)).collect();
            if let Some(value) = self.value_mut(id) {
                set_targets(&mut Arc::make_mut(&mut value.value_type).kind, &targets);
            }
        }
        index_names(&mut self.schema);
        for (id, node) in std::mem::take(&mut self.defaults) {
            self.set_defaults(id, node);
        }
        if self.errors.is_empty() {
            Ok(self.schema)
        } else {
            Err(SchemaErrors::new(self.errors))
        }
    }

    fn set_defaults(&mut self, id: NodeId, node: ffi::Node<'c>) {
        let mut values = Vec::new();
        for default in node.defaults() {
            let names = ModelPrefixes::new(&default.prefixes, self.indexes);
            let value_type = self
                .schema
                .node(id)
                .as_value()
                .map(|value| &value.value_type);
            let parsed = value_type
                .map(|value_type| value_type.parse_default(&self.schema, default.text, &names));
            match parsed {
                Some(Ok(value)) => values.push(value),
                Some(Err(error)) => self.fail(node, format!("The default is invalid: {error}.")),
                None => {}
            }
        }
        if let Some(value) = self.value_mut(id) {
            value.defaults = values;
        }
    }

    fn value_mut(&mut self, id: NodeId) -> Option<&mut ValueNode> {
        match &mut self.schema.nodes.get_mut(id)?.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => Some(value),
            _ => None,
        }
    }

    fn id(&self, node: ffi::Node<'c>) -> Option<NodeId> {
        self.ids.get(&node.address()).copied()
    }
}

/// `targets` are the targets of the leafrefs in order; if their number differs, the assignment is unknown.
fn set_targets(kind: &mut TypeKind, targets: &[Option<NodeId>]) {
    match kind {
        TypeKind::LeafRef { target, .. } => *target = targets.first().copied().flatten(),
        TypeKind::Union(members) => {
            let leafrefs = members
                .iter_mut()
                .filter(|member| matches!(member.kind, TypeKind::LeafRef { .. }));
            let leafrefs: Vec<_> = leafrefs.collect();
            if leafrefs.len() == targets.len() {
                for (member, target) in leafrefs.into_iter().zip(targets) {
                    set_targets(&mut member.kind, &[*target]);
                }
            }
        }
        _ => {}
    }
}

fn index_names(schema: &mut Schema) {
    let top = [&schema.roots, &schema.operations, &schema.notifications];
    let top = top.into_iter().flatten();
    let names = top.map(|&id| (schema.node(id).name.clone(), id));
    schema.top_names = names.collect();
    schema.nodes.index();
}

/// The extension that marks nodes whose content is secret (RFC 8341 §3.7).
const SECRET_MARK: (&str, &str) = ("ietf-netconf-acm", "default-deny-all");

fn secrecy(node: ffi::Node<'_>, inherited: &Inherited<'_>) -> Secrecy {
    let mut extensions = node.extensions().into_iter();
    let is_marked = extensions.any(|(module, name, _)| (module, name) == SECRET_MARK);
    match is_marked {
        true => Secrecy::Secret,
        false => inherited.secrecy,
    }
}

fn list_node(node: ffi::Node<'_>) -> ListNode {
    let (min_elements, max_elements) = node.element_limits();
    ListNode {
        keys: Vec::new(),
        ordering: ordering(node),
        min_elements,
        max_elements,
        unique: Vec::new(),
    }
}

fn ordering(node: ffi::Node<'_>) -> Ordering {
    if node.is_ordered_by_user() {
        Ordering::User
    } else {
        Ordering::System
    }
}

fn status(node: ffi::Node<'_>) -> Status {
    if node.is_obsolete() {
        Status::Obsolete
    } else if node.is_deprecated() {
        Status::Deprecated
    } else {
        Status::Current
    }
}

/// libyang also marks containers and lists that contain mandatory nodes; in RFC 7950 §7.6.5 `mandatory` exists only for
/// leaves and `anydata` (and choices).
fn is_mandatory(node: ffi::Node<'_>, node_type: NodeType) -> bool {
    let may_be = matches!(
        node_type,
        NodeType::Leaf | NodeType::AnyData | NodeType::AnyXml
    );
    may_be && node.is_mandatory()
}

/// The number of levels from the last of `above` up to the context node; choices and cases do not count.
fn levels_up(context: ffi::ContextNode<'_>, above: &[usize]) -> u8 {
    let mut node = match context {
        ffi::ContextNode::Own => return 0,
        ffi::ContextNode::Root => None,
        ffi::ContextNode::Node(node) => Some(node),
    };
    let mut levels = above.len();
    while let Some(candidate) = node {
        let address = candidate.address();
        if let Some(position) = above.iter().rposition(|&other| other == address) {
            levels = above.len() - 1 - position;
            break;
        }
        node = candidate.parent();
    }
    u8::try_from(levels).unwrap_or(u8::MAX)
}

/// The path as in `/module:container/leaf`, for messages.
fn schema_path(node: ffi::Node<'_>) -> String {
    let parent = node.parent();
    let module_of = |node: ffi::Node<'_>| node.module().map_or(0, ffi::Module::address);
    let above = parent.map(schema_path).unwrap_or_default();
    match node.module() {
        Some(module) if parent.map(module_of) != Some(module.address()) => {
            format!("{above}/{}:{}", module.name(), node.name())
        }
        _ => format!("{above}/{}", node.name()),
    }
}
