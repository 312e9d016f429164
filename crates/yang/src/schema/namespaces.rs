//! Resolution of prefixes in values.

use super::other_modules;
use crate::schema::{ModuleId, Schema};

/// The form of names in identityref and instance-identifier values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// RFC 7951 §6.8, §6.11: module names; a node without one has the module of its parent.
    Json,
    /// RFC 7950 §9.10.3, §9.13.2: prefixes of the document; every node has one.
    Xml,
}

/// Resolves the prefixes of names in values of one encoding.
pub trait Namespaces {
    /// The module of a prefix. For no prefix: in JSON, the module of the leaf; in XML, that of the default namespace.
    fn module(&self, schema: &Schema, prefix: Option<&str>) -> Option<ModuleId>;

    /// The name of the module of a prefix, if the schema does not have the module; `None` if nothing gives the name.
    fn other_module(&self, prefix: &str) -> Option<Box<str>>;

    /// The form of names.
    fn form(&self) -> NameForm;
}

/// Names as in RFC 7951: the prefix is the name of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleNames {
    /// The module of the leaf.
    pub leaf_module: ModuleId,
}

impl Namespaces for ModuleNames {
    fn module(&self, schema: &Schema, prefix: Option<&str>) -> Option<ModuleId> {
        match prefix {
            Some(name) => schema.module_by_name(name),
            None => Some(self.leaf_module),
        }
    }

    fn other_module(&self, prefix: &str) -> Option<Box<str>> {
        Some(prefix.into())
    }

    fn form(&self) -> NameForm {
        NameForm::Json
    }
}

/// Names as in XML: the function returns the namespace of a prefix, or of no prefix.
#[derive(Clone, Copy, Debug)]
pub struct XmlPrefixes<F>(pub F);

impl<F, N> Namespaces for XmlPrefixes<F>
where
    F: Fn(Option<&str>) -> Option<N>,
    N: AsRef<str>,
{
    fn module(&self, schema: &Schema, prefix: Option<&str>) -> Option<ModuleId> {
        schema.module_by_namespace((self.0)(prefix)?.as_ref())
    }

    fn other_module(&self, prefix: &str) -> Option<Box<str>> {
        other_modules::module_of((self.0)(Some(prefix))?.as_ref()).map(Into::into)
    }

    fn form(&self) -> NameForm {
        NameForm::Xml
    }
}
