//! Tree diagrams (RFC 8340).

use std::fmt::Write as _;

use crate::schema::{CaseChoice, ModuleId, Node, NodeId, NodeKind, Schema, Status, Type, TypeKind};

/// The number of spaces between the longest name of some siblings and their types.
const GAP: usize = 3;

/// The tree diagram of a module: its data nodes, its augments of other modules, its RPCs and its notifications. Nodes
/// that other modules add to it are shown, with their prefix.
pub fn tree_diagram(schema: &Schema, module: ModuleId) -> String {
    let mut diagram = Diagram {
        schema,
        module,
        text: format!("module: {}\n", schema.module(module).name),
    };
    let own = |ids: &[NodeId]| -> Vec<NodeId> {
        let ids = ids.iter().copied();
        ids.filter(|&id| schema.node(id).module == module).collect()
    };
    diagram.siblings(&own(schema.roots()), 0, "  ", Section::Data);
    let mut is_first = true;
    for augment in diagram.augments() {
        let separator = if is_first { "\n" } else { "" };
        is_first = false;
        let _ = writeln!(diagram.text, "{separator}  augment {}:", augment.target);
        let section = diagram.section_of(augment.nodes[0]);
        match augment.choice {
            Some(choice) => diagram.cases(choice, &augment.nodes, augment.depth, "    ", section),
            None => diagram.siblings(&augment.nodes, augment.depth, "    ", section),
        }
    }
    let sections = [
        ("rpcs", own(schema.operations())),
        ("notifications", own(schema.notifications())),
    ];
    for (title, ids) in sections.iter().filter(|(_, ids)| !ids.is_empty()) {
        let _ = writeln!(diagram.text, "\n  {title}:");
        diagram.siblings(ids, 0, "    ", Section::Data);
    }
    diagram.text
}

/// The part of a module that a node is in, as far as it affects its flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Data,
    Input,
    Output,
    Notification,
}

/// One line and its descendants.
enum Item {
    Node(NodeId),
    Choice(u32, Vec<NodeId>),
}

/// The nodes that a module adds to one node, choice or case of another module.
#[derive(Default)]
struct Augment {
    /// The path of the `augment` statement.
    target: String,
    nodes: Vec<NodeId>,
    /// The number of enclosing choices that belong to the target.
    depth: usize,
    /// The choice, if cases are added to one.
    choice: Option<u32>,
}

struct Diagram<'s> {
    schema: &'s Schema,
    module: ModuleId,
    text: String,
}

