//! Parsing and checking of metadata annotations (RFC 6241 §7.2, RFC 7950 §7.7.9, RFC 6243 §6).

use super::origin::Origin;
use super::sink::{Annotation, Operation};
use crate::error::{DataError, ErrorTag};
use crate::path::push_quoted;
use crate::schema::{Namespaces, NodeId, Schema};

/// The modules whose annotations have predefined semantics, with their namespaces.
pub(super) const NETCONF: (&str, &str) =
    ("ietf-netconf", "urn:ietf:params:xml:ns:netconf:base:1.0");
pub(super) const YANG: (&str, &str) = ("yang", "urn:ietf:params:xml:ns:yang:1");
pub(super) const WITH_DEFAULTS: (&str, &str) = (
    "ietf-netconf-with-defaults",
    "urn:ietf:params:xml:ns:netconf:default:1.0",
);
pub(super) const ORIGIN: (&str, &str) = ("ietf-origin", "urn:ietf:params:xml:ns:yang:ietf-origin");
/// The metadata of pages (draft-ietf-netconf-list-pagination §4).
pub(super) const LIST_PAGINATION: (&str, &str) = (
    "ietf-list-pagination",
    "urn:ietf:params:xml:ns:yang:ietf-list-pagination",
);
/// RFC 6243 §6 uses this namespace for the attribute; the module has another.
pub(super) const WITH_DEFAULTS_MODULE: &str =
    "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";

/// The annotations with predefined semantics, which need not be defined by a module of the schema.
const OWN: [(&str, &str); 10] = [
    (NETCONF.0, "operation"),
    (YANG.0, "insert"),
    (YANG.0, "key"),
    (YANG.0, "value"),
    (WITH_DEFAULTS.0, "default"),
    (ORIGIN.0, "origin"),
    (LIST_PAGINATION.0, "remaining"),
    (LIST_PAGINATION.0, "next"),
    (LIST_PAGINATION.0, "previous"),
    (LIST_PAGINATION.0, "locale"),
];

// Checked in every document of a user, as a server does: docs/decisions/0024.
/// Rejects an annotation that neither has predefined semantics nor is defined by a module of the schema
/// (RFC 7952 §3): a client must not send what the server does not advertise (§4).
pub(super) fn check_defined(schema: &Schema, module: &str, name: &str) -> Result<(), DataError> {
    if OWN.contains(&(module, name)) {
        return Ok(());
    }
    let modules = schema.modules().iter();
    let mut defining = modules.filter(|one| &*one.name == module);
    if defining.any(|one| one.annotations.iter().any(|defined| &**defined == name)) {
        return Ok(());
    }
    let message = format!("no module defines the annotation “{module}:{name}”");
    Err(DataError::new(ErrorTag::UnknownAttribute, message).on_attribute(name))
}

/// Returns whether the value of an annotation is a boolean, which JSON writes without quotes; `None` if its type
/// is unknown.
pub(super) fn is_boolean(module: &str, name: &str) -> Option<bool> {
    match (module, name) {
        (module, "default") if module == WITH_DEFAULTS.0 => Some(true),
        // A number, or “unknown”.
        (module, "remaining") if module == LIST_PAGINATION.0 => None,
        pair => OWN.contains(&pair).then_some(false),
    }
}

