//! The functions of YANG (RFC 7950 §10), except `current()` and `deref()`.

use super::evaluator::{CONTINUE, Env, STOP};
use super::string_values::resolved_type;
use super::{Evaluator, Leaf, Object};
use crate::error::{DataError, ErrorTag};
use crate::instances::Instances;
use crate::schema::{Identity, IdentityId, Schema, Type, TypeKind, pattern};
use crate::value::Value;
use crate::xpath::{Expr, Function};

impl<T: Instances> Evaluator<'_, T> {
    /// The value of a call of one of these functions.
    pub(super) fn yang_function(
        &self,
        function: Function,
        arguments: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Object<T>, T::Error> {
        match (function, arguments) {
            (Function::ReMatch, [text, pattern]) => self.re_match(text, pattern, env),
            (Function::EnumValue, [nodes]) => self.enum_value(nodes, env),
            (Function::BitIsSet, [nodes, bit]) => self.bit_is_set(nodes, bit, env),
            (Function::DerivedFromOrSelf | Function::DerivedFrom, [nodes, identity]) => {
                let with_self = function == Function::DerivedFromOrSelf;
                let accepts = |expected: IdentityId, id: IdentityId| {
                    let schema = self.schema();
                    let Identity { module, name, .. } = schema.identity(expected);
                    (with_self && id == expected)
                        || schema
                            .identities_by_name(*module, name)
                            .any(|identity| identity.derived.binary_search(&id).is_ok())
                };
                self.is_derived(nodes, identity, env, &accepts)
            }
            _ => Err(Self::no_value(format!("{}()", function.as_str()))),
        }
    }

    /// `re-match()` (RFC 7950 §10.2.1).
    fn re_match(
        &self,
        text: &Expr,
        pattern: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Object<T>, T::Error> {
        let text = self.text(text, env)?;
        if let Expr::Literal(literal) = pattern
            && let Some(regex) = literal.as_pattern()
        {
            return Ok(Object::Boolean(regex.is_match(&text)));
        }
        let pattern = self.text(pattern, env)?;
        let regex = pattern::translate(&pattern).map_err(|error| {
            let message = format!("re-match(): '{pattern}' is not a pattern: {error}");
            DataError::new(ErrorTag::OperationFailed, message)
        })?;
        Ok(Object::Boolean(regex.is_match(&text)))
    }

    /// `derived-from()` and `derived-from-or-self()` (RFC 7950 §10.4).
    fn is_derived(
        &self,
        nodes: &Expr,
        identity: &Expr,
        env: &Env<'_, T>,
        accepts: &dyn Fn(IdentityId, IdentityId) -> bool,
    ) -> Result<Object<T>, T::Error> {
        let computed;
        let name = match identity {
            Expr::Literal(literal) => literal.as_name(),
            other => {
                computed = self.text(other, env)?;
                &computed
            }
        };
        let schema = self.schema();
        let mut is_found = false;
        let _ = self.stream(nodes, env, &mut |item| {
            let Some(leaf) = item.as_leaf() else {
                return Ok(CONTINUE);
            };
            let Value::Identity(value) = &leaf.value else {
                return Ok(CONTINUE);
            };
            let own_module = &schema.module(schema.node(leaf.node).module).name;
            let expected = identity_of(schema, name, own_module);
            let own = identity_of(schema, value, own_module);
            is_found =
                matches!((expected, own), (Some(expected), Some(own)) if accepts(expected, own));
            Ok(if is_found { STOP } else { CONTINUE })
        })?;
        Ok(Object::Boolean(is_found))
    }

    /// `enum-value()` (RFC 7950 §10.5.1).
    fn enum_value(&self, nodes: &Expr, env: &Env<'_, T>) -> Result<Object<T>, T::Error> {
        let first = self.first(nodes, env)?;
        let leaf = first.as_ref().and_then(|item| item.as_leaf());
        let value = leaf.and_then(|leaf| {
            let name = leaf.value.as_bytes()?;
            self.type_of(leaf, &|of| match &of.kind {
                TypeKind::Enumeration(items) => {
                    let item = items.iter().find(|item| item.name.as_bytes() == name)?;
                    Some(f64::from(item.value))
                }
                _ => None,
            })
        });
        Ok(Object::Number(value.unwrap_or(f64::NAN)))
    }

    /// `bit-is-set()` (RFC 7950 §10.6.1).
    fn bit_is_set(
        &self,
        nodes: &Expr,
        bit: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Object<T>, T::Error> {
        let first = self.first(nodes, env)?;
        let expected = self.text(bit, env)?;
        let leaf = first.as_ref().and_then(|item| item.as_leaf());
        let is_set = leaf.and_then(|leaf| {
            let Value::String(names) = &leaf.value else {
                return None;
            };
            self.type_of(leaf, &|of| match &of.kind {
                TypeKind::Bits(bits) => {
                    let is_known = |name: &str| bits.iter().any(|bit| *bit.name == *name);
                    let mut names = names.split(' ').filter(|name| !name.is_empty());
                    names
                        .clone()
                        .all(is_known)
                        .then(|| names.any(|name| *name == *expected))
                }
                _ => None,
            })
        });
        Ok(Object::Boolean(is_set.unwrap_or(false)))
    }

    /// The first result for the possible types of the value of a leaf: members of unions, and targets of leafrefs.
    fn type_of<R>(&self, leaf: &Leaf<T>, get: &dyn Fn(&Type) -> Option<R>) -> Option<R> {
        let node = self.schema().node(leaf.node).as_value()?;
        first_result(&node.value_type, get)
    }
}

fn first_result<R>(of: &Type, get: &dyn Fn(&Type) -> Option<R>) -> Option<R> {
    match &resolved_type(of).kind {
        TypeKind::Union(members) => members.iter().find_map(|member| first_result(member, get)),
        _ => get(resolved_type(of)),
    }
}

/// The identity of a name `module:identity`; without a module, in that of the leaf.
fn identity_of(schema: &Schema, name: &str, own_module: &str) -> Option<IdentityId> {
    let (module, name) = name.split_once(':').unwrap_or((own_module, name));
    schema.identity_by_name(schema.module_by_name(module)?, name)
}
