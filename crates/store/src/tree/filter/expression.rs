//! XPath filters.

use espalier_yang::xpath::{Expr, Expression, Function};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

/// An XPath filter (RFC 6241 §8.9): an expression whose value is a node-set.
///
/// Prefixes are those of the request. To accept what clients send, a name without a prefix is in the default namespace if
/// that is of a model, else in any module; and a prefix that is not declared may be the name of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterExpression {
    expression: Expression,
}

/// The namespace of the messages of NETCONF.
const MESSAGES: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

impl FilterExpression {
    /// Parses a filter. `namespace_of` returns the namespace that a prefix is declared for, or the default namespace for no
    /// prefix.
    ///
    /// # Errors
    /// `invalid-value` for text that is no expression, an unknown prefix, or an expression whose value is never a
    /// node-set.
    pub fn parse(
        schema: &Schema,
        text: &str,
        namespace_of: &dyn Fn(Option<&str>) -> Option<Box<str>>,
    ) -> Result<Self, DataError> {
        let module_of = |prefix: Option<&str>| {
            let namespace = namespace_of(prefix);
            // That of the messages is the default one in most requests, and no data is in it.
            let namespace =
                namespace.filter(|namespace| prefix.is_some() || **namespace != *MESSAGES);
            let module = namespace
                .as_deref()
                .and_then(|namespace| schema.module_by_namespace(namespace));
            match (module, prefix) {
                (Some(module), _) => Some(schema.module(module).name.clone()),
                (None, None) => None,
                // A namespace without a model: the names in it select nothing.
                (None, Some(_)) if namespace.is_some() => namespace,
                (None, Some(prefix)) => {
                    let module = schema.module_by_name(prefix)?;
                    Some(schema.module(module).name.clone())
                }
            }
        };
        let expression = Expression::parse(text, &module_of)
            .map_err(|error| invalid(format!("the filter is no XPath expression: {error}")))?;
        match is_node_set(&expression.root) {
            true => Ok(Self { expression }),
            false => Err(invalid(
                "the value of the filter is not a node-set".to_owned(),
            )),
        }
    }

    /// The expression.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }
}

/// Whether the value of an expression is a node-set.
fn is_node_set(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Union(operands) => operands.iter().all(is_node_set),
        Expr::Filter { primary, .. } => is_node_set(primary),
        Expr::Call(function, _) => {
            matches!(function, Function::Current | Function::Deref | Function::Id)
        }
        _ => false,
    }
}

fn invalid(message: String) -> DataError {
    DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol)
}
