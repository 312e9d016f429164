//! Copies the nodes of one mounted schema.

use std::sync::Arc;

use super::absolute_paths::Rewriter;
use super::identifiers::Identifiers;
use super::merge;
use super::point::{NodeOwners, Point};
use super::types::Types;
use super::widen;
use crate::schema::{
    Case, CaseChoice, Choice, Constraint, Mount, MountedSchema, Node, NodeId, NodeKind, Ordering,
    Schema,
};
use crate::xpath::NodeTest;

/// Where a node of the mounted schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placed {
    /// Added.
    New(NodeId),
    /// An earlier schema has it too.
    Shared(NodeId),
    /// Not mounted; the node of the parent schema that stands for it, if there is one.
    Outside(Option<NodeId>),
}

/// The copy of one mounted schema.
pub(super) struct Graft<'p, 's, 'm> {
    point: &'p mut Point<'s>,
    mounted: &'m Schema,
    /// The number of the schema at this point.
    number: usize,
    ids: Identifiers,
    /// By the id of the mounted node.
    nodes: Vec<Placed>,
    /// The number of levels of a mounted node below the mount point.
    levels: Vec<usize>,
    /// By the index of the mounted choice: the choice, and its cases.
    choices: Vec<(u32, Vec<u32>)>,
    types: Types,
}

impl<'p, 's, 'm> Graft<'p, 's, 'm> {
    /// Places the nodes and choices of a mounted schema, without the top-level nodes of some modules.
    pub(super) fn new(
        point: &'p mut Point<'s>,
        mounted: &'m Schema,
        without: &[Box<str>],
    ) -> Result<Self, String> {
        let ids = Identifiers::add(point.schema, mounted)?;
        let mut graft = Self {
            types: Types::new(point.node, point.secrecy),
            mounted,
            number: point.schemas,
            point,
            ids,
            nodes: Vec::with_capacity(mounted.nodes().len()),
            levels: Vec::with_capacity(mounted.nodes().len()),
            choices: Vec::with_capacity(mounted.choices.len()),
        };
        for node in mounted.nodes() {
            graft.place(node, without)?;
        }
        for choice in &mounted.choices {
            graft.place_choice(choice)?;
        }
        Ok(graft)
    }

    /// Copies the placed nodes; returns the top-level ones.
    pub(super) fn copy(mut self) -> Result<Vec<NodeId>, String> {
        for (index, node) in self.mounted.nodes().enumerate() {
            match self.nodes[index] {
                Placed::New(id) => self.put(id, node),
                Placed::Shared(id) => self.merge(id, node)?,
                Placed::Outside(_) => {}
            }
        }
        for mount in &self.mounted.mounts {
            self.copy_mount(mount);
        }
        Ok(self.placed(&self.mounted.roots))
    }

    fn place(&mut self, node: &Node, without: &[Box<str>]) -> Result<(), String> {
        let parent = node.parent.map(|parent| self.nodes[parent.0 as usize]);
        let is_inside_operation = matches!(node.kind, NodeKind::Input | NodeKind::Output);
        let above = node
            .parent
            .map_or(0, |parent| self.levels[parent.0 as usize]);
        self.levels.push(above + usize::from(!is_inside_operation));
        let module = self.ids.modules[usize::from(node.module.0)];
        let parent = match parent {
            Some(Placed::New(id) | Placed::Shared(id)) => id,
            Some(Placed::Outside(above)) => {
                let node = above.and_then(|above| self.outside(Some(above), node));
                self.nodes.push(Placed::Outside(node));
                return Ok(());
            }
            None if without.contains(&self.mounted.module(node.module).name) => {
                self.nodes.push(Placed::Outside(self.outside(None, node)));
                return Ok(());
            }
            None => self.point.node,
        };
        if let Some(id) = self.point.mounted_child(parent, module, &node.name) {
            let number = self.number;
            self.owners(id).node.push(number);
            self.nodes.push(Placed::Shared(id));
            return Ok(());
        }
        let id = NodeId(self.point.schema.nodes.len() as u32);
        let schema = &mut *self.point.schema;
        if parent == self.point.node && has_child(schema, parent, module, &node.name) {
            let path = schema.path(parent);
            return Err(format!("{path} has a child {} of its own", node.name));
        }
        schema.nodes.push(Node {
            id,
            module,
            parent: Some(parent),
            children: Vec::new(),
            ..node.clone()
        });
        if let Some(parent) = schema.nodes.get_mut(parent) {
            parent.children.push(id);
        }
        let name = node.name.clone();
        self.point.named.insert((parent, module, name), id);
        self.point.nodes.push(NodeOwners {
            node: vec![self.number],
            musts: vec![vec![self.number]; node.musts.len()],
            types: Vec::new(),
        });
        self.nodes.push(Placed::New(id));
        Ok(())
    }

