//! The body of an error response (RFC 8040 §7.1), in JSON and XML.

use std::fmt::Write as _;

use espalier_yang::{DataError, ErrorStructure, ErrorTag, ErrorType, Schema};
use serde_json::{Value as Json, json};

use super::error_path::XmlPath;
use super::media::Format;
use super::xml_text::escape;

/// The namespace of the module `ietf-restconf`.
pub(super) const RESTCONF_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-restconf";

/// Prints the errors as a document. `schema` resolves the modules in paths, if there are any.
pub(super) fn print<'a>(
    errors: impl Iterator<Item = &'a DataError>,
    format: Format,
    schema: Option<&Schema>,
) -> String {
    match format {
        Format::Json => json_errors(errors),
        Format::Xml => {
            let mut text = format!("<errors xmlns=\"{RESTCONF_NAMESPACE}\">");
            errors.for_each(|error| xml_error(&mut text, error, schema));
            text.push_str("</errors>");
            text
        }
    }
}

/// Prints the errors as a JSON document.
pub(crate) fn json_errors<'a>(errors: impl Iterator<Item = &'a DataError>) -> String {
    let errors: Vec<Json> = errors.map(json_error).collect();
    json!({"ietf-restconf:errors": {"error": errors}}).to_string()
}

/// Prints one error of type `protocol` that concerns no data.
pub(super) fn print_protocol_error(tag: ErrorTag, message: &str, format: Format) -> String {
    let (kind, tag) = (ErrorType::Protocol.as_str(), tag.as_str());
    match format {
        Format::Json => {
            let error = json!({"error-type": kind, "error-tag": tag, "error-message": message});
            json!({"ietf-restconf:errors": {"error": [error]}}).to_string()
        }
        Format::Xml => {
            let mut text = format!("<errors xmlns=\"{RESTCONF_NAMESPACE}\"><error>");
            leaf(&mut text, "error-type", kind);
            leaf(&mut text, "error-tag", tag);
            leaf(&mut text, "error-message", message);
            text.push_str("</error></errors>");
            text
        }
    }
}

fn json_error(error: &DataError) -> Json {
    let mut members = json!({
        "error-type": error.kind.as_str(),
        "error-tag": error.tag.as_str(),
    });
    if let Some(tag) = &error.app_tag {
        members["error-app-tag"] = json!(tag);
    }
    if !error.path.is_empty() {
        members["error-path"] = json!(error.path);
    }
    members["error-message"] = json!(message(error));
    let info = error.info();
    if !info.is_empty() {
        members["error-info"] = info.to_json();
    }
    members
}

fn xml_error(text: &mut String, error: &DataError, schema: Option<&Schema>) {
    text.push_str("<error>");
    leaf(text, "error-type", error.kind.as_str());
    leaf(text, "error-tag", error.tag.as_str());
    if let Some(tag) = &error.app_tag {
        leaf(text, "error-app-tag", tag);
    }
    if !error.path.is_empty() {
        xml_path(text, &XmlPath::of(&error.path), schema);
    }
    leaf(text, "error-message", &message(error));
    let info = error.info();
    if !info.is_empty() {
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
            xml_structure(text, structure);
        }
        text.push_str("</error-info>");
    }
    text.push_str("</error>");
}

fn xml_structure(text: &mut String, structure: &ErrorStructure) {
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
        leaf(text, name, value);
    }
    let _ = write!(text, "</{name}>");
}

fn leaf(text: &mut String, name: &str, value: &str) {
    let _ = write!(text, "<{name}>{}</{name}>", escape(value));
}

fn xml_path(text: &mut String, path: &XmlPath, schema: Option<&Schema>) {
    text.push_str("<error-path");
    for module in &path.modules {
        let namespace = schema.and_then(|schema| {
            let id = schema.module_by_name(module)?;
            Some(&*schema.module(id).namespace)
        });
        let namespace = namespace.unwrap_or_default();
        let _ = write!(text, " xmlns:{module}=\"{}\"", escape(namespace));
    }
    let _ = write!(text, ">{}</error-path>", escape(&path.text));
}

fn message(error: &DataError) -> String {
    match error.line {
        0 => error.message.clone(),
        line => format!("line {line}: {}", error.message),
    }
}
