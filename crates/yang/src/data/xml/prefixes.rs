//! The prefixes that one element declares for its value and its attributes.

use smallvec::SmallVec;

use super::write::write_attribute;
use crate::schema::{JsonScalar, Module, ModuleNames, NodeId, Schema};
use crate::value::Value;

/// The prefixes of one element. Each element declares its own, so that it can be read, moved and
/// printed by itself.
#[derive(Debug, Default)]
pub(super) struct Prefixes<'s> {
    declared: SmallVec<[(String, &'s str); 2]>,
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
            module => module,
        };
        self.of(customary, namespace)
    }

    fn of_module(&mut self, module: &'s Module) -> String {
        self.of(&module.prefix, &module.namespace)
    }

    /// The prefix of a namespace: the customary one, with a number where that means another.
    fn of(&mut self, customary: &str, namespace: &'s str) -> String {
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

    /// The XML form of an instance identifier in the JSON form, where every name has a prefix;
    /// `None` where it names what the schema does not have.
    fn path(&mut self, schema: &'s Schema, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len() + 16);
        let mut parent = None;
        let mut rest = text;
        while let Some(step) = rest.strip_prefix('/') {
            let end = step.find(['/', '[']).unwrap_or(step.len());
            let node = self.node(schema, parent, &step[..end])?;
            out.push('/');
            out.push_str(&self.qualified(schema, node));
            rest = &step[end..];
            while let Some(predicate) = rest.strip_prefix('[') {
                let (written, after) = self.predicate(schema, node, predicate)?;
                out.push_str(&written);
                rest = after;
            }
            parent = Some(node);
        }
        rest.is_empty().then_some(out)
    }

    fn node(&self, schema: &Schema, parent: Option<NodeId>, name: &str) -> Option<NodeId> {
        let (module, local) = match name.split_once(':') {
            Some((module, local)) => (schema.module_by_name(module)?, local),
            None => (schema.node(parent?).module, name),
        };
        schema.child(parent, module, local)
    }

    fn qualified(&mut self, schema: &'s Schema, node: NodeId) -> String {
        let node = schema.node(node);
        format!(
            "{}:{}",
            self.of_module(schema.module(node.module)),
            node.name
        )
    }

    /// One predicate, from behind its `[`; and what follows it.
    fn predicate<'t>(
        &mut self,
        schema: &'s Schema,
        node: NodeId,
        text: &'t str,
    ) -> Option<(String, &'t str)> {
        let end = text
            .find([']', '='])
            .filter(|&end| text.as_bytes()[end] == b'=');
        let Some(end) = end else {
            let (position, after) = text.split_once(']')?;
            return Some((format!("[{position}]"), after));
        };
        let name = text[..end].trim();
        let quoted = text[end + 1..].trim_start();
        let quote = quoted
            .chars()
            .next()
            .filter(|quote| matches!(quote, '\'' | '"'))?;
        let (value, after) = quoted[1..].split_once(quote)?;
        let after = after.trim_start().strip_prefix(']')?;
        let (name, leaf) = match name {
            "." => (".".to_owned(), node),
            name => {
                let key = self.node(schema, Some(node), name)?;
                (self.qualified(schema, key), key)
            }
        };
        let value = self.key_value(schema, leaf, value);
        Some((format!("[{name}={quote}{value}{quote}]"), after))
    }

    /// A key value, with a prefix where it is an identity.
    fn key_value(&mut self, schema: &'s Schema, leaf: NodeId, text: &str) -> String {
        let node = schema.node(leaf);
        let names = ModuleNames {
            leaf_module: node.module,
        };
        let scalar = JsonScalar::String(text);
        let value = node
            .as_value()
            .map(|leaf| leaf.value_type.parse_json(schema, scalar, &names));
        match value {
            Some(Ok(Value::Identity(name))) => self.name(schema, &name),
            _ => text.to_owned(),
        }
    }
}
