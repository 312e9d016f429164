//! Parts of errors in XML.

use std::fmt::Write as _;

use espalier_service::modules;
use espalier_yang::{DataError, ErrorInfo, ErrorStructure, Schema};

use super::path::XmlPath;
use crate::xml_text::escape;

/// Appends `error-info`, if there is any.
pub(crate) fn put_info(text: &mut String, info: &ErrorInfo) {
    if info.is_empty() {
        return;
    }
    text.push_str("<error-info>");
    for member in info.members() {
        let (name, value) = (member.name, escape(member.value));
        let _ = write!(
            text,
            "<{name} xmlns=\"{}\">{value}</{name}>",
            member.namespace
        );
    }
    if let Some(structure) = &info.structure {
        put_structure(text, structure);
    }
    text.push_str("</error-info>");
}

fn put_structure(text: &mut String, structure: &ErrorStructure) {
    let (name, namespace) = (&structure.name, escape(&structure.namespace));
    let _ = write!(text, "<{name} xmlns=\"{namespace}\">");
    let module = format!("{}:", structure.module);
    for (name, value) in &structure.leaves {
        // An identity of the module is in the default namespace.
        let is_own_identity = value.starts_with(&module) && !value.contains(' ');
        let value = value
            .strip_prefix(&module)
            .filter(|_| is_own_identity)
            .unwrap_or(value);
        put_leaf(text, name, value);
    }
    let _ = write!(text, "</{name}>");
}

/// Appends a leaf.
pub(crate) fn put_leaf(text: &mut String, name: &str, value: &str) {
    let _ = write!(text, "<{name}>{}</{name}>", escape(value));
}

/// Appends `error-path`, with the namespaces of its prefixes.
pub(crate) fn put_path(text: &mut String, path: &str, schema: Option<&Schema>) {
    put_instance_identifier(text, "error-path", path, schema);
}

/// Appends an element with an instance identifier, and with the namespaces of its prefixes. `start` is its name, with
/// attributes after it.
pub(crate) fn put_instance_identifier(
    text: &mut String,
    start: &str,
    path: &str,
    schema: Option<&Schema>,
) {
    let path = XmlPath::of(path);
    text.extend(["<", start]);
    for module in &path.modules {
        let namespace = schema.and_then(|schema| {
            let id = schema.module_by_name(module)?;
            Some(schema.module(id).namespace.to_string())
        });
        // The path may be that of an operation of the server, which the models of the anchor do not have.
        let of_server = || modules::named(module)?.source().namespace();
        if let Some(namespace) = namespace.or_else(of_server) {
            let _ = write!(text, " xmlns:{module}=\"{}\"", escape(&namespace));
        }
    }
    let name = start.split(' ').next().unwrap_or_default();
    let _ = write!(text, ">{}</{name}>", escape(&path.text));
}

/// The message, with the line that the error is on.
pub(crate) fn message(error: &DataError) -> String {
    match error.line {
        0 => error.message.clone(),
        line => format!("line {line}: {}", error.message),
    }
}
