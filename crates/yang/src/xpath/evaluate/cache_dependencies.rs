//! The inputs of an expression: what its value depends on in addition to the data.
//!
//! `count(../rule[a = current()/a])` depends on the parent of the context node, where `../rule` starts, and on the
//! value of `current()/a`: on the parent by its identity, on the operand by its value. An expression that starts at
//! the context node itself depends on that node: its value is not shared with other nodes.

use smallvec::SmallVec;

use super::cached_values::{Inputs, OperandValue};
use super::evaluator::{CONTINUE, Env, STOP};
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::xpath::{Axis, Expr, Function, NodeTest, PathStep};

/// The maximum number of nodes of an operand that is used as an input.
const OPERAND_NODES_MAX: usize = 4;

/// The node at which an expression is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EvaluationNode {
    /// The context node.
    Outer,
    /// A node that the expression has reached.
    Inner,
}

/// The use of a node-set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeSetUse {
    /// Its nodes are distinguished, or paths continue from them.
    Nodes,
    /// Its content, or whether it is empty.
    Value,
}

/// The inputs of an expression, according to its syntax.
#[derive(Default)]
struct InputAnalysis<'e> {
    /// The minimum number of levels that a path goes up from the context node at its start.
    item: Option<usize>,
    /// The same for paths from the current node.
    current: Option<usize>,
    /// Subexpressions that depend on the current node by their value.
    operands: SmallVec<[&'e Expr; 2]>,
    /// Whether it depends on the node itself, or this is unknown.
    is_not_shared: bool,
}

/// Returns whether an expression may have one value for several context nodes.
pub(super) fn is_shared(expr: &Expr) -> bool {
    !InputAnalysis::of(expr).is_not_shared
}

