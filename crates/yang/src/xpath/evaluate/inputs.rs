//! The inputs of an expression: what its value depends on in addition to the data.
//!
//! `count(../rule[a = current()/a])` depends on the parent of the context node, where `../rule` starts, and on the
//! value of `current()/a`: on the parent by its identity, on the operand by its value. An expression that starts at
//! the context node itself depends on that node: its value is not shared with other nodes.

use smallvec::SmallVec;

use super::evaluator::{Env, GO_ON, STOP};
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::schema::NodeId;
use crate::value::Value;
use crate::xpath::{Axis, Expr, Function, NodeTest, PathStep};

/// The maximum number of nodes of an operand that is used as an input.
const OPERAND_NODES_MAX: usize = 4;

/// The inputs of an expression in one context.
pub(super) struct Inputs<T: Instances> {
    /// The start of paths that go up from the context node.
    item: Option<T::Inner>,
    /// The start of paths that go up from the current node.
    current: Option<T::Inner>,
    operands: SmallVec<[Operand; 1]>,
}

impl<T: Instances> PartialEq for Inputs<T> {
    fn eq(&self, other: &Self) -> bool {
        self.operands == other.operands && self.item == other.item && self.current == other.current
    }
}

impl<T: Instances> Eq for Inputs<T> {}

impl<T: Instances> std::hash::Hash for Inputs<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.item.hash(state);
        self.current.hash(state);
        self.operands.hash(state);
    }
}

/// The value of a subexpression of a predicate that depends on the current node.
#[derive(PartialEq, Eq, Hash)]
enum Operand {
    /// Leaves by schema node and value, and whether they are text nodes.
    Leaves(SmallVec<[(NodeId, Value, IsText); 1]>),
}

/// Whether an item is the text node of a leaf.
type IsText = bool;

/// The node at which an expression is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The context node.
    Outer,
    /// A node that the expression has reached.
    Inner,
}

/// The use of a node-set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Its nodes are distinguished, or paths continue from them.
    Nodes,
    /// Its content, or whether it is empty.
    Value,
}

/// The inputs of an expression, according to its syntax.
#[derive(Default)]
struct Needs<'e> {
    /// The minimum number of levels that a path goes up from the context node at its start.
    item: Option<usize>,
    /// The same for paths from the current node.
    current: Option<usize>,
    /// Subexpressions that depend on the current node by their value.
    operands: SmallVec<[&'e Expr; 2]>,
    /// Whether it depends on the node itself, or this is unknown.
    is_individual: bool,
}

/// Returns whether an expression may have one value for several context nodes.
pub(super) fn is_shared(expr: &Expr) -> bool {
    !Needs::of(expr).is_individual
}

