//! The function library: nodes, booleans and numbers (XPath 1.0 §4.1, §4.3, §4.4). Strings are in [`super::strings`],
//! the functions of YANG (RFC 7950 §10) in [`super::yang_functions`].

use super::cached_values::{CachedKind, CachedValue};
use super::evaluator::{CONTINUE, Env};
use super::{Evaluator, Item, Object};
use crate::instances::Instances;
use crate::schema::NodeKind;
use crate::xpath::{Expr, Function, NodeTest};

impl<T: Instances> Evaluator<'_, T> {
    /// The value of a function call; the parser has checked the number of arguments.
    pub(super) fn call(
        &self,
        function: Function,
        arguments: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Object<T>, T::Error> {
        Ok(match function {
            Function::Last => Object::Number(env.size as f64),
            Function::Position => Object::Number(env.position as f64),
            Function::Count => {
                let counts = arguments.iter().map(|nodes| self.count(nodes, env));
                Object::Number(counts.sum::<Result<u64, _>>()? as f64)
            }
            Function::Sum => Object::Number(self.sum(arguments, env)?),
            Function::LocalName | Function::NamespaceUri | Function::Name => {
                let item = self.argument_node(arguments, env)?;
                Object::string(item.map_or_else(String::new, |item| self.name(function, &item)))
            }
            Function::Boolean => Object::Boolean(self.argument_boolean(arguments, env)?),
            Function::Not => Object::Boolean(!self.argument_boolean(arguments, env)?),
            Function::True => Object::Boolean(true),
            Function::False => Object::Boolean(false),
            Function::Lang => {
                self.argument_text(arguments, 0, env)?;
                Object::Boolean(false)
            }
            Function::Number => Object::Number(self.argument_number(arguments, env)?),
            Function::Floor => Object::Number(self.argument_number(arguments, env)?.floor()),
            Function::Ceiling => Object::Number(self.argument_number(arguments, env)?.ceil()),
            Function::Round => Object::Number(rounded(self.argument_number(arguments, env)?)),
            Function::Current | Function::Deref | Function::Id => {
                return Err(Self::no_value(format!("{}()", function.as_str())));
            }
            Function::DerivedFrom
            | Function::DerivedFromOrSelf
            | Function::EnumValue
            | Function::BitIsSet
            | Function::ReMatch => self.yang_function(function, arguments, env)?,
            _ => self.string_function(function, arguments, env)?,
        })
    }

    /// An argument as a string; defaults to the context node.
    pub(super) fn argument_text(
        &self,
        arguments: &[Expr],
        index: usize,
        env: &Env<'_, T>,
    ) -> Result<Box<str>, T::Error> {
        match arguments.get(index) {
            Some(argument) => self.text(argument, env),
            None => self.string_of(env.item),
        }
    }

    fn argument_number(&self, arguments: &[Expr], env: &Env<'_, T>) -> Result<f64, T::Error> {
        match arguments.first() {
            Some(argument) => self.number(argument, env),
            None => self.number_of(env.item),
        }
    }

    fn argument_boolean(&self, arguments: &[Expr], env: &Env<'_, T>) -> Result<bool, T::Error> {
        let argument = arguments.first();
        argument.map_or(Ok(false), |argument| self.boolean(argument, env))
    }

    /// The first node of the argument; defaults to the context node.
    fn argument_node(
        &self,
        arguments: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Option<Item<T>>, T::Error> {
        match arguments.first() {
            Some(argument) => self.first(argument, env),
            None => Ok(Some(env.item.clone())),
        }
    }

    fn sum(&self, arguments: &[Expr], env: &Env<'_, T>) -> Result<f64, T::Error> {
        let mut total = 0.0;
        for nodes in arguments {
            let cached = self.cached(CachedKind::Sum, nodes, env, || {
                if let Some(sum) = self.maintained_sum(nodes, env)? {
                    return Ok(CachedValue::Sum(sum));
                }
                let mut sum = 0.0;
                // In document order: adding non-integers is not associative.
                for item in self.nodes(nodes, env)? {
                    sum += self.number_of(&item)?;
                }
                Ok(CachedValue::Sum(sum))
            })?;
            if let CachedValue::Sum(sum) = cached {
                total += sum;
            }
        }
        Ok(total)
    }

    fn name(&self, function: Function, item: &Item<T>) -> String {
        let id = match item {
            Item::Text(_) => None,
            item => item.node(self.data),
        };
        let Some(node) = id.map(|id| self.named_node(id)) else {
            return String::new();
        };
        let module = self.schema().module(node.module);
        match function {
            Function::LocalName => node.name.to_string(),
            Function::NamespaceUri => module.namespace.to_string(),
            _ => format!("{}:{}", module.name, node.name),
        }
    }

    /// The number of children of a node that pass a test; lists have a counter.
    pub(super) fn count_children(&self, of: &Item<T>, test: &NodeTest) -> Result<u64, T::Error> {
        let Item::Inner(place) = of else {
            return Ok(0);
        };
        let mut count = 0;
        let _ = self.child_nodes(self.data.node(place), test, &mut |id| {
            self.count_visit()?;
            let node = self.schema().node(id);
            count += match &node.kind {
                NodeKind::List(_) if self.is_in_scope(node) => self.data.count(place, id)?,
                NodeKind::LeafList(_) if self.is_in_scope(node) => {
                    match self.data.count(place, id)? {
                        0 => self.defaults_in(place, id)?.len() as u64,
                        stored => stored,
                    }
                }
                _ => {
                    let mut found = 0;
                    let _ = self.instances(place, id, &mut |_| {
                        found += 1;
                        Ok(CONTINUE)
                    })?;
                    found
                }
            };
            Ok(CONTINUE)
        })?;
        Ok(count)
    }
}

/// `round()` (XPath 1.0 §4.4): to the nearest integer, halves up.
pub(super) fn rounded(number: f64) -> f64 {
    if number.is_finite() && number.fract() != 0.0 {
        let up = (number + 0.5).floor();
        // The result between -0.5 and 0 is minus zero.
        if up == 0.0 && number < 0.0 { -0.0 } else { up }
    } else {
        number
    }
}
