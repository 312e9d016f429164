//! Types of one leaf in several schemas: a type that has the values of all of them, and the conditions of each.
//!
//! The leaf has the wider type, so that its values are read and stored in one way; in an instance whose schema has a
//! narrower one, a condition restricts them. Types whose values have different forms (a number and a string) have no
//! common one.

use super::absolute_paths::relative;
use crate::schema::stored::encode;
use crate::schema::{
    Identity, IdentityId, Interval, Intervals, Pattern, Schema, Secrecy, Type, TypeKind,
};
use crate::xpath::{Axis, BinaryOperator, Expr, Function, Literal, NodeTest, PathStep};

/// Returns whether two types are equal.
pub(super) fn is_same(one: &Type, other: &Type) -> bool {
    match (encode(one), encode(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// A type with the values of two types; `None` if there is none.
pub(super) fn widened(schema: &mut Schema, one: &Type, other: &Type) -> Option<Type> {
    if is_same(one, other) {
        return Some(one.clone());
    }
    if one.canonical != other.canonical {
        return None;
    }
    let secrecy = match one.secrecy {
        Secrecy::Secret => one.secrecy,
        Secrecy::Open => other.secrecy,
    };
    Some(Type {
        kind: widened_kind(schema, &one.kind, &other.kind)?,
        secrecy,
        ..one.clone()
    })
}

fn widened_kind(schema: &mut Schema, one: &TypeKind, other: &TypeKind) -> Option<TypeKind> {
    Some(match (one, other) {
        (TypeKind::Integer(width, one), TypeKind::Integer(other_width, other))
            if width == other_width =>
        {
            TypeKind::Integer(*width, common(one, other))
        }
        (TypeKind::Decimal64(digits, one), TypeKind::Decimal64(other_digits, other))
            if digits == other_digits =>
        {
            TypeKind::Decimal64(*digits, common(one, other))
        }
        (TypeKind::String(one, patterns), TypeKind::String(other, others)) => {
            let both = patterns.iter().filter(|pattern| contains(others, pattern));
            TypeKind::String(common(one, other), both.cloned().collect())
        }
        (TypeKind::Enumeration(one), TypeKind::Enumeration(other)) => {
            let mut items = one.clone();
            for item in other {
                match items.iter().find(|known| known.name == item.name) {
                    Some(known) if known.value != item.value => return None,
                    Some(_) => {}
                    None => items.push(item.clone()),
                }
            }
            TypeKind::Enumeration(items)
        }
        (TypeKind::Bits(one), TypeKind::Bits(other)) => {
            let mut bits = one.clone();
            for bit in other {
                match bits.iter().find(|known| known.name == bit.name) {
                    Some(known) if known.position != bit.position => return None,
                    Some(_) => {}
                    None => bits.push(bit.clone()),
                }
            }
            bits.sort_by_key(|bit| bit.position);
            TypeKind::Bits(bits)
        }
        (TypeKind::IdentityRef(one), TypeKind::IdentityRef(other)) => {
            let mut all = accepted(schema, one);
            all.extend(accepted(schema, other));
            all.sort_unstable();
            all.dedup();
            TypeKind::IdentityRef(vec![base_of(schema, *one.first()?, all)])
        }
        (TypeKind::LeafRef { .. }, TypeKind::LeafRef { .. }) => {
            widened_leafref(schema, one, other)?
        }
        _ => return None,
    })
}

/// Leafrefs of one path, to a leaf with different types.
fn widened_leafref(schema: &mut Schema, one: &TypeKind, other: &TypeKind) -> Option<TypeKind> {
    let mut wide = one.clone();
    let (
        TypeKind::LeafRef {
            path,
            target,
            target_type,
            require_instance,
            ..
        },
        TypeKind::LeafRef {
            path: other_path,
            target: other_target,
            target_type: other_type,
            require_instance: other_required,
            ..
        },
    ) = (&mut wide, other)
    else {
        return None;
    };
    let is_same =
        (&*path, &*target, &*require_instance) == (other_path, other_target, other_required);
    **target_type = widened(schema, target_type, other_type).filter(|_| is_same)?;
    Some(wide)
}

/// The conditions of a type on the context node that a wider one does not have.
pub(super) fn conditions(schema: &Schema, narrow: &Type, wide: &Type) -> Vec<Expr> {
    let mut found = Vec::new();
    match (&narrow.kind, &wide.kind) {
        (TypeKind::Integer(_, narrow), TypeKind::Integer(_, wide)) => {
            found.extend(within(narrow, wide, 0, &value()));
        }
        (TypeKind::Decimal64(digits, narrow), TypeKind::Decimal64(_, wide)) => {
            found.extend(within(narrow, wide, *digits, &value()));
        }
        (TypeKind::String(narrow, patterns), TypeKind::String(wide, common)) => {
            let length = Expr::Call(Function::StringLength, vec![value()]);
            found.extend(within(narrow, wide, 0, &length));
            let patterns = patterns.iter();
            found.extend(
                patterns
                    .filter(|pattern| !contains(common, pattern))
                    .map(matches),
            );
        }
        (TypeKind::Enumeration(narrow), TypeKind::Enumeration(wide))
            if narrow.len() < wide.len() =>
        {
            found.push(one_of(narrow.iter().map(|item| item.name.to_string())));
        }
        (TypeKind::Bits(narrow), TypeKind::Bits(wide)) => {
            let others = wide.iter().filter(|bit| !narrow.contains(bit));
            found.extend(others.map(|bit| {
                let name = Expr::Literal(Literal::from(&*bit.name));
                not(Expr::Call(Function::BitIsSet, vec![value(), name]))
            }));
        }
        (TypeKind::IdentityRef(narrow), TypeKind::IdentityRef(wide)) => {
            let ids = accepted(schema, narrow);
            if ids != accepted(schema, wide) {
                found.push(one_of(ids.into_iter().map(|id| {
                    let identity = schema.identity(id);
                    format!("{}:{}", schema.module(identity.module).name, identity.name)
                })));
            }
        }
        (
            TypeKind::LeafRef {
                target_type: narrow,
                ..
            },
            TypeKind::LeafRef {
                target_type: wide, ..
            },
        ) => found = conditions(schema, narrow, wide),
        _ => {}
    }
    found
}

/// The identities that derive from all bases, ascending.
fn accepted(schema: &Schema, bases: &[IdentityId]) -> Vec<IdentityId> {
    let Some((&first, others)) = bases.split_first() else {
        return Vec::new();
    };
    let is_derived =
        |base: IdentityId, id| schema.identity(base).derived.binary_search(&id).is_ok();
    let all = schema.identity(first).derived.iter().copied();
    all.filter(|&id| others.iter().all(|&other| is_derived(other, id)))
        .collect()
}

/// An identity with the name of a base, from which these derive.
fn base_of(schema: &mut Schema, base: IdentityId, derived: Vec<IdentityId>) -> IdentityId {
    let Identity { module, name, .. } = schema.identity(base).clone();
    let id = IdentityId(schema.identities.len() as u32);
    let named = schema.identity_names.entry(name.clone()).or_default();
    named.push(id);
    schema.identities.push(Identity {
        module,
        name,
        derived,
    });
    id
}

/// The intervals of both, or no restriction if they differ.
fn common(one: &Intervals, other: &Intervals) -> Intervals {
    match one.parts == other.parts {
        true => one.clone(),
        false => Intervals::default(),
    }
}

fn contains(patterns: &[Pattern], pattern: &Pattern) -> bool {
    patterns.iter().any(|other| {
        other.regex.source() == pattern.regex.source() && other.is_inverted == pattern.is_inverted
    })
}

/// The condition that a number is in intervals, which are scaled by decimal digits.
fn within(narrow: &Intervals, wide: &Intervals, digits: u8, number: &Expr) -> Option<Expr> {
    if narrow.parts.is_empty() || narrow.parts == wide.parts {
        return None;
    }
    let bound = |operator, bound: i128| {
        let bound = bound as f64 / 10_f64.powi(digits.into());
        let magnitude = Expr::Number(bound.abs());
        let bound = match bound < 0.0 {
            true => Expr::Negate(Box::new(magnitude)),
            false => magnitude,
        };
        Expr::Binary(operator, Box::new(number.clone()), Box::new(bound))
    };
    let parts = narrow.parts.iter().map(|&Interval { min, max }| {
        Expr::And(vec![
            bound(BinaryOperator::GreaterOrEqual, min),
            bound(BinaryOperator::LessOrEqual, max),
        ])
    });
    Some(any(parts.collect()))
}

fn matches(pattern: &Pattern) -> Expr {
    let source = Expr::Literal(Literal::from(pattern.regex.source()));
    let found = Expr::Call(Function::ReMatch, vec![value(), source]);
    match pattern.is_inverted {
        true => not(found),
        false => found,
    }
}

fn one_of(names: impl Iterator<Item = String>) -> Expr {
    let equalities = names.map(|name| {
        let name = Expr::Literal(Literal::from(name.as_str()));
        Expr::Binary(BinaryOperator::Equal, Box::new(value()), Box::new(name))
    });
    any(equalities.collect())
}

/// A disjunction; of nothing, it is false.
pub(super) fn any(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        0 => Expr::Call(Function::False, Vec::new()),
        1 => parts.remove(0),
        _ => Expr::Or(parts),
    }
}

pub(super) fn not(expr: Expr) -> Expr {
    Expr::Call(Function::Not, vec![expr])
}

/// The context node.
fn value() -> Expr {
    relative(vec![PathStep::new(Axis::SelfNode, NodeTest::Node)])
}
