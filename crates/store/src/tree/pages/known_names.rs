//! Names in an expression that no node of the schema has.
//!
//! For a condition with such a name, draft-ietf-netconf-list-pagination requires a page without entries, also if the
//! expression would be true, as `not(unknown)`.

use espalier_yang::xpath::{Axis, Expr, LocationPath, NodeTest, PathStep};
use espalier_yang::{NodeId, Schema};

use crate::node_numbers::is_data;
use crate::tree::filter::matches;

/// The schema nodes at a place of an expression, `None` for the datastore; nothing if they are not determined.
type Place = Option<Vec<Option<NodeId>>>;

/// Whether an expression with instances of `context` as its context nodes names a node that the schema does not have there.
/// Names after axes other than those up and down are not examined.
pub(super) fn has_unknown_names(schema: &Schema, context: NodeId, expr: &Expr) -> bool {
    let names = Names { schema };
    names.has_unknown(expr, &Some(vec![Some(context)]))
}

/// Whether an expression has a variable. None is defined.
pub(super) fn has_variable(expr: &Expr) -> bool {
    let any = |operands: &[Expr]| operands.iter().any(has_variable);
    let in_steps = |steps: &[PathStep]| steps.iter().any(|step| any(&step.predicates));
    match expr {
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => any(operands),
        Expr::Call(_, arguments) => any(arguments),
        Expr::Binary(_, left, right) => has_variable(left) || has_variable(right),
        Expr::Negate(operand) => has_variable(operand),
        Expr::Path(path) => in_steps(&path.steps),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => has_variable(primary) || any(predicates) || in_steps(steps),
        Expr::Literal(_) | Expr::Number(_) => false,
        Expr::Variable(..) => true,
    }
}

struct Names<'a> {
    schema: &'a Schema,
}

impl Names<'_> {
    fn has_unknown(&self, expr: &Expr, context: &Place) -> bool {
        let any = |operands: &[Expr]| operands.iter().any(|one| self.has_unknown(one, context));
        match expr {
            Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => any(operands),
            Expr::Binary(_, left, right) => {
                self.has_unknown(left, context) || self.has_unknown(right, context)
            }
            Expr::Negate(operand) => self.has_unknown(operand, context),
            Expr::Call(_, arguments) => any(arguments),
            Expr::Path(path) => self.has_unknown_step(path, context),
            Expr::Filter { primary, .. } => self.has_unknown(primary, context),
            Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => false,
        }
    }

    fn has_unknown_step(&self, path: &LocationPath, context: &Place) -> bool {
        let mut place = match path.is_absolute {
            true => Some(vec![None]),
            false => context.clone(),
        };
        for step in &path.steps {
            place = self.step(&place, step);
            let is_unknown = place.as_ref().is_some_and(Vec::is_empty);
            let has_unknown = |one: &Expr| self.has_unknown(one, &place);
            if is_unknown || step.predicates.iter().any(has_unknown) {
                return true;
            }
        }
        false
    }

    /// The nodes that a step reaches.
    fn step(&self, from: &Place, step: &PathStep) -> Place {
        let from = from.as_ref()?;
        let mut reached: Vec<Option<NodeId>> = Vec::new();
        for &place in from {
            match step.axis {
                Axis::SelfNode => reached.push(place),
                Axis::Child => reached.extend(self.children(place).map(Some)),
                Axis::Parent => {
                    let node = place.map(|node| self.schema.node(node));
                    reached.extend(node.map(|node| node.parent));
                }
                Axis::Descendant | Axis::DescendantOrSelf => {
                    if step.axis == Axis::DescendantOrSelf {
                        reached.push(place);
                    }
                    self.add_descendants(place, &mut reached);
                }
                _ => return None,
            }
        }
        if matches!(
            step.test,
            NodeTest::Text | NodeTest::Comment | NodeTest::ProcessingInstruction(_)
        ) {
            return None;
        }
        reached.retain(|place| match place {
            Some(node) => matches(self.schema, self.schema.node(*node), &step.test) == Some(true),
            None => step.test == NodeTest::Node,
        });
        reached.sort();
        reached.dedup();
        // Above the datastore there is nothing, in any schema.
        match reached.is_empty() && step.test == NodeTest::Node {
            true => None,
            false => Some(reached),
        }
    }

    fn children(&self, place: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        let schema = self.schema;
        let children = place.map_or(schema.roots(), |node| &schema.node(node).children);
        children
            .iter()
            .copied()
            .filter(|&child| is_data(schema, child))
    }

    fn add_descendants(&self, place: Option<NodeId>, reached: &mut Vec<Option<NodeId>>) {
        for child in self.children(place) {
            reached.push(Some(child));
            self.add_descendants(Some(child), reached);
        }
    }
}
