//! The namespace prefixes that one element declares for its value and its attributes.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::write::write_attribute;
use crate::path::{InstancePath, Keys, push_quoted};
use crate::schema::other_modules::namespace_of;
use crate::schema::{Module, ModuleId, ModuleNames, NodeId, Schema};
use crate::value::Value;
use crate::xpath::{Place, with_prefixes};

/// The prefixes of one element. Each element declares its own, so that it can be read, moved and printed by itself.
#[derive(Debug, Default)]
pub(super) struct Prefixes<'s> {
    declared: SmallVec<[(String, Cow<'s, str>); 2]>,
}

impl<'s> Prefixes<'s> {
    pub(super) fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// Appends the declarations, as attributes.
    pub(super) fn declare(&self, out: &mut Vec<u8>) {
        for (prefix, namespace) in &self.declared {
            write_attribute(out, &format!("xmlns:{prefix}"), namespace);
        }
    }

    /// The prefix of the annotations of a module.
    pub(super) fn of_annotations(&mut self, module: &str, namespace: &'s str) -> String {
        let customary = match module {
            "ietf-netconf" => "nc",
            "ietf-netconf-with-defaults" => "wd",
            "ietf-origin" => "or",
            "ietf-list-pagination" => "lp",
            module => module,
        };
        self.of(customary, namespace.into())
    }

    fn of_module(&mut self, module: &'s Module) -> String {
        self.of(&module.prefix, (&*module.namespace).into())
    }

    /// The prefix of a namespace: the customary one, with a number if that is already taken.
    fn of(&mut self, customary: &str, namespace: Cow<'s, str>) -> String {
        if let Some((prefix, _)) = self.declared.iter().find(|(_, known)| *known == namespace) {
            return prefix.clone();
        }
        let is_free = |prefix: &str| !self.declared.iter().any(|(known, _)| known == prefix);
        let mut prefix = customary.to_owned();
        let mut number = 1;
        while !is_free(&prefix) {
            number += 1;
            prefix = format!("{customary}{number}");
        }
        self.declared.push((prefix.clone(), namespace));
        prefix
    }

    /// The text of a value, its names with prefixes (RFC 7950 §9.10.3, §9.13.2).
    pub(super) fn text_of(&mut self, schema: &'s Schema, value: &Value) -> String {
        match value {
            Value::Identity(text) => self.name(schema, text),
            Value::InstanceIdentifier(text) => {
                let whole = self.path(schema, text);
                let whole = whole.or_else(|| self.expression(schema, text));
                whole.unwrap_or_else(|| text.to_string())
            }
            _ => value.to_string(),
        }
    }

    /// `prefix:name` for `module:name`.
    fn name(&mut self, schema: &'s Schema, name: &str) -> String {
        let parts = name.split_once(':');
        let known = parts.and_then(|(module, local)| {
            Some((schema.module(schema.module_by_name(module)?), local))
        });
        match known {
            Some((module, local)) => format!("{}:{local}", self.of_module(module)),
            None => name.to_owned(),
        }
    }

    /// The XML form of an instance identifier in JSON form, in which every name has a prefix; `None` if it contains
    /// names that are not in the schema.
    fn path(&mut self, schema: &'s Schema, text: &str) -> Option<String> {
        // Every name in the canonical form has its module where it is needed.
        let names = ModuleNames {
            leaf_module: ModuleId(0),
        };
        let path = InstancePath::parse_instance_identifier(schema, text, &names).ok()?;
        let mut out = String::with_capacity(text.len() + 16);
        for step in &path.steps {
            out.push('/');
            out.push_str(&self.qualified(schema, step.node));
            match &step.keys {
                Keys::None => {}
                Keys::Position(position) => out.push_str(&format!("[{position}]")),
                Keys::Values(values) => {
                    let keys = schema.node(step.node).keys();
                    for (index, value) in values.iter().enumerate() {
                        let key = keys.get(index);
                        let name = key.map_or(".".to_owned(), |&key| self.qualified(schema, key));
                        out.push_str(&format!("[{name}="));
                        push_quoted(&self.text_of(schema, value), &mut out);
                        out.push(']');
                    }
                }
            }
        }
        Some(out)
    }

    /// The XML form of an XPath expression that is a value of type `xpath1.0` or `node-instance-identifier`; `None` if it
    /// is not an expression. The latter may name modules that are not in the schema.
    fn expression(&mut self, schema: &'s Schema, text: &str) -> Option<String> {
        let mut prefix_of = |module: &str, place| {
            let prefix = match (schema.module_by_name(module), place) {
                (Some(module), _) => self.of_module(schema.module(module)),
                (None, Place::Node) => self.of(module, namespace_of(module).into()),
                (None, Place::Literal) => return None,
            };
            Some(prefix.into())
        };
        with_prefixes(text, &mut prefix_of).ok()
    }

    fn qualified(&mut self, schema: &'s Schema, node: NodeId) -> String {
        let node = schema.node(node);
        format!(
            "{}:{}",
            self.of_module(schema.module(node.module)),
            node.name
        )
    }
}
