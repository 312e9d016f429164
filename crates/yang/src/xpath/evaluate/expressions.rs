//! Expressions (XPath 1.0 §3), each evaluated to the required type.

use super::cached_values::{CachedKind, CachedValue};
use super::comparison::Comparison;
use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::index_lookup::is_plain_child;
use super::paths::{Order, StreamProperties, is_descent, properties_of};
use super::value_types::string_to_number;
use super::{Evaluator, Item, Object};
use crate::instances::{Instances, Visit};
use crate::xpath::{BinaryOperator, Expr, Function};

impl<T: Instances> Evaluator<'_, T> {
    /// The value of an expression.
    pub(super) fn object(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Object<T>, T::Error> {
        Ok(match expr {
            Expr::Or(_) | Expr::And(_) => Object::Boolean(self.boolean(expr, env)?),
            Expr::Binary(operator, ..) if Comparison::of(*operator).is_some() => {
                Object::Boolean(self.boolean(expr, env)?)
            }
            Expr::Binary(..) | Expr::Negate(_) | Expr::Number(_) => {
                Object::Number(self.number(expr, env)?)
            }
            expr if self.is_node_set(expr) => Object::NodeSet(self.nodes(expr, env)?),
            Expr::Call(function, arguments) => self.call(*function, arguments, env)?,
            Expr::Literal(text) => Object::string(&**text),
            Expr::Union(_) | Expr::Path(_) | Expr::Filter { .. } => Object::NodeSet(Vec::new()),
            Expr::Variable(_, name) => {
                return Err(Self::no_value(format!("the variable ${name} has no value")));
            }
        })
    }

    /// The value of an expression as a boolean.
    pub(super) fn boolean(&self, expr: &Expr, env: &Env<'_, T>) -> Result<bool, T::Error> {
        match expr {
            Expr::Or(operands) => {
                for operand in operands {
                    if self.boolean(operand, env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::And(operands) => {
                for operand in operands {
                    if !self.boolean(operand, env)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Binary(operator, left, right) => match Comparison::of(*operator) {
                Some(comparison) => self.compare(comparison, left, right, env),
                None => Ok(Object::<T>::Number(self.number(expr, env)?).to_boolean()),
            },
            Expr::Call(Function::Not, arguments) => match &arguments[..] {
                [argument] => Ok(!self.boolean(argument, env)?),
                _ => Ok(true),
            },
            Expr::Call(Function::Boolean, arguments) if arguments.len() == 1 => {
                self.boolean(&arguments[0], env)
            }
            expr if self.is_node_set(expr) => self.exists(expr, env),
            // These look at all nodes: `derived-from-or-self(/acls/acl/type, 'ipv4-acl-type')`.
            Expr::Call(Function::DerivedFrom | Function::DerivedFromOrSelf, _) => {
                let cached = self.cached(CachedKind::Boolean, expr, env, || {
                    Ok(CachedValue::Boolean(self.object(expr, env)?.to_boolean()))
                })?;
                Ok(matches!(cached, CachedValue::Boolean(true)))
            }
            expr => Ok(self.object(expr, env)?.to_boolean()),
        }
    }

    /// Returns whether an expression has a node.
    fn exists(&self, expr: &Expr, env: &Env<'_, T>) -> Result<bool, T::Error> {
        if let Some(count) = self.count_siblings(expr, env)? {
            return Ok(count > 0);
        }
        let cached = self.cached(CachedKind::Boolean, expr, env, || {
            let mut is_found = false;
            let _ = self.stream(expr, env, &mut |_| {
                is_found = true;
                Ok(STOP)
            })?;
            Ok(CachedValue::Boolean(is_found))
        })?;
        Ok(matches!(cached, CachedValue::Boolean(true)))
    }

    /// The value of an expression as a number.
    pub(super) fn number(&self, expr: &Expr, env: &Env<'_, T>) -> Result<f64, T::Error> {
        match expr {
            Expr::Number(number) => Ok(*number),
            Expr::Literal(text) => Ok(string_to_number(text)),
            Expr::Negate(inner) => Ok(-self.number(inner, env)?),
            Expr::Binary(operator, left, right) if Comparison::of(*operator).is_none() => {
                let (left, right) = (self.number(left, env)?, self.number(right, env)?);
                Ok(match operator {
                    BinaryOperator::Add => left + right,
                    BinaryOperator::Subtract => left - right,
                    BinaryOperator::Multiply => left * right,
                    BinaryOperator::Divide => left / right,
                    _ => left % right,
                })
            }
            expr if self.is_node_set(expr) => match self.first(expr, env)? {
                Some(item) => self.number_of(&item),
                None => Ok(f64::NAN),
            },
            expr => {
                let object = self.object(expr, env)?;
                self.number_from(&object)
            }
        }
    }

    /// The value of an expression as a string.
    pub(super) fn text(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Box<str>, T::Error> {
        if let Expr::Literal(text) = expr {
            return Ok(text.as_str().into());
        }
        if self.is_node_set(expr) {
            return match self.first(expr, env)? {
                Some(item) => self.string_of(&item),
                None => Ok(Box::default()),
            };
        }
        let object = self.object(expr, env)?;
        self.string_from(object)
    }

    /// Returns whether the value of an expression is a node-set.
    pub(super) fn is_node_set(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Union(_) | Expr::Path(_) | Expr::Filter { .. } => true,
            Expr::Call(function, _) => {
                matches!(function, Function::Current | Function::Deref | Function::Id)
            }
            _ => false,
        }
    }

    /// The distinct nodes of an expression, in document order.
    pub(super) fn nodes(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Vec<Item<T>>, T::Error> {
        let mut items = Vec::new();
        let _ = self.stream(expr, env, &mut |item| {
            items.push(item);
            Ok(CONTINUE)
        })?;
        self.sort(&mut items, self.properties(expr).order)?;
        Ok(items)
    }

    /// The first node of an expression in document order.
    pub(super) fn first(&self, expr: &Expr, env: &Env<'_, T>) -> Result<Option<Item<T>>, T::Error> {
        let cached = self.cached(CachedKind::First, expr, env, || {
            if self.properties(expr).order != Order::Document {
                let first = self.nodes(expr, env)?.into_iter().next();
                return Ok(CachedValue::First(first));
            }
            let mut first = None;
            let _ = self.stream(expr, env, &mut |item| {
                first = Some(item);
                Ok(STOP)
            })?;
            Ok(CachedValue::First(first))
        })?;
        Ok(match cached {
            CachedValue::First(first) => first,
            _ => None,
        })
    }

    /// The properties of the node stream of an expression.
    fn properties(&self, expr: &Expr) -> StreamProperties {
        match expr {
            Expr::Path(path) => properties_of(StreamProperties::ONE, &path.steps),
            Expr::Filter { primary, steps, .. } => {
                properties_of(self.primary_properties(primary), steps)
            }
            Expr::Call(Function::Current, _) => StreamProperties::ONE,
            _ => StreamProperties::SORTED,
        }
    }

    fn primary_properties(&self, primary: &Expr) -> StreamProperties {
        match primary {
            Expr::Call(Function::Current, _) => StreamProperties::ONE,
            _ => StreamProperties::SORTED,
        }
    }

    /// Visits the distinct nodes of an expression.
    pub(super) fn stream(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        match expr {
            Expr::Path(path) => self.stream_path(path, env, visit),
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => {
                if let (Expr::Call(Function::Current, _), true) =
                    (&**primary, predicates.is_empty())
                {
                    return self.stream_steps(env.current, steps, env, visit);
                }
                let properties = self.primary_properties(primary);
                let items = self.nodes(primary, env)?;
                let items = self.filtered(items, predicates, env)?;
                self.stream_from(items, properties, steps, env, visit)
            }
            Expr::Union(operands) => {
                for item in self.union(operands, env)? {
                    if visit(item)?.is_break() {
                        return Ok(STOP);
                    }
                }
                Ok(CONTINUE)
            }
            Expr::Call(Function::Current, _) => visit(env.current.clone()),
            Expr::Call(Function::Id, arguments) => {
                for argument in arguments {
                    self.object(argument, env)?;
                }
                Ok(CONTINUE)
            }
            Expr::Call(Function::Deref, arguments) => {
                for item in self.deref(arguments, env)? {
                    if visit(item)?.is_break() {
                        return Ok(STOP);
                    }
                }
                Ok(CONTINUE)
            }
            expr => Err(Self::no_value(format!("'{expr}' is not a node-set"))),
        }
    }

    fn union(&self, operands: &[Expr], env: &Env<'_, T>) -> Result<Vec<Item<T>>, T::Error> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut items = Vec::new();
        for operand in operands {
            let _ = self.stream(operand, env, &mut |item| {
                if seen.insert(item.clone()) {
                    items.push(item);
                }
                Ok(CONTINUE)
            })?;
        }
        self.sort(&mut items, Order::Unknown)?;
        Ok(items)
    }

    /// `count()` of an expression.
    pub(super) fn count(&self, expr: &Expr, env: &Env<'_, T>) -> Result<u64, T::Error> {
        if let Some(count) = self.count_siblings(expr, env)? {
            return Ok(count);
        }
        let cached = self.cached(CachedKind::Count, expr, env, || {
            self.count_nodes(expr, env).map(CachedValue::Count)
        })?;
        Ok(match cached {
            CachedValue::Count(count) => count,
            _ => 0,
        })
    }

    /// Counts the last step without enumeration, if possible.
    fn count_nodes(&self, expr: &Expr, env: &Env<'_, T>) -> Result<u64, T::Error> {
        if let Expr::Path(path) = expr
            && let Some((last, before)) = path.steps.split_last()
            && is_plain_child(last)
            && !before.last().is_some_and(is_descent)
        {
            let mut count = 0;
            let _ = self.stream_leading(path, before.len(), env, &mut |item| {
                count += self.count_children(&item, &last.test)?;
                Ok(CONTINUE)
            })?;
            return Ok(count);
        }
        let mut count = 0;
        let _ = self.stream(expr, env, &mut |_| {
            count += 1;
            Ok(CONTINUE)
        })?;
        Ok(count)
    }
}
