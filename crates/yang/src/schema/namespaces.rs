//! What the prefixes of names in values mean.

use crate::schema::{ModuleId, Schema};

/// How names in identityref and instance-identifier values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// RFC 7951 §6.8, §6.11: module names; a node without one is in the module of the node above.
    Json,
    /// RFC 7950 §9.10.3, §9.13.2: prefixes of the document; every node has one.
    Xml,
}

/// Resolves the prefixes of names in values, as the encoding has it.
pub trait Namespaces {
    /// The module that a prefix stands for. For no prefix: in JSON, the module of the leaf; in XML,
    /// that of the default namespace.
    fn module(&self, schema: &Schema, prefix: Option<&str>) -> Option<ModuleId>;

    /// How names are written.
    fn form(&self) -> NameForm;
}

/// Names as RFC 7951 has them: the prefix is the name of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleNames {
    /// The module of the leaf that has the value.
    pub leaf_module: ModuleId,
}

impl Namespaces for ModuleNames {
    fn module(&self, schema: &Schema, prefix: Option<&str>) -> Option<ModuleId> {
        match prefix {
            Some(name) => schema.module_by_name(name),
            None => Some(self.leaf_module),
        }
    }

    fn form(&self) -> NameForm {
        NameForm::Json
    }
}

/// Names as XML has them: the function gives the namespace of a prefix, or of no prefix.
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

    fn form(&self) -> NameForm {
        NameForm::Xml
    }
}
