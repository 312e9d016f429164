//! Random well-typed expressions over a schema, with names and values that occur. They avoid known differences from
//! libyang; see [`crate::oracle`].

use espalier_yang::schema::{Schema, TypeKind};
use espalier_yang::{NodeId, NodeKind};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::random_data;

/// Generates expressions for one context node.
pub struct Expressions<'a> {
    pub schema: &'a Schema,
    pub random: &'a mut StdRng,
    /// The schema node of the current node.
    pub current: NodeId,
}

/// A path and the schema node of its result, if known.
pub struct Path {
    pub text: String,
    pub node: Option<NodeId>,
}

impl Expressions<'_> {
    fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices.choose(self.random).expect("a choice")
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    fn name(&self, id: NodeId) -> String {
        format!("o:{}", self.schema.node(id).name)
    }

    fn children(&self, of: Option<NodeId>) -> &[NodeId] {
        match of {
            Some(id) => &self.schema.node(id).children,
            None => self.schema.roots(),
        }
    }

    /// A node-set.
    pub fn nodes(&mut self, at: Option<NodeId>, depth: usize) -> Path {
        if depth > 0 && self.chance(0.1) {
            let (left, right) = (self.nodes(at, depth - 1), self.nodes(at, depth - 1));
            let text = format!("{} | {}", left.text, right.text);
            return Path { text, node: None };
        }
        if depth > 0 && self.chance(0.1) {
            let inner = self.nodes(at, depth - 1);
            let position = match is_sorted(&inner.text) {
                true => Position::Known,
                false => Position::Unknown,
            };
            let predicate = self.predicate(inner.node, depth - 1, position);
            let text = format!("({}){predicate}", inner.text);
            return self.more_steps(text, inner.node, depth);
        }
        match self.random.random_range(0..10) {
            0..=3 => self.absolute(depth),
            4 => self.more_steps("current()".to_owned(), Some(self.current), depth),
            5 if self.is_reference() => self.more_steps("deref(current())".to_owned(), None, depth),
            _ => self.relative(at, depth),
        }
    }

    fn is_reference(&self) -> bool {
        let node = self.schema.node(self.current).as_value();
        node.is_some_and(|node| {
            matches!(
                node.value_type.kind,
                TypeKind::LeafRef { .. } | TypeKind::InstanceIdentifier { .. }
            )
        })
    }

    fn absolute(&mut self, depth: usize) -> Path {
        if self.chance(0.35) {
            let node = self.some_node(None);
            let predicate = self.maybe_predicate(Some(node), depth, Position::Unknown);
            let text = format!("//{}{predicate}", self.name(node));
            return self.more_steps(text, None, depth);
        }
        let root = self.children(None).to_vec();
        let id = *root.choose(self.random).expect("a root");
        let text = format!("/{}", self.name(id));
        self.more_steps(text, Some(id), depth)
    }

    /// A node at any depth.
    fn some_node(&mut self, below: Option<NodeId>) -> NodeId {
        let mut children = self.children(below).to_vec();
        loop {
            let id = *children.choose(self.random).expect("a child");
            children = self.children(Some(id)).to_vec();
            if children.is_empty() || self.chance(0.3) {
                return id;
            }
        }
    }

    /// The first step starts from one node, so that positions have their XPath meaning.
    fn relative(&mut self, at: Option<NodeId>, depth: usize) -> Path {
        let path = match self.step(at) {
            Some((step, node)) => {
                let predicate = self.maybe_predicate(node, depth, Position::Known);
                Path {
                    text: format!("{step}{predicate}"),
                    node,
                }
            }
            None => Path {
                text: "..".to_owned(),
                node: at.and_then(|at| self.schema.node(at).parent),
            },
        };
        self.more_steps(path.text, path.node, depth)
    }

    fn more_steps(&mut self, mut text: String, mut node: Option<NodeId>, depth: usize) -> Path {
        for _ in 0..self.random.random_range(0..4) {
            if node.is_some_and(|id| self.schema.node(id).children.is_empty()) && self.chance(0.7) {
                break;
            }
            if text.contains("ancestor::node()") || text.contains("ancestor-or-self::node()") {
                break;
            }
            if self.chance(0.15) {
                text.push_str("/..");
                node = node.and_then(|id| self.schema.node(id).parent);
                continue;
            }
            let may_nest = ["//", "ancestor", "descendant", "|", "node()", "current"];
            let is_flat = !may_nest.iter().any(|part| text.contains(part));
            if self.chance(0.08)
                && is_flat
                && node.is_none_or(|id| !self.children(Some(id)).is_empty())
            {
                let below = self.some_node(node);
                text.push_str("//");
                text.push_str(&self.name(below));
                text.push_str(&self.maybe_predicate(Some(below), depth, Position::Unknown));
                node = None;
                continue;
            }
            let Some((step, next)) = self.step(node) else {
                continue;
            };
            text.push('/');
            text.push_str(&step);
            node = next;
            text.push_str(&self.maybe_predicate(node, depth, Position::Unknown));
        }
        Path { text, node }
    }

    /// One step from a node, if it is known, without predicates.
    fn step(&mut self, from: Option<NodeId>) -> Option<(String, Option<NodeId>)> {
        let children = self.children(from).to_vec();
        let parent = from.and_then(|from| self.schema.node(from).parent);
        let siblings = self.children(parent).to_vec();
        let kind = self.random.random_range(0..20);
        if kind < 13
            && let Some(child) = children.choose(self.random)
        {
            return Some((self.name(*child), Some(*child)));
        }
        let sibling = *siblings.choose(self.random)?;
        let (sibling_name, any) = (
            self.name(sibling),
            self.some_node(from.filter(|_| !children.is_empty())),
        );
        let any_name = self.name(any);
        Some(match kind {
            0..=12 => return None,
            13 => ("*".to_owned(), None),
            14 => (format!("following-sibling::{sibling_name}"), Some(sibling)),
            15 => (format!("preceding-sibling::{sibling_name}"), Some(sibling)),
            16 => (format!("descendant::{any_name}"), None),
            17 => (format!("descendant-or-self::{any_name}"), None),
            18 => {
                let axis = self.pick(&["ancestor", "ancestor-or-self", "parent", "self"]);
                (format!("{axis}::{any_name}"), None)
            }
            _ => {
                let axis = self.pick(&[
                    "following-sibling::*",
                    "preceding-sibling::node()",
                    "ancestor::node()",
                    "ancestor-or-self::node()",
                    "self::node()",
                    "descendant::*",
                ]);
                (axis.to_owned(), None)
            }
        })
    }

    fn maybe_predicate(&mut self, at: Option<NodeId>, depth: usize, position: Position) -> String {
        let mut text = String::new();
        while depth > 0 && self.chance(0.3) && text.len() < 120 {
            text.push_str(&self.predicate(at, depth - 1, position));
        }
        text
    }

    fn predicate(&mut self, at: Option<NodeId>, depth: usize, position: Position) -> String {
        if position == Position::Known && self.chance(0.3) {
            return self
                .pick(&[
                    "[1]",
                    "[2]",
                    "[last()]",
                    "[position() < 3]",
                    "[position() != last()]",
                    "[last() - 1]",
                ])
                .to_owned();
        }
        if let Some(id) = at
            && self.chance(0.5)
            && let Some(text) = self.key_predicate(id)
        {
            return text;
        }
        format!("[{}]", self.boolean(at, depth))
    }

    /// All keys of a list, or the value of a leaf-list.
    fn key_predicate(&mut self, id: NodeId) -> Option<String> {
        let schema = self.schema;
        match &schema.node(id).kind {
            NodeKind::List(list) if !list.keys.is_empty() => {
                let mut keys = Vec::new();
                for &key in &list.keys {
                    let value = self.value_of(key);
                    keys.push(format!("{} = {value}", self.name(key)));
                }
                Some(if self.chance(0.5) {
                    format!("[{}]", keys.join(" and "))
                } else {
                    format!("[{}]", keys.join("]["))
                })
            }
            NodeKind::LeafList(_) => {
                let name = &schema.node(id).name;
                let mut same = schema.nodes().filter(|node| node.name == *name);
                let are_leaves = same.all(|node| node.as_value().is_some());
                are_leaves.then(|| format!("[. = {}]", self.value_of(id)))
            }
            _ => None,
        }
    }

    /// A value to compare a leaf with.
    fn value_of(&mut self, id: NodeId) -> String {
        let is_leaf = self.schema.node(self.current).as_value().is_some();
        if is_leaf && self.chance(0.15) {
            return "current()".to_owned();
        }
        let Some(leaf) = self.schema.node(id).as_value() else {
            return "'a'".to_owned();
        };
        let mut text = random_data::text(self.schema, self.random, &leaf.value_type);
        if matches!(leaf.value_type.kind, TypeKind::Integer(..)) {
            if self.chance(0.3) {
                return text;
            }
            if self.chance(0.2) {
                text = format!("0{text}");
            }
        }
        if text.contains('\'') {
            format!("\"{text}\"")
        } else {
            format!("'{text}'")
        }
    }

    /// A path to a leaf, from a node.
    fn leaf_path(&mut self, at: Option<NodeId>, depth: usize) -> Option<(String, NodeId)> {
        for _ in 0..6 {
            let path = if self.chance(0.7) {
                let leaves: Vec<NodeId> = self.children(at).to_vec();
                let leaf = leaves.choose(self.random)?;
                Path {
                    text: self.name(*leaf),
                    node: Some(*leaf),
                }
            } else {
                self.nodes(at, depth)
            };
            if let Some(node) = path
                .node
                .filter(|id| self.schema.node(*id).as_value().is_some())
                && !path.text.contains('|')
            {
                return Some((path.text, node));
            }
        }
        None
    }

    /// A path to a leaf of which only the first node matters.
    fn first_leaf_path(&mut self, at: Option<NodeId>, depth: usize) -> Option<String> {
        let found = self.leaf_path(at, depth);
        found.map(|(path, _)| path).filter(|path| is_sorted(path))
    }

    /// A boolean.
    pub fn boolean(&mut self, at: Option<NodeId>, depth: usize) -> String {
        let deeper = depth.saturating_sub(1);
        match self.random.random_range(0..if depth == 0 { 8 } else { 13 }) {
            0..=4 => match self.leaf_path(at, deeper) {
                Some((path, leaf)) => {
                    let operator = self.pick(&["=", "!=", "=", "="]);
                    let value = self.value_of(leaf);
                    match self.chance(0.2) {
                        true => format!("{value} {operator} {path}"),
                        false => format!("{path} {operator} {value}"),
                    }
                }
                None => "true()".to_owned(),
            },
            5 | 6 => self.nodes(at, deeper).text,
            7 => format!("not({})", self.nodes(at, deeper).text),
            8 => {
                let operator = self.pick(&["=", "<", "<=", "!=", ">=", ">"]);
                format!(
                    "{} {operator} {}",
                    self.number(at, deeper),
                    self.number(at, deeper)
                )
            }
            9 => {
                let operator = self.pick(&["and", "or"]);
                format!(
                    "({}) {operator} ({})",
                    self.boolean(at, deeper),
                    self.boolean(at, deeper)
                )
            }
            10 => {
                let (one, two) = (self.string(at, deeper), self.string(at, deeper));
                match self.pick(&["starts-with", "contains", "="]) {
                    "=" => format!("{one} = {two}"),
                    function => format!("{function}({one}, {two})"),
                }
            }
            11 => match self
                .leaf_path(at, deeper)
                .filter(|(path, _)| is_sorted(path))
            {
                Some((path, leaf)) => self.yang_boolean(&path, leaf),
                None => "false()".to_owned(),
            },
            _ => match (self.leaf_path(at, deeper), self.leaf_path(at, deeper)) {
                (Some((left, _)), Some((right, _))) => {
                    let operator = self.pick(&["=", "!=", "<", ">="]);
                    format!("{left} {operator} {right}")
                }
                _ => "true()".to_owned(),
            },
        }
    }

    fn yang_boolean(&mut self, path: &str, leaf: NodeId) -> String {
        let of = self
            .schema
            .node(leaf)
            .as_value()
            .map(|leaf| &leaf.value_type.kind);
        match of {
            Some(TypeKind::Bits(_)) => {
                format!("bit-is-set({path}, '{}')", self.pick(&["r", "s", "x"]))
            }
            Some(TypeKind::IdentityRef(_)) => {
                let function = self.pick(&["derived-from", "derived-from-or-self"]);
                let identity = self.pick(&["o:base", "o:left", "o:far-left", "o:right"]);
                format!("{function}({path}, '{identity}')")
            }
            Some(TypeKind::Enumeration(_)) => format!("enum-value({path}) > 3"),
            _ => format!("re-match({path}, '[a-c0-5]+')"),
        }
    }

    /// A number that has an exact value.
    pub fn number(&mut self, at: Option<NodeId>, depth: usize) -> String {
        let deeper = depth.saturating_sub(1);
        match self.random.random_range(0..if depth == 0 { 4 } else { 9 }) {
            0 => self.pick(&["0", "1", "2", "3.5", "10"]).to_owned(),
            1..=3 => format!("count({})", self.counted(at, deeper)),
            4 => match self.leaf_path(at, deeper) {
                Some((path, _)) => format!("sum({path})"),
                None => "5".to_owned(),
            },
            5 => match self.first_leaf_path(at, deeper) {
                Some(path) => format!("number({path})"),
                None => "5".to_owned(),
            },
            6 => format!("string-length({})", self.string(at, deeper)),
            7 => {
                let operator = self.pick(&["+", "-", "*", "mod"]);
                format!(
                    "({}) {operator} ({})",
                    self.number(at, deeper),
                    self.number(at, deeper)
                )
            }
            _ => format!("-({})", self.number(at, deeper)),
        }
    }

    /// A node-set without the root.
    fn counted(&mut self, at: Option<NodeId>, depth: usize) -> String {
        match self.leaf_path(at, depth) {
            Some((path, _)) if self.chance(0.5) => path,
            _ => {
                let children = self.children(at).to_vec();
                let name = children.choose(self.random).map(|child| self.name(*child));
                name.unwrap_or_else(|| "/o:top//o:a".to_owned())
            }
        }
    }

    /// A string.
    pub fn string(&mut self, at: Option<NodeId>, depth: usize) -> String {
        let deeper = depth.saturating_sub(1);
        match self.random.random_range(0..if depth == 0 { 2 } else { 8 }) {
            0 => self
                .pick(&["'a'", "''", "'10'", "'b c'", "'o:left'"])
                .to_owned(),
            1 | 2 => match self.first_leaf_path(at, deeper) {
                Some(path) => format!("string({path})"),
                None => "'x'".to_owned(),
            },
            3 => format!(
                "concat({}, '-', {})",
                self.string(at, deeper),
                self.string(at, deeper)
            ),
            4 => {
                let function = self.pick(&["substring-before", "substring-after"]);
                let by = self.pick(&["'-'", "'e'", "':'"]);
                format!("{function}({}, {by})", self.string(at, deeper))
            }
            5 => format!(
                "substring({}, {})",
                self.string(at, deeper),
                self.pick(&["2", "1, 2", "2, 3", "0, 2"])
            ),
            6 => format!("translate({}, 'abe', 'BA')", self.string(at, deeper)),
            _ => match self.first_leaf_path(at, deeper) {
                Some(path) => {
                    let function = self.pick(&["name", "local-name", "namespace-uri"]);
                    format!("{function}({path})")
                }
                None => format!("normalize-space({})", self.string(at, deeper)),
            },
        }
    }
}

/// Returns whether libyang returns the nodes of a path in document order.
pub fn is_sorted(text: &str) -> bool {
    let nesting = ["//", "ancestor", "descendant", "|", "deref"];
    !nesting.iter().any(|part| text.contains(part))
}

/// Whether a step is known to start from one node only.
#[derive(Clone, Copy, PartialEq)]
pub enum Position {
    Known,
    Unknown,
}
