//! Instance identifiers (RFC 7950 §9.13 in XML, RFC 7951 §6.11 in JSON).
//!
//! XPath 1.0 cannot represent a string that contains both kinds of quotes, and the RFCs do not allow `concat()` in
//! predicates. Such a key value is written as in XPath 2.0: in single quotes, with the single quotes inside doubled
//! (`'it''s "x"'`). Two adjacent literals are invalid in XPath 1.0, so the form is unambiguous; values without both
//! kinds never need it.

use std::fmt::Write;

use super::dialect::Dialect;
use super::resolve_steps::Descent;
use super::scan::Scanner;
use super::{InstancePath, Keys, Step};
use crate::error::DataError;
use crate::schema::{NameForm, Namespaces, NodeId, Schema};
use crate::value::Value;

impl InstancePath {
    /// Parses an instance identifier. Every step identifies one instance: all keys of a list, in any order; the value
    /// of a leaf-list; the position in a keyless list or state leaf-list.
    ///
    /// In the JSON form, a name has its module exactly if it differs from the parent's; in the XML form, every name
    /// has a prefix. Spaces are allowed between the parts, but not at the start.
    pub fn parse_instance_identifier(
        schema: &Schema,
        text: &str,
        namespaces: &dyn Namespaces,
    ) -> Result<Self, DataError> {
        Self::parse_below(schema, None, text, namespaces)
    }

    /// The same for a path whose root is an instance of a node with a mount point (RFC 8528 §4). The result has only
    /// the steps below that.
    pub(crate) fn parse_below(
        schema: &Schema,
        root: Option<NodeId>,
        text: &str,
        namespaces: &dyn Namespaces,
    ) -> Result<Self, DataError> {
        let dialect = match namespaces.form() {
            NameForm::Json => Dialect::Json,
            NameForm::Xml => Dialect::Xml(namespaces),
        };
        let mut scanner = Scanner::new(text);
        let mut descent = Descent::below(schema, root);
        loop {
            scanner.expect('/')?;
            scanner.spaces();
            let child = dialect.child(&descent, scanner.name()?)?;
            descent.enter(child)?;
            dialect.predicates(&mut descent, &mut scanner)?;
            if scanner.peek().is_none() {
                break;
            }
        }
        descent.require_instance()?;
        Ok(descent.finish())
    }

    /// The canonical form: that of RFC 7951 §6.11, with a module name if it differs from the parent's, the keys in
    /// the order of the model, and single quotes unless the value contains them. A whole list as the last step has no
    /// predicates; the root is `/`.
    pub fn to_instance_identifier(&self, schema: &Schema) -> String {
        if self.is_root() {
            return "/".to_owned();
        }
        let mut out = String::new();
        for (depth, Step { node, keys }) in self.steps.iter().enumerate() {
            out.push('/');
            match depth {
                // Also below a mount point, whose module does not matter.
                0 => {
                    let node = schema.node(*node);
                    let _ = write!(out, "{}:{}", schema.module(node.module).name, node.name);
                }
                _ => out.push_str(&schema.qualified_name(*node)),
            }
            match keys {
                Keys::None => {}
                // Writing to a string cannot fail.
                Keys::Position(position) => drop(write!(out, "[{position}]")),
                Keys::Values(values) => push_values(schema, *node, values, &mut out),
            }
        }
        out
    }
}

fn push_values(schema: &Schema, node: NodeId, values: &[Value], out: &mut String) {
    let node = schema.node(node);
    for (index, value) in values.iter().enumerate() {
        let key = node.keys().get(index);
        let name = key.map_or(".", |&key| &schema.node(key).name);
        let _ = write!(out, "[{name}=");
        push_quoted(&value.to_string(), out);
        out.push(']');
    }
}

pub(crate) fn push_quoted(value: &str, out: &mut String) {
    let _ = match (value.contains('\''), value.contains('"')) {
        (false, _) => write!(out, "'{value}'"),
        (true, false) => write!(out, "\"{value}\""),
        (true, true) => write!(out, "'{}'", value.replace('\'', "''")),
    };
}
