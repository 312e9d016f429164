//! The body of an error response (RFC 8040 §7.1), in JSON and XML.

use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};
use serde_json::{Value as Json, json};

use super::media::Format;
use crate::xml_errors::{message, put_info, put_leaf, put_path};

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
            xml_errors(&mut text, errors, schema);
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
            put_leaf(&mut text, "error-type", kind);
            put_leaf(&mut text, "error-tag", tag);
            put_leaf(&mut text, "error-message", message);
            text.push_str("</error></errors>");
            text
        }
    }
}

pub(super) fn json_error(error: &DataError) -> Json {
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

/// Prints errors as elements.
pub(super) fn xml_errors<'a>(
    text: &mut String,
    errors: impl Iterator<Item = &'a DataError>,
    schema: Option<&Schema>,
) {
    errors.for_each(|error| xml_error(text, error, schema));
}

fn xml_error(text: &mut String, error: &DataError, schema: Option<&Schema>) {
    text.push_str("<error>");
    put_leaf(text, "error-type", error.kind.as_str());
    put_leaf(text, "error-tag", error.tag.as_str());
    if let Some(tag) = &error.app_tag {
        put_leaf(text, "error-app-tag", tag);
    }
    if !error.path.is_empty() {
        put_path(text, &error.path, schema);
    }
    put_leaf(text, "error-message", &message(error));
    put_info(text, &error.info());
    text.push_str("</error>");
}
