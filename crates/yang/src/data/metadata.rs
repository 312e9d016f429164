//! Which annotation a metadata name and value mean (RFC 6241 §7.2, RFC 7950 §7.7.9, RFC 6243 §6).

use super::sink::{Annotation, Operation};
use crate::error::{DataError, ErrorTag};

/// The modules whose annotations have a meaning of their own, with their namespaces.
pub(super) const NETCONF: (&str, &str) =
    ("ietf-netconf", "urn:ietf:params:xml:ns:netconf:base:1.0");
pub(super) const YANG: (&str, &str) = ("yang", "urn:ietf:params:xml:ns:yang:1");
pub(super) const WITH_DEFAULTS: (&str, &str) = (
    "ietf-netconf-with-defaults",
    "urn:ietf:params:xml:ns:netconf:default:1.0",
);
/// RFC 6243 §6 gives the attribute this namespace, the module another.
pub(super) const WITH_DEFAULTS_MODULE: &str =
    "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";

/// The annotation of a module (empty where none is given), name and value.
pub(super) fn annotation(module: &str, name: &str, value: &str) -> Result<Annotation, DataError> {
    match (module, name) {
        ("ietf-netconf" | "", "operation") => operation(value).map(Annotation::Operation),
        ("yang", "insert") => match value {
            "first" | "last" | "before" | "after" => Ok(Annotation::Insert(value.into())),
            _ => Err(bad(name, value, "first, last, before or after")),
        },
        ("yang", "key") => Ok(Annotation::Key(value.into())),
        ("yang", "value") => Ok(Annotation::Value(value.into())),
        ("ietf-netconf-with-defaults", "default") => match value {
            "true" | "1" => Ok(Annotation::Default),
            _ => Ok(Annotation::Other(module.into(), name.into(), value.into())),
        },
        _ => Ok(Annotation::Other(module.into(), name.into(), value.into())),
    }
}

fn operation(value: &str) -> Result<Operation, DataError> {
    match value {
        "merge" => Ok(Operation::Merge),
        "replace" => Ok(Operation::Replace),
        "create" => Ok(Operation::Create),
        "delete" => Ok(Operation::Delete),
        "remove" => Ok(Operation::Remove),
        "none" => Ok(Operation::None),
        _ => Err(bad("operation", value, "merge, replace, create, delete, remove or none")),
    }
}

fn bad(name: &str, value: &str, right: &str) -> DataError {
    let message = format!("the attribute '{name}' is '{value}', not {right}");
    DataError::new(ErrorTag::BadAttribute, message)
}

/// The module, name and value that an annotation is written as.
pub(super) fn written(annotation: &Annotation) -> (&str, &str, &str) {
    match annotation {
        Annotation::Operation(operation) => (NETCONF.0, "operation", operation_name(*operation)),
        Annotation::Insert(value) => (YANG.0, "insert", value),
        Annotation::Key(value) => (YANG.0, "key", value),
        Annotation::Value(value) => (YANG.0, "value", value),
        Annotation::Default => (WITH_DEFAULTS.0, "default", "true"),
        Annotation::Other(module, name, value) => (module, name, value),
    }
}

fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Replace => "replace",
        Operation::Create => "create",
        Operation::Delete => "delete",
        Operation::Remove => "remove",
        Operation::None => "none",
    }
}