/// Returns whether JSON writes the value of an annotation as a number.
pub(super) fn is_number(annotation: &Annotation) -> bool {
    match annotation {
        Annotation::Other(module, name, value) => {
            **module == *LIST_PAGINATION.0
                && **name == *"remaining"
                && value.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// Parses an annotation; `module` is empty if the document gives none.
pub(super) fn annotation(module: &str, name: &str, value: &str) -> Result<Annotation, DataError> {
    match (module, name) {
        ("ietf-netconf", "operation") => operation(value).map(Annotation::Operation),
        ("yang", "insert") => match value {
            "first" | "last" | "before" | "after" => Ok(Annotation::Insert(value.into())),
            _ => Err(invalid_value(name, value, "first, last, before or after")),
        },
        ("yang", "key") => Ok(Annotation::Key(value.into())),
        ("yang", "value") => Ok(Annotation::Value(value.into())),
        ("ietf-netconf-with-defaults", "default") => match value {
            "true" | "1" => Ok(Annotation::Default),
            _ => Ok(Annotation::Other(module.into(), name.into(), value.into())),
        },
        ("ietf-origin", "origin") => Ok(match Origin::parse(value) {
            Some(origin) => Annotation::Origin(origin),
            // The module of a derived identity is another one.
            None => Annotation::Other(module.into(), name.into(), value.into()),
        }),
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
        _ => Err(invalid_value(
            "operation",
            value,
            "merge, replace, create, delete, remove or none",
        )),
    }
}

fn invalid_value(name: &str, value: &str, right: &str) -> DataError {
    let message = format!("the attribute '{name}' is '{value}', not {right}");
    DataError::new(ErrorTag::BadAttribute, message).on_attribute(name)
}

/// The error of an annotation that is not allowed if metadata is [plain](super::options::MetadataMode::Plain).
pub(super) fn plain_metadata_error(annotation: &Annotation) -> Option<DataError> {
    match annotation {
        Annotation::Default | Annotation::Origin(_) | Annotation::Other(..) => None,
        Annotation::Operation(_)
        | Annotation::Insert(_)
        | Annotation::Key(_)
        | Annotation::Value(_) => {
            let (_, name, _) = encoded_parts(annotation);
            let message = format!("'{name}' is only allowed in edits");
            let error = DataError::new(ErrorTag::UnknownAttribute, message);
            Some(error.on_attribute(name))
        }
    }
}

/// The module, name and value to write for an annotation.
pub(super) fn encoded_parts(annotation: &Annotation) -> (&str, &str, &str) {
    match annotation {
        Annotation::Operation(operation) => (NETCONF.0, "operation", operation_name(*operation)),
        Annotation::Insert(value) => (YANG.0, "insert", value),
        Annotation::Key(value) => (YANG.0, "key", value),
        Annotation::Value(value) => (YANG.0, "value", value),
        Annotation::Default => (WITH_DEFAULTS.0, "default", "true"),
        Annotation::Origin(origin) => (ORIGIN.0, "origin", origin.identity()),
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

/// The module of an annotation namespace, for modules that need not be in the schema.
pub(super) fn module_of_namespace(namespace: &str) -> Option<&'static str> {
    let modules = [NETCONF, YANG, WITH_DEFAULTS, ORIGIN, LIST_PAGINATION];
    match modules.iter().find(|(_, uri)| *uri == namespace) {
        Some((module, _)) => Some(module),
        None if namespace == WITH_DEFAULTS_MODULE => Some(WITH_DEFAULTS.0),
        None => None,
    }
}

/// The XML namespace of the annotations of a module.
pub(super) fn namespace_of_module<'s>(schema: &'s Schema, module: &str) -> Option<&'s str> {
    let modules = [NETCONF, YANG, WITH_DEFAULTS, ORIGIN, LIST_PAGINATION];
    match modules.iter().find(|(name, _)| *name == module) {
        Some((_, namespace)) => Some(namespace),
        None => schema
            .modules()
            .iter()
            .find(|one| &*one.name == module)
            .map(|one| &*one.namespace),
    }
}

/// Canonicalises an annotation of `node`: the entry that `yang:key` or `yang:value` refers to, with names without
/// prefixes and values as [`crate::Value`] writes them.
pub(super) fn canonical(
    schema: &Schema,
    node: NodeId,
    annotation: Annotation,
    namespaces: &dyn Namespaces,
) -> Result<Annotation, DataError> {
    match annotation {
        Annotation::Key(text) => {
            canonical_keys(schema, node, &text, namespaces).map(|keys| Annotation::Key(keys.into()))
        }
        Annotation::Value(text) => {
            let Some(leaf) = schema.node(node).as_value() else {
                return Err(invalid_value("value", &text, "for a leaf-list"));
            };
            let value = leaf.value_type.parse(schema, &text, namespaces)?;
            Ok(Annotation::Value(value.to_string().into()))
        }
        other => Ok(other),
    }
}

/// Splits a text after its closing quote. A doubled quote stands for one, as in all paths of this program: RFC 7950 has
/// no form for a value with both kinds of quotes.
fn split_quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once(quote)?;
        value.push_str(part);
        match after.strip_prefix(quote) {
            Some(after) => {
                value.push(quote);
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

/// `[prefix:name='value']…` without the prefixes (RFC 7950 §7.8.6).
fn canonical_keys(
    schema: &Schema,
    list: NodeId,
    text: &str,
    namespaces: &dyn Namespaces,
) -> Result<String, DataError> {
    let wrong = || invalid_value("key", text, "[key='value'] for each key of the list");
    let mut canonical = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once('='))
            .ok_or_else(wrong)?;
        let name = name.trim().rsplit(':').next().unwrap_or_default();
        let after = after.trim_start();
        let quote = after
            .chars()
            .next()
            .filter(|quote| matches!(quote, '\'' | '"'));
        let quote = quote.ok_or_else(wrong)?;
        let (value, after) = split_quoted(&after[1..], quote).ok_or_else(wrong)?;
        rest = after
            .trim_start()
            .strip_prefix(']')
            .ok_or_else(wrong)?
            .trim_start();
        let keys = schema.node(list).keys().iter().map(|&key| schema.node(key));
        let key = keys
            .clone()
            .find(|key| &*key.name == name)
            .ok_or_else(wrong)?;
        let leaf = key.as_value().ok_or_else(wrong)?;
        let value = leaf
            .value_type
            .parse(schema, &value, namespaces)?
            .to_string();
        canonical.push_str(&format!("[{name}="));
        push_quoted(&value, &mut canonical);
        canonical.push(']');
    }
    Ok(canonical)
}
