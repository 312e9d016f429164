//! `where` (draft-ietf-netconf-list-pagination §3.1.1): an expression with each entry as its context node.

use std::sync::Arc;

use espalier_yang::schema::Node;
use espalier_yang::xpath::Expression;
use espalier_yang::{DataError, Schema, Value};

use super::known_names::{has_unknown_names, has_variable};
use super::parameters::{PageNames, invalid};
use crate::tree::filter::{leading_keys, stays_below};

/// Which entries a page can have.
#[derive(Clone, Debug)]
pub(super) enum PageCondition {
    /// All.
    All,
    /// None: the condition names a node that does not exist.
    Never,
    /// Those for which an expression is true.
    Expression(Arc<EntryCondition>),
}

/// An expression on entries.
#[derive(Debug)]
pub(super) struct EntryCondition {
    pub expression: Expression,
    /// The leading keys of the entries for which it can be true.
    pub keys: Vec<Value>,
    /// Whether it is true for all entries with these keys.
    pub is_exact: bool,
}

impl PageCondition {
    /// Parses an expression, for the entries of a list or leaf-list.
    ///
    /// # Errors
    /// `invalid-value` for text that is no expression.
    pub fn parse(
        schema: &Schema,
        target: &Node,
        text: &str,
        names: &PageNames<'_>,
    ) -> Result<Self, DataError> {
        let module_of = |prefix: Option<&str>| prefix.map(|prefix| names.module_of(schema, prefix));
        let expression = Expression::parse(text, &module_of).map_err(|error| {
            invalid(
                "where",
                format!("the condition is no XPath expression: {error}"),
            )
        })?;
        if has_variable(&expression.root) {
            let message = "the condition has a variable, and none is defined";
            return Err(invalid("where", message.to_owned()));
        }
        if has_unknown_names(schema, target.id, &expression.root) {
            return Ok(Self::Never);
        }
        let (keys, is_exact) = leading_keys(schema, target, &expression.root);
        Ok(Self::Expression(Arc::new(EntryCondition {
            expression,
            keys,
            is_exact,
        })))
    }

    /// The expression, if it must be evaluated for each entry.
    pub fn evaluated(&self) -> Option<&Expression> {
        match self {
            Self::Expression(condition) if !condition.is_exact => Some(&condition.expression),
            _ => None,
        }
    }

    /// Whether its value depends on the entry and what is below it only.
    pub fn stays_in_entry(&self) -> bool {
        self.evaluated()
            .is_none_or(|expression| stays_below(&expression.root))
    }
}