impl<T: Instances> Evaluator<'_, T> {
    /// The inputs of an expression in a context; `None` if they cannot be compared.
    pub(super) fn inputs(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<Inputs<T>>, T::Error> {
        self.inputs_by(&Needs::of(expr), env)
    }

    fn inputs_by(
        &self,
        needs: &Needs<'_>,
        env: &Env<'_, T>,
    ) -> Result<Option<Inputs<T>>, T::Error> {
        if needs.is_individual {
            return Ok(None);
        }
        let mut inputs = Inputs {
            item: None,
            current: None,
            operands: SmallVec::new(),
        };
        let places = [
            (needs.item, env.item, &mut inputs.item),
            (needs.current, env.current, &mut inputs.current),
        ];
        for (levels, from, place) in places {
            if let Some(levels) = levels {
                match self.place_above(from, levels) {
                    Some(above) => *place = Some(above),
                    None => return Ok(None),
                }
            }
        }
        for &operand in &needs.operands {
            match self.operand(operand, env)? {
                Some(operand) => inputs.operands.push(operand),
                None => return Ok(None),
            }
        }
        Ok(Some(inputs))
    }

    /// The inputs of a step from the context node to others of the same parent.
    pub(super) fn inputs_of_step(
        &self,
        step: &PathStep,
        env: &Env<'_, T>,
    ) -> Result<Option<Inputs<T>>, T::Error> {
        let mut needs = Needs {
            item: Some(1),
            ..Needs::default()
        };
        needs.read_all(&step.predicates, Level::Inner, Use::Value);
        self.inputs_by(&needs, env)
    }

    /// The ancestor of a node this many levels up, at least one.
    fn place_above(&self, item: &Item<T>, levels: usize) -> Option<T::Inner> {
        let mut item = self.parent(item)?;
        for _ in 1..levels {
            item = self.parent(&item)?;
        }
        item.as_inner().cloned()
    }

    fn operand(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Option<Operand>, T::Error> {
        let mut leaves = SmallVec::new();
        let mut is_comparable = true;
        let _ = self.stream(expr, env, &mut |item| {
            is_comparable = leaves.len() < OPERAND_NODES_MAX;
            match item {
                Item::Inner(_) => is_comparable = false,
                Item::Leaf(leaf) => leaves.push((leaf.node, leaf.value, false)),
                Item::Text(leaf) => leaves.push((leaf.node, leaf.value, true)),
            }
            Ok(if is_comparable { GO_ON } else { STOP })
        })?;
        Ok(is_comparable.then_some(Operand::Leaves(leaves)))
    }
}

impl<'e> Needs<'e> {
    fn of(expr: &'e Expr) -> Self {
        let mut needs = Self::default();
        needs.read(expr, Level::Outer, Use::Nodes);
        needs
    }

    fn read(&mut self, expr: &'e Expr, level: Level, used: Use) {
        match expr {
            Expr::Or(parts) | Expr::And(parts) => self.read_all(parts, level, Use::Value),
            Expr::Union(parts) => self.read_all(parts, level, Use::Nodes),
            Expr::Binary(_, left, right) => {
                self.read(left, level, Use::Value);
                self.read(right, level, Use::Value);
            }
            Expr::Negate(inner) => self.read(inner, level, Use::Value),
            Expr::Path(path) if path.is_absolute => self.predicates(&path.steps),
            Expr::Path(path) => {
                if level == Level::Outer {
                    self.item = self.up(self.item, &path.steps);
                }
                self.predicates(&path.steps);
            }
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => self.filter(expr, (primary, predicates, steps), level, used),
            Expr::Call(function, arguments) => self.call(expr, *function, arguments, level, used),
            Expr::Literal(_) | Expr::Number(_) => {}
            Expr::Variable(..) => self.is_individual = true,
        }
    }

    fn read_all(&mut self, parts: &'e [Expr], level: Level, used: Use) {
        for part in parts {
            self.read(part, level, used);
        }
    }

    fn filter(
        &mut self,
        whole: &'e Expr,
        (primary, predicates, steps): (&'e Expr, &'e [Expr], &'e [PathStep]),
        level: Level,
        used: Use,
    ) {
        let is_current = matches!(primary, Expr::Call(Function::Current, _));
        match (is_current && predicates.is_empty(), used) {
            (true, Use::Value) => self.operands.push(whole),
            (true, Use::Nodes) => {
                self.current = self.up(self.current, steps);
                self.predicates(steps);
            }
            (false, _) => {
                self.read(primary, level, Use::Nodes);
                self.read_all(predicates, Level::Inner, Use::Value);
                self.predicates(steps);
            }
        }
    }

    fn call(
        &mut self,
        whole: &'e Expr,
        function: Function,
        arguments: &'e [Expr],
        level: Level,
        used: Use,
    ) {
        match function {
            Function::Current if used == Use::Value => self.operands.push(whole),
            Function::Current => self.is_individual = true,
            Function::Deref => self.read_all(arguments, level, Use::Nodes),
            Function::True | Function::False => {}
            // These read the context node, its position, or the context size.
            _ if arguments.is_empty() || function == Function::Lang => {
                self.is_individual |= level == Level::Outer;
                self.read_all(arguments, level, Use::Value);
            }
            _ => self.read_all(arguments, level, Use::Value),
        }
    }

    fn predicates(&mut self, steps: &'e [PathStep]) {
        for step in steps {
            self.read_all(&step.predicates, Level::Inner, Use::Value);
        }
    }

    /// The minimum of a number of levels and of those that steps go up first.
    fn up(&mut self, before: Option<usize>, steps: &[PathStep]) -> Option<usize> {
        let is_up = |step: &&PathStep| {
            step.axis == Axis::Parent && step.test == NodeTest::Node && step.predicates.is_empty()
        };
        let levels = steps.iter().take_while(is_up).count();
        self.is_individual |= levels == 0;
        Some(before.map_or(levels, |before| before.min(levels)))
    }
}
