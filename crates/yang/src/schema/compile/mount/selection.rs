//! If instances of a mount point have different schemas: nodes exist only in instances whose schema has them.
//!
//! The schema of an instance is the value of a leaf, so "only under these schemas" is a `when` that compares this leaf.
//! With it the existing rules apply: nothing else can be created, mandatory nodes and defaults of other schemas do not
//! count, and if the leaf changes, what the new schema does not have is deleted (RFC 7950 §8.2).

use super::absolute_paths::{parents, relative};
use super::point::Point;
use crate::schema::{Constraint, NodeId, Schema};
use crate::xpath::{Axis, BinaryOperator, Expr, Expression, Function, Literal, NodeTest, PathStep};

/// The leaf with the name of the schema.
struct Selector<'a> {
    /// The number of levels from the mount point up to its parent.
    levels: usize,
    step: PathStep,
    names: &'a [&'a str],
}

impl Selector<'_> {
    /// The condition that an instance has one of some schemas, for a context node this many levels below the mount
    /// point.
    fn condition(&self, owners: &[usize], levels: usize) -> Expr {
        let mut steps = parents(levels + self.levels);
        steps.push(self.step.clone());
        let path = relative(steps);
        let equalities = owners.iter().map(|&owner| {
            let name = Expr::Literal(Literal::from(self.names[owner]));
            Expr::Binary(
                BinaryOperator::Equal,
                Box::new(path.clone()),
                Box::new(name),
            )
        });
        let mut equalities: Vec<Expr> = equalities.collect();
        match equalities.len() {
            1 => equalities.remove(0),
            _ => Expr::Or(equalities),
        }
    }

    /// The `when` of a node or choice, whose context node is this many levels below the mount point.
    fn when(&self, owners: &[usize], levels: usize) -> Constraint {
        let root = self.condition(owners, levels);
        let text: Box<str> = root.to_string().into();
        Constraint {
            expression: Expression {
                text: text.clone(),
                root,
            },
            text,
            error_message: None,
            error_app_tag: None,
            context_levels_up: 0,
        }
    }
}

impl Point<'_> {
    /// Restricts the nodes to the instances whose schema has them: those for which the leaf with this name has the name
    /// of the schema. Returns the leaf.
    pub(super) fn select(&mut self, leaf: &str, names: &[&str]) -> Result<NodeId, String> {
        let (levels, id) = self
            .selector(leaf)
            .ok_or_else(|| format!("there is no leaf {leaf} at it or above it"))?;
        let node = self.schema.node(id);
        if self.schema.node(self.node).is_config && !node.is_config {
            return Err(format!("the leaf {leaf} is state data"));
        }
        let module = self.schema.module(node.module).name.clone();
        let selector = Selector {
            levels,
            step: PathStep::new(Axis::Child, NodeTest::Name(Some(module), node.name.clone())),
            names,
        };
        for number in 0..self.nodes.len() {
            self.restrict_node(number, &selector);
        }
        for number in 0..self.choices.len() {
            self.restrict_choice(number, &selector);
        }
        Ok(id)
    }

    /// The nearest leaf with a name, and the number of levels from the mount point up to its parent.
    fn selector(&self, leaf: &str) -> Option<(usize, NodeId)> {
        let schema = &*self.schema;
        let above = std::iter::successors(Some(self.node), |&id| schema.node(id).parent);
        above.enumerate().find_map(|(levels, id)| {
            let mut children = schema.node(id).children.iter().copied();
            let found = children.find(|&child| {
                let node = schema.node(child);
                let is_own = (child.0 as usize) < self.first_node;
                is_own && *node.name == *leaf && node.as_value().is_some() && !node.is_leaf_list()
            });
            found.map(|child| (levels, child))
        })
    }

    fn restrict_node(&mut self, number: usize, selector: &Selector<'_>) {
        let id = NodeId((self.first_node + number) as u32);
        let levels = self.levels_of(id);
        let owners = &self.nodes[number].node;
        let has_fewer_owners = self.has_fewer_owners(owners, self.schema.node(id).parent);
        let when = has_fewer_owners.then(|| selector.when(owners, levels));
        let musts: Vec<_> = self.nodes[number]
            .musts
            .iter()
            .map(|must| (must != owners).then(|| selector.condition(must, levels)))
            .collect();
        let Some(node) = self.schema.nodes.get_mut(id) else {
            return;
        };
        for (must, condition) in node.musts.iter_mut().zip(musts) {
            if let Some(condition) = condition {
                let root = std::mem::replace(&mut must.expression.root, Expr::Number(0.0));
                let others = Expr::Call(Function::Not, vec![condition]);
                must.expression.root = Expr::Or(vec![others, root]);
            }
        }
        node.whens.extend(when);
    }

    fn restrict_choice(&mut self, number: usize, selector: &Selector<'_>) {
        let index = self.first_choice + number;
        let parent = self.schema.choices[index].parent;
        let owners = &self.choices[number];
        if self.has_fewer_owners(owners, parent) {
            let levels = parent.map_or(0, |parent| self.levels_of(parent));
            let when = selector.when(owners, levels);
            self.schema.choices[index].whens.push(when);
        }
    }

    /// Returns whether a node has fewer schemas than its parent. The mount point is in all instances, whatever the
    /// leaf is.
    fn has_fewer_owners(&self, owners: &[usize], parent: Option<NodeId>) -> bool {
        match parent {
            Some(parent) if parent != self.node => {
                *self.nodes[parent.0 as usize - self.first_node].node != *owners
            }
            _ => true,
        }
    }

    /// The number of levels of a node below the mount point; the input of an operation and the operation are one.
    fn levels_of(&self, node: NodeId) -> usize {
        let schema: &Schema = self.schema;
        let above = std::iter::successors(Some(node), |&id| schema.node(id).parent);
        let above = above.take_while(|&id| id != self.node);
        above
            .filter(|&id| {
                use crate::schema::NodeKind::{Input, Output};
                !matches!(schema.node(id).kind, Input | Output)
            })
            .count()
    }
}