    /// The node of the parent schema that a parent reference refers to.
    fn outside(&self, parent: Option<NodeId>, node: &Node) -> Option<NodeId> {
        let module = self.ids.modules[usize::from(node.module.0)];
        self.point.schema.child(parent, module, &node.name)
    }

    fn place_choice(&mut self, choice: &Choice) -> Result<(), String> {
        let parent = match choice.parent {
            None => self.point.node,
            Some(parent) => match self.nodes[parent.0 as usize] {
                Placed::New(id) | Placed::Shared(id) => id,
                Placed::Outside(_) => {
                    self.choices.push((0, Vec::new()));
                    return Ok(());
                }
            },
        };
        let levels = choice
            .parent
            .map_or(0, |parent| self.levels[parent.0 as usize]);
        let whens = choice.whens.iter();
        let whens = whens.map(|when| {
            let up = usize::from(when.context_levels_up);
            self.constraint(when, levels.saturating_sub(up))
        });
        let cases = choice.cases.iter().map(|case| Case {
            name: case.name.clone(),
            module: self.ids.modules[usize::from(case.module.0)],
        });
        let copied = Choice {
            module: self.ids.modules[usize::from(choice.module.0)],
            parent: Some(parent),
            enclosing: self.cases(&choice.enclosing),
            is_config: choice.is_config && self.is_config(),
            cases: cases.collect(),
            whens: whens.collect(),
            ..choice.clone()
        };
        let found = self.point.mounted_choice(&copied);
        let Some(index) = found else {
            let cases = 0..copied.cases.len() as u32;
            let index = self.point.schema.choices.len() as u32;
            self.choices.push((index, cases.collect()));
            self.point.schema.choices.push(copied);
            self.point.choices.push(vec![self.number]);
            return Ok(());
        };
        let cases = merge::choice(&mut self.point.schema.choices[index], &copied)
            .ok_or_else(|| self.conflict(parent, &copied.name))?;
        self.choices.push((index as u32, cases));
        self.point.choices[index - self.point.first_choice].push(self.number);
        Ok(())
    }

    fn put(&mut self, id: NodeId, node: &Node) {
        let copied = self.copied(id, node);
        if let Some(value) = copied.as_value() {
            let value_type = Arc::clone(&value.value_type);
            self.owners(id).types = vec![(value_type, vec![self.number])];
        }
        if let Some(place) = self.point.schema.nodes.get_mut(id) {
            let children = std::mem::take(&mut place.children);
            *place = Node { children, ..copied };
        }
    }

    /// Compares a node with that of an earlier schema; the union of their `must`s stays.
    fn merge(&mut self, id: NodeId, node: &Node) -> Result<(), String> {
        let copied = self.copied(id, node);
        let place = self.point.schema.node(id);
        if !merge::is_same(place, &copied) {
            return Err(self.conflict(copied.parent.unwrap_or(id), &copied.name));
        }
        self.merge_type(id, &copied)
            .ok_or_else(|| self.conflict(copied.parent.unwrap_or(id), &copied.name))?;
        let owners = &mut self.point.nodes[id.0 as usize - self.point.first_node];
        let Some(place) = self.point.schema.nodes.get_mut(id) else {
            return Ok(());
        };
        for must in copied.musts {
            let mut others = place.musts.iter();
            match others.position(|other| merge::is_same_constraint(other, &must)) {
                Some(position) => owners.musts[position].push(self.number),
                None => {
                    place.musts.push(must);
                    owners.musts.push(vec![self.number]);
                }
            }
        }
        Ok(())
    }