impl<T: Instances> Evaluator<'_, T> {
    /// The inputs of an expression in a context; `None` if they cannot be compared.
    pub(super) fn inputs(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<Inputs<T>>, T::Error> {
        self.inputs_by(&InputAnalysis::of(expr), env)
    }

    fn inputs_by(
        &self,
        analysis: &InputAnalysis<'_>,
        env: &Env<'_, T>,
    ) -> Result<Option<Inputs<T>>, T::Error> {
        if analysis.is_not_shared {
            return Ok(None);
        }
        let mut inputs = Inputs {
            item: None,
            current: None,
            operands: SmallVec::new(),
        };
        let places = [
            (analysis.item, env.item, &mut inputs.item),
            (analysis.current, env.current, &mut inputs.current),
        ];
        for (levels, from, place) in places {
            if let Some(levels) = levels {
                match self.ancestor(from, levels) {
                    Some(above) => *place = Some(above),
                    None => return Ok(None),
                }
            }
        }
        for &operand in &analysis.operands {
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
        let mut analysis = InputAnalysis {
            item: Some(1),
            ..InputAnalysis::default()
        };
        analysis.read_all(&step.predicates, EvaluationNode::Inner, NodeSetUse::Value);
        self.inputs_by(&analysis, env)
    }

    /// The ancestor of a node this many levels up, at least one.
    fn ancestor(&self, item: &Item<T>, levels: usize) -> Option<T::Inner> {
        let mut item = self.parent(item)?;
        for _ in 1..levels {
            item = self.parent(&item)?;
        }
        item.as_inner().cloned()
    }

    fn operand(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Option<OperandValue>, T::Error> {
        let mut leaves = SmallVec::new();
        let mut is_comparable = true;
        let _ = self.stream(expr, env, &mut |item| {
            is_comparable = leaves.len() < OPERAND_NODES_MAX;
            match item {
                Item::Inner(_) => is_comparable = false,
                Item::Leaf(leaf) => leaves.push((leaf.node, leaf.value, false)),
                Item::Text(leaf) => leaves.push((leaf.node, leaf.value, true)),
            }
            Ok(if is_comparable { CONTINUE } else { STOP })
        })?;
        Ok(is_comparable.then_some(OperandValue::Leaves(leaves)))
    }
}

impl<'e> InputAnalysis<'e> {
    fn of(expr: &'e Expr) -> Self {
        let mut analysis = Self::default();
        analysis.read(expr, EvaluationNode::Outer, NodeSetUse::Nodes);
        analysis
    }

    fn read(&mut self, expr: &'e Expr, at: EvaluationNode, usage: NodeSetUse) {
        match expr {
            Expr::Or(parts) | Expr::And(parts) => self.read_all(parts, at, NodeSetUse::Value),
            Expr::Union(parts) => self.read_all(parts, at, NodeSetUse::Nodes),
            Expr::Binary(_, left, right) => {
                self.read(left, at, NodeSetUse::Value);
                self.read(right, at, NodeSetUse::Value);
            }
            Expr::Negate(inner) => self.read(inner, at, NodeSetUse::Value),
            Expr::Path(path) if path.is_absolute => self.predicates(&path.steps),
            Expr::Path(path) => {
                if at == EvaluationNode::Outer {
                    self.item = self.up(self.item, &path.steps);
                }
                self.predicates(&path.steps);
            }
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => self.filter(expr, (primary, predicates, steps), at, usage),
            Expr::Call(function, arguments) => self.call(expr, *function, arguments, at, usage),
            Expr::Literal(_) | Expr::Number(_) => {}
            Expr::Variable(..) => self.is_not_shared = true,
        }
    }

    fn read_all(&mut self, parts: &'e [Expr], at: EvaluationNode, usage: NodeSetUse) {
        for part in parts {
            self.read(part, at, usage);
        }
    }

    fn filter(
        &mut self,
        whole: &'e Expr,
        (primary, predicates, steps): (&'e Expr, &'e [Expr], &'e [PathStep]),
        at: EvaluationNode,
        usage: NodeSetUse,
    ) {
        let is_current = matches!(primary, Expr::Call(Function::Current, _));
        match (is_current && predicates.is_empty(), usage) {
            (true, NodeSetUse::Value) => self.operands.push(whole),
            (true, NodeSetUse::Nodes) => {
                self.current = self.up(self.current, steps);
                self.predicates(steps);
            }
            (false, _) => {
                self.read(primary, at, NodeSetUse::Nodes);
                self.read_all(predicates, EvaluationNode::Inner, NodeSetUse::Value);
                self.predicates(steps);
            }
        }
    }

    fn call(
        &mut self,
        whole: &'e Expr,
        function: Function,
        arguments: &'e [Expr],
        at: EvaluationNode,
        usage: NodeSetUse,
    ) {
        match function {
            Function::Current if usage == NodeSetUse::Value => self.operands.push(whole),
            Function::Current => self.is_not_shared = true,
            Function::Deref => self.read_all(arguments, at, NodeSetUse::Nodes),
            Function::True | Function::False => {}
            // These read the context node, its position, or the context size.
            _ if arguments.is_empty() || function == Function::Lang => {
                self.is_not_shared |= at == EvaluationNode::Outer;
                self.read_all(arguments, at, NodeSetUse::Value);
            }
            _ => self.read_all(arguments, at, NodeSetUse::Value),
        }
    }

    fn predicates(&mut self, steps: &'e [PathStep]) {
        for step in steps {
            self.read_all(&step.predicates, EvaluationNode::Inner, NodeSetUse::Value);
        }
    }

    /// The minimum of a number of levels and of those that steps go up first.
    fn up(&mut self, before: Option<usize>, steps: &[PathStep]) -> Option<usize> {
        let is_up = |step: &&PathStep| {
            step.axis == Axis::Parent && step.test == NodeTest::Node && step.predicates.is_empty()
        };
        let levels = steps.iter().take_while(is_up).count();
        self.is_not_shared |= levels == 0;
        Some(before.map_or(levels, |before| before.min(levels)))
    }
}
