//! If instances of a mount point have different schemas: nodes exist only in instances whose schema has them.
//!
//! The schema of an instance is the value of a leaf, so "only under these schemas" is a `when` that compares this leaf.
//! With it the existing rules apply: nothing else can be created, mandatory nodes and defaults of other schemas do not
//! count, and if the leaf changes, what the new schema does not have is deleted (RFC 7950 §8.2).

use super::absolute_paths::{parents, relative};
use super::point::Point;
use super::widen::{self, any, not};
use crate::schema::{Constraint, NodeId, Schema};
use crate::xpath::{Axis, BinaryOperator, Expr, Expression, Literal, NodeTest, PathStep};

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
        any(equalities.collect())
    }

    /// A condition that holds in instances with other schemas too.
    fn only_for(&self, owners: &[usize], levels: usize, condition: Expr) -> Expr {
        Expr::Or(vec![not(self.condition(owners, levels)), condition])
    }

    /// The `when` of a node or choice, whose context node is this many levels below the mount point.
    fn when(&self, owners: &[usize], levels: usize) -> Constraint {
        constraint(self.condition(owners, levels))
    }
}

fn constraint(root: Expr) -> Constraint {
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
        let mut whens = Vec::new();
        if self.has_fewer_owners(owners, self.schema.node(id).parent) {
            whens.push(selector.when(owners, levels));
        }
        let mut musts = self.schema.node(id).musts.clone();
        for (must, of) in musts.iter_mut().zip(&self.nodes[number].musts) {
            if of != owners {
                let root = std::mem::replace(&mut must.expression.root, Expr::Number(0.0));
                must.expression.root = selector.only_for(of, levels, root);
            }
        }
        musts.extend(self.type_musts(number, id, levels, selector));
        if let Some(node) = self.schema.nodes.get_mut(id) {
            node.musts = musts;
            node.whens.extend(whens);
        }
    }

    /// Constraints that a value has the type of the schema of its instance.
    fn type_musts(
        &self,
        number: usize,
        id: NodeId,
        levels: usize,
        selector: &Selector<'_>,
    ) -> Vec<Constraint> {
        let Some(value) = self.schema.node(id).as_value() else {
            return Vec::new();
        };
        let types = self.nodes[number].types.iter();
        let conditions = types.flat_map(|(narrow, owners)| {
            let conditions = widen::conditions(self.schema, narrow, &value.value_type);
            conditions
                .into_iter()
                .map(move |condition| (owners, condition))
        });
        conditions
            .map(|(owners, condition)| {
                let message = "the value is not of the type that the schema of this instance has";
                Constraint {
                    error_message: Some(message.into()),
                    ..constraint(selector.only_for(owners, levels, condition))
                }
            })
            .collect()
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
