//! Compares nodes that several schemas at one mount point have. Stored data must mean the same in all of them, so their
//! kind, keys and defaults must be equal; their types (`widen`) and `must`s may differ.

use crate::schema::stored::encode;
use crate::schema::{Choice, Constraint, Node};

/// Returns whether two nodes differ in nothing but their types, children, `must`s and texts.
pub(super) fn is_same(one: &Node, other: &Node) -> bool {
    let is_same_kind = match (encode(&one.kind), encode(&other.kind)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    is_same_kind
        && one.cases == other.cases
        && one.is_config == other.is_config
        && one.is_mandatory == other.is_mandatory
        && are_same_constraints(&one.whens, &other.whens)
}

/// Adds the cases of a choice to those of another schema; returns the numbers of its cases, or `None` if the choices
/// differ in anything else.
pub(super) fn choice(into: &mut Choice, other: &Choice) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(other.cases.len());
    for case in &other.cases {
        let mut known = into.cases.iter();
        let found =
            known.position(|known| (&known.name, known.module) == (&case.name, case.module));
        numbers.push(found.unwrap_or(into.cases.len()) as u32);
        if found.is_none() {
            into.cases.push(case.clone());
        }
    }
    let default_case = other
        .default_case
        .and_then(|case| numbers.get(case as usize).copied());
    let is_same = into.default_case == default_case
        && into.is_mandatory == other.is_mandatory
        && into.is_config == other.is_config
        && into.enclosing == other.enclosing
        && are_same_constraints(&into.whens, &other.whens);
    is_same.then_some(numbers)
}

/// Returns whether two constraints are the same.
pub(super) fn is_same_constraint(one: &Constraint, other: &Constraint) -> bool {
    one.expression == other.expression
        && one.context_levels_up == other.context_levels_up
        && one.error_message == other.error_message
        && one.error_app_tag == other.error_app_tag
}

fn are_same_constraints(one: &[Constraint], other: &[Constraint]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| is_same_constraint(one, other))
}