impl Diagram<'_> {
    /// `depth` is the number of enclosing choices that have been shown already.
    fn siblings(&mut self, ids: &[NodeId], depth: usize, indent: &str, section: Section) {
        let items = self.items(ids, depth);
        let nodes = items.iter().filter_map(|item| match item {
            Item::Node(id) => Some(self.name(*id).chars().count() + 1),
            Item::Choice(..) => None,
        });
        let width = nodes.max().unwrap_or(0) + GAP;
        let count = items.len();
        for (index, item) in items.into_iter().enumerate() {
            let below = if index + 1 < count { "|  " } else { "   " };
            let below = format!("{indent}{below}");
            match item {
                Item::Node(id) => self.node(id, indent, &below, width, section),
                Item::Choice(choice, ids) => {
                    self.choice(choice, &ids, depth, [indent, &below], section);
                }
            }
        }
    }

    /// Groups the nodes of each choice; they are contiguous.
    fn items(&self, ids: &[NodeId], depth: usize) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for &id in ids {
            let place = self.schema.node(id).cases.get(depth);
            match (place.map(|place| place.choice), items.last_mut()) {
                (None, _) => items.push(Item::Node(id)),
                (Some(choice), Some(Item::Choice(last, ids))) if *last == choice => ids.push(id),
                (Some(choice), _) => items.push(Item::Choice(choice, vec![id])),
            }
        }
        items
    }

    fn choice(
        &mut self,
        choice: u32,
        ids: &[NodeId],
        depth: usize,
        [indent, below]: [&str; 2],
        section: Section,
    ) {
        let found = &self.schema.choices()[choice as usize];
        let status = status_mark(found.status);
        let flags = flags(found.is_config, section);
        let name = self.prefixed(found.module, &found.name);
        let option = if found.is_mandatory { "" } else { "?" };
        let _ = writeln!(self.text, "{indent}{status}--{flags} ({name}){option}");
        self.cases(choice, ids, depth, below, section);
    }

    /// The cases that have nodes here.
    fn cases(&mut self, choice: u32, ids: &[NodeId], depth: usize, indent: &str, section: Section) {
        let found = &self.schema.choices()[choice as usize];
        let used = |case: u32| -> Vec<NodeId> {
            let ids = ids.iter().copied();
            ids.filter(|&id| self.schema.node(id).cases[depth].case == case)
                .collect()
        };
        let cases = (0..).zip(&found.cases);
        let mut cases: Vec<_> = cases.map(|(index, case)| (case, used(index))).collect();
        cases.retain(|(_, ids)| !ids.is_empty());
        let last = cases.len().saturating_sub(1);
        for (index, (case, ids)) in cases.into_iter().enumerate() {
            let status = status_mark(self.schema.node(ids[0]).status);
            let name = self.prefixed(case.module, &case.name);
            let _ = writeln!(self.text, "{indent}{status}--:({name})");
            let deeper = if index < last { "|  " } else { "   " };
            self.siblings(&ids, depth + 1, &format!("{indent}{deeper}"), section);
        }
    }

    fn node(&mut self, id: NodeId, indent: &str, below: &str, width: usize, section: Section) {
        let node = self.schema.node(id);
        let inner = match node.kind {
            NodeKind::Input => Section::Input,
            NodeKind::Output => Section::Output,
            NodeKind::Notification => Section::Notification,
            _ => section,
        };
        let status = status_mark(node.status);
        let flags = match node.kind {
            NodeKind::Rpc | NodeKind::Action => "-x",
            NodeKind::Notification => "-n",
            _ => flags(node.is_config, inner),
        };
        let name = format!("{}{}", self.name(id), option(node));
        let line = format!("{indent}{status}--{flags} {name}");
        let rest = match &node.kind {
            NodeKind::List(list) if !list.keys.is_empty() => {
                let keys = list.keys.iter().map(|&key| &*self.schema.node(key).name);
                format!(" [{}]", keys.collect::<Vec<_>>().join(" "))
            }
            _ => match self.type_name(node) {
                Some(name_of_type) => {
                    let gap = width.saturating_sub(name.chars().count());
                    format!("{:gap$}{name_of_type}", "")
                }
                None => String::new(),
            },
        };
        let _ = writeln!(self.text, "{line}{rest}");
        let children = node.children.clone();
        let is_operation = matches!(node.kind, NodeKind::Rpc | NodeKind::Action);
        let shown: Vec<NodeId> = children
            .into_iter()
            .filter(|&child| !is_operation || !self.schema.node(child).children.is_empty())
            .collect();
        self.siblings(&shown, 0, below, inner);
    }

    fn name(&self, id: NodeId) -> String {
        let node = self.schema.node(id);
        self.prefixed(node.module, &node.name)
    }

    fn prefixed(&self, module: ModuleId, name: &str) -> String {
        if module == self.module {
            name.to_owned()
        } else {
            format!("{}:{name}", self.schema.module(module).prefix)
        }
    }

    fn type_name(&self, node: &Node) -> Option<String> {
        match &node.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => {
                Some(self.type_text(&value.value_type))
            }
            NodeKind::AnyData => Some("anydata".into()),
            NodeKind::AnyXml => Some("anyxml".into()),
            _ => None,
        }
    }

    fn type_text(&self, of: &Type) -> String {
        if let TypeKind::LeafRef { text, .. } = &of.kind
            && &*of.name == "leafref"
        {
            return format!("-> {text}");
        }
        match of.name.split_once(':') {
            Some((module, typedef)) => match self.schema.module_by_name(module) {
                Some(module) => self.prefixed(module, typedef),
                None => typedef.to_owned(),
            },
            None => of.name.to_string(),
        }
    }

    fn section_of(&self, id: NodeId) -> Section {
        let mut above = self.schema.node(id).parent;
        while let Some(id) = above {
            match self.schema.node(id).kind {
                NodeKind::Input => return Section::Input,
                NodeKind::Output => return Section::Output,
                NodeKind::Notification => return Section::Notification,
                _ => above = self.schema.node(id).parent,
            }
        }
        Section::Data
    }

    /// The nodes that the module adds to other modules.
    fn augments(&self) -> Vec<Augment> {
        let mut augments: Vec<Augment> = Vec::new();
        for node in self
            .schema
            .nodes()
            .filter(|node| node.module == self.module)
        {
            let Some(parent) = node.parent.filter(|&id| self.is_foreign(id)) else {
                continue;
            };
            let mut augment = self.augment_among(&node.cases);
            augment.target.insert_str(0, &self.target_path(parent));
            match augments
                .iter_mut()
                .find(|known| known.target == augment.target)
            {
                Some(known) => known.nodes.push(node.id),
                None => {
                    augment.nodes.push(node.id);
                    augments.push(augment);
                }
            }
        }
        augments
    }

    fn is_foreign(&self, id: NodeId) -> bool {
        self.schema.node(id).module != self.module
    }

    /// Finds the first of these choices and cases that belongs to the module.
    fn augment_among(&self, cases: &[CaseChoice]) -> Augment {
        let mut augment = Augment::default();
        for place in cases {
            let choice = &self.schema.choices()[place.choice as usize];
            if choice.module == self.module {
                return augment;
            }
            let prefix = &self.schema.module(choice.module).prefix;
            let _ = write!(augment.target, "/{prefix}:{}", choice.name);
            let case = &choice.cases[place.case as usize];
            if case.module == self.module {
                augment.choice = Some(place.choice);
                return augment;
            }
            let prefix = &self.schema.module(case.module).prefix;
            let _ = write!(augment.target, "/{prefix}:{}", case.name);
            augment.depth += 1;
        }
        augment
    }

    /// The path as in an `augment` statement: every step with its prefix, choices and cases included.
    fn target_path(&self, id: NodeId) -> String {
        let node = self.schema.node(id);
        let mut path = node
            .parent
            .map(|parent| self.target_path(parent))
            .unwrap_or_default();
        for place in &node.cases {
            let choice = &self.schema.choices()[place.choice as usize];
            let case = &choice.cases[place.case as usize];
            for (module, name) in [(choice.module, &choice.name), (case.module, &case.name)] {
                let _ = write!(path, "/{}:{name}", self.schema.module(module).prefix);
            }
        }
        let _ = write!(
            path,
            "/{}:{}",
            self.schema.module(node.module).prefix,
            node.name
        );
        path
    }
}

fn status_mark(status: Status) -> &'static str {
    match status {
        Status::Current => "+",
        Status::Deprecated => "x",
        Status::Obsolete => "o",
    }
}

fn flags(is_config: bool, section: Section) -> &'static str {
    match section {
        Section::Input => "-w",
        Section::Output => "ro",
        Section::Notification => "--",
        Section::Data if is_config => "rw",
        Section::Data => "ro",
    }
}

fn option(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Container { presence: true } => "!",
        NodeKind::List(_) | NodeKind::LeafList(_) => "*",
        NodeKind::Leaf(value) if !value.is_key && !node.is_mandatory => "?",
        NodeKind::AnyData | NodeKind::AnyXml if !node.is_mandatory => "?",
        _ => "",
    }
}
