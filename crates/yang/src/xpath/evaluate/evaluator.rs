//! The evaluator and its interface.

use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::limits::Budget;
use super::schema_matches::{SchemaMatches, SchemaMatchesCache};
use super::value_cache::Memo;
use super::{Item, Limits, Object};
use crate::error::{DataError, ErrorTag};
use crate::instances::{Instances, Visit};
use crate::schema::{NodeId, Schema};
use crate::xpath::{Expression, NodeTest};

/// The nodes that an expression can access (RFC 7950 §6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All nodes: for expressions on state data, operations and notifications.
    #[default]
    All,
    /// Configuration only: for expressions on configuration. Neither stored state data nor their defaults are
    /// accessible, nor operations and notifications.
    Config,
    /// Stored nodes only, neither defaults nor containers without presence that contain nothing: for filters of events,
    /// which are evaluated on the event record alone (RFC 8639 §2.2).
    Stored,
}

/// The least and the greatest of some numbers, if there are any.
pub(super) type Extremes = Option<(f64, f64)>;

/// Evaluates expressions over one state of the data. Cheap to create; an evaluator that is reused caches schema
/// information.
pub struct Evaluator<'a, T: Instances> {
    pub(super) data: &'a T,
    pub(super) budget: Budget,
    pub(super) scope: Scope,
    pub(super) schema_matches_cache: RefCell<SchemaMatchesCache>,
    pub(super) memo: Memo<T>,
    /// The extremes of leaves in lists, by the parent of the list and the leaf.
    pub(super) extremes: RefCell<FxHashMap<(T::Inner, NodeId), Extremes>>,
}

impl<T: Instances> fmt::Debug for Evaluator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// The context of an expression (XPath 1.0 §1).
pub(super) struct Env<'e, T: Instances> {
    /// The context node.
    pub(super) item: &'e Item<T>,
    /// The result of `current()`.
    pub(super) current: &'e Item<T>,
    /// The context position.
    pub(super) position: u64,
    /// The context size; 0 if the expression does not use it.
    pub(super) size: u64,
}

impl<T: Instances> Clone for Env<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Instances> Copy for Env<'_, T> {}

impl<'e, T: Instances> Env<'e, T> {
    pub(super) fn at(item: &'e Item<T>) -> Self {
        Self {
            item,
            current: item,
            position: 1,
            size: 1,
        }
    }
}

/// Receives one node after another.
pub(super) type Visitor<'v, T> = dyn FnMut(Item<T>) -> Visit<<T as Instances>::Error> + 'v;

/// Continues a visit.
pub(super) const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

/// Stops a visit.
pub(super) const STOP: ControlFlow<()> = ControlFlow::Break(());

impl<'a, T: Instances> Evaluator<'a, T> {
    /// Creates an evaluator of this state of the data.
    pub fn new(data: &'a T, limits: Limits) -> Self {
        Self {
            data,
            budget: Budget::new(limits),
            scope: Scope::All,
            schema_matches_cache: RefCell::default(),
            memo: Memo::default(),
            extremes: RefCell::default(),
        }
    }

    /// Restricts the evaluator to these nodes.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Caches values of subexpressions that visit at least this many nodes ([`Self::test_shared`]).
    #[must_use]
    pub fn caching_from(self, steps: u64) -> Self {
        self.memo.cache_from(steps);
        self
    }

    /// The data.
    pub fn data(&self) -> &'a T {
        self.data
    }

    /// The value of an expression at a context node, which is also the current node.
    pub fn evaluate(
        &self,
        expression: &Expression,
        context: &Item<T>,
    ) -> Result<Object<T>, T::Error> {
        self.without_caching(|| {
            self.budget
                .run(|| self.object(&expression.root, &Env::at(context)))
        })
    }

    /// Evaluates an expression as a boolean, as for a `must` or `when`. Stops as soon as the result is certain.
    pub fn test(&self, expression: &Expression, context: &Item<T>) -> Result<bool, T::Error> {
        self.without_caching(|| {
            self.budget
                .run(|| self.boolean(&expression.root, &Env::at(context)))
        })
    }

    /// [`Self::test`] of an expression that is evaluated for many context nodes: values of subexpressions that some
    /// of them share are computed once.
    pub fn test_shared(
        &self,
        expression: &'a Expression,
        context: &Item<T>,
    ) -> Result<bool, T::Error> {
        let root = &expression.root;
        self.with_caching(root, || {
            self.budget.run(|| self.boolean(root, &Env::at(context)))
        })
    }

    /// The distinct nodes of an expression, in document order. An error if its value is not a node-set.
    pub fn select(
        &self,
        expression: &Expression,
        context: &Item<T>,
    ) -> Result<Vec<Item<T>>, T::Error> {
        self.without_caching(|| {
            self.budget
                .run(|| self.nodes(&expression.root, &Env::at(context)))
        })
    }

    /// Visits the distinct nodes of an expression, in any order, until the visitor breaks.
    pub fn visit(
        &self,
        expression: &Expression,
        context: &Item<T>,
        visit: &mut dyn FnMut(Item<T>) -> Visit<T::Error>,
    ) -> Result<(), T::Error> {
        self.without_caching(|| {
            self.budget.run(|| {
                let _ = self.stream(&expression.root, &Env::at(context), visit)?;
                Ok(())
            })
        })
    }

    /// The number of nodes visited by all evaluations; resets the number.
    pub fn take_visits(&self) -> u64 {
        self.budget.take_visits()
    }

    /// The number of nodes visited by the last evaluation.
    pub fn steps(&self) -> u64 {
        self.budget.steps()
    }

    /// The matches of a test.
    pub(super) fn schema_matches(&self, test: &NodeTest) -> Rc<SchemaMatches> {
        if let Some(matches) = self.schema_matches_cache.borrow().get(test) {
            return Rc::clone(matches);
        }
        let matches = Rc::new(SchemaMatches::of(self.schema(), test));
        self.schema_matches_cache
            .borrow_mut()
            .insert(test.clone(), Rc::clone(&matches));
        matches
    }

    pub(super) fn schema(&self) -> &'a Schema {
        self.data.schema()
    }

    /// Counts one visited node.
    pub(super) fn count_visit(&self) -> Result<(), T::Error> {
        Ok(self.budget.step(1)?)
    }

    /// The error of an expression without a value.
    pub(super) fn no_value(message: impl Into<String>) -> T::Error {
        DataError::new(ErrorTag::OperationFailed, message).into()
    }
}