    /// Widens the type of a leaf so that it has the values of a type of this schema; `None` if there is no such type.
    fn merge_type(&mut self, id: NodeId, copied: &Node) -> Option<()> {
        let Some(value) = copied.as_value() else {
            return Some(());
        };
        let own = Arc::clone(&value.value_type);
        let number = self.number;
        let mut types = self.owners(id).types.iter_mut();
        if let Some((_, owners)) = types.find(|(known, _)| widen::is_same(known, &own)) {
            owners.push(number);
            return Some(());
        }
        let known = self.point.schema.node(id).as_value()?;
        let known = Arc::clone(&known.value_type);
        let wide = Arc::new(widen::widened(self.point.schema, &known, &own)?);
        self.owners(id).types.push((own, vec![number]));
        match &mut self.point.schema.nodes.get_mut(id)?.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => value.value_type = wide,
            _ => return None,
        }
        Some(())
    }

    fn owners(&mut self, id: NodeId) -> &mut NodeOwners {
        &mut self.point.nodes[id.0 as usize - self.point.first_node]
    }

    fn conflict(&self, parent: NodeId, name: &str) -> String {
        let parent = self.point.schema.path(parent);
        format!("two schemas define {parent}/{name} differently")
    }

    /// A node of the mounted schema with the ids of this one.
    fn copied(&mut self, id: NodeId, node: &Node) -> Node {
        let levels = self.levels[node.id.0 as usize];
        let musts = node.musts.iter().map(|must| self.constraint(must, levels));
        let musts = musts.collect();
        let whens = node.whens.iter().map(|when| {
            let mut above =
                std::iter::successors(Some(node.id), |&id| self.mounted.node(id).parent);
            let context = above.nth(when.context_levels_up.into());
            let levels = context.map_or(0, |context| self.levels[context.0 as usize]);
            self.constraint(when, levels)
        });
        Node {
            id,
            module: self.ids.modules[usize::from(node.module.0)],
            parent: self.point.schema.node(id).parent,
            children: Vec::new(),
            cases: self.cases(&node.cases),
            is_config: node.is_config && self.is_config(),
            whens: whens.collect(),
            musts,
            kind: self.kind(node, levels),
            ..node.clone()
        }
    }

    fn kind(&mut self, node: &Node, levels: usize) -> NodeKind {
        let is_config = self.is_config();
        let mut kind = node.kind.clone();
        match &mut kind {
            NodeKind::Rpc => kind = NodeKind::Action,
            NodeKind::List(list) => {
                list.keys = self.placed(&list.keys);
                for leaves in &mut list.unique {
                    *leaves = self.placed(leaves);
                }
                // RFC 7950 §7.7.7: state data has no order of its users.
                if !is_config && !list.keys.is_empty() {
                    list.ordering = Ordering::System;
                }
            }
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => {
                let is_mounted = |test: &NodeTest| is_root(self.mounted, &self.nodes, test);
                let rewriter = Rewriter {
                    levels,
                    references: &self.point.references,
                    is_mounted: &is_mounted,
                };
                let target = |id: NodeId| match self.nodes[id.0 as usize] {
                    Placed::New(id) | Placed::Shared(id) => Some(id),
                    Placed::Outside(id) => id,
                };
                let identities = &self.ids.identities;
                value.value_type =
                    self.types
                        .copy(&value.value_type, identities, &rewriter, &target);
            }
            _ => {}
        }
        kind
    }

    fn constraint(&self, constraint: &Constraint, levels: usize) -> Constraint {
        let is_mounted = |test: &NodeTest| is_root(self.mounted, &self.nodes, test);
        let rewriter = Rewriter {
            levels,
            references: &self.point.references,
            is_mounted: &is_mounted,
        };
        Constraint {
            expression: rewriter.rewrite(&constraint.expression),
            ..constraint.clone()
        }
    }

    fn cases(&self, cases: &[CaseChoice]) -> Vec<CaseChoice> {
        let cases = cases.iter();
        cases
            .map(|of| {
                let (choice, cases) = &self.choices[of.choice as usize];
                CaseChoice {
                    choice: *choice,
                    case: cases.get(of.case as usize).copied().unwrap_or_default(),
                }
            })
            .collect()
    }

    fn placed(&self, ids: &[NodeId]) -> Vec<NodeId> {
        let placed = ids.iter().map(|id| self.nodes[id.0 as usize]);
        placed
            .filter_map(|placed| match placed {
                Placed::New(id) | Placed::Shared(id) => Some(id),
                Placed::Outside(_) => None,
            })
            .collect()
    }

    fn is_config(&self) -> bool {
        self.point.schema.node(self.point.node).is_config
    }

    /// Copies what is mounted inside the mounted schema.
    fn copy_mount(&mut self, mount: &Mount) {
        let (Some(&node), selector) = (
            self.placed(&[mount.node]).first(),
            mount.selector.map(|id| self.placed(&[id])),
        ) else {
            return;
        };
        if self
            .point
            .schema
            .mounts
            .iter()
            .any(|other| other.node == node)
        {
            return;
        }
        let schemas = mount.schemas.iter().map(|schema| MountedSchema {
            roots: self.placed(&schema.roots),
            ..schema.clone()
        });
        let copied = Mount {
            node,
            selector: selector.and_then(|ids| ids.first().copied()),
            schemas: schemas.collect(),
            ..mount.clone()
        };
        self.point.schema.mounts.push(copied);
    }
}

/// Returns whether a test names a top-level node that is mounted.
fn is_root(mounted: &Schema, nodes: &[Placed], test: &NodeTest) -> bool {
    mounted.roots.iter().any(|&root| {
        let node = mounted.node(root);
        let is_named = match test {
            NodeTest::Name(module, name) => {
                let own = &mounted.module(node.module).name;
                *name == node.name && module.as_ref().is_none_or(|module| module == own)
            }
            _ => true,
        };
        is_named && !matches!(nodes[root.0 as usize], Placed::Outside(_))
    })
}

fn has_child(schema: &Schema, parent: NodeId, module: crate::schema::ModuleId, name: &str) -> bool {
    let mut children = schema.node(parent).children.iter();
    children.any(|&child| {
        let child = schema.node(child);
        child.module == module && *child.name == *name
    })
}
