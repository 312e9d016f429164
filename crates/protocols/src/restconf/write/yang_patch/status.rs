//! The status of a patch (RFC 8072 §2.3).

use espalier_yang::{DataError, Schema};
use serde_json::{Value as Json, json};

use super::document_xml::NAMESPACE;
use super::names::PatchNames;
use crate::restconf::error_body::{json_error, xml_errors};
use crate::restconf::media::Format;
use crate::xml_errors::put_leaf;

/// The status of a patch that was applied.
pub(in crate::restconf) fn print_ok(names: &PatchNames, format: Format) -> String {
    match format {
        Format::Json => envelope(json!({"patch-id": &*names.patch, "ok": [null]})),
        Format::Xml => {
            let mut text = start(names);
            text.push_str("<ok/></yang-patch-status>");
            text
        }
    }
}

/// The status of a patch that was not applied: the errors of its edits, or else those of the whole.
pub(in crate::restconf) fn print_errors<'a>(
    names: &PatchNames,
    errors: impl Iterator<Item = &'a DataError>,
    format: Format,
    schema: Option<&Schema>,
) -> String {
    let mut edits: Vec<(&str, Vec<&DataError>)> = Vec::new();
    let mut global = Vec::new();
    for error in errors {
        match (names.edit_of(error), edits.last_mut()) {
            (None, _) => global.push(error),
            (Some(id), Some((last, of_edit))) if *last == id => of_edit.push(error),
            (Some(id), _) => edits.push((id, vec![error])),
        }
    }
    match format {
        Format::Json => json_status(names, &global, &edits),
        Format::Xml => xml_status(names, &global, &edits, schema),
    }
}

fn json_status(
    names: &PatchNames,
    global: &[&DataError],
    edits: &[(&str, Vec<&DataError>)],
) -> String {
    let all = |errors: &[&DataError]| {
        let errors: Vec<Json> = errors.iter().copied().map(json_error).collect();
        json!({"error": errors})
    };
    let mut status = json!({"patch-id": &*names.patch});
    if !global.is_empty() {
        status["errors"] = all(global);
    }
    if !edits.is_empty() {
        let edits = edits.iter();
        let edits = edits.map(|(id, errors)| json!({"edit-id": id, "errors": all(errors)}));
        status["edit-status"] = json!({"edit": edits.collect::<Vec<Json>>()});
    }
    envelope(status)
}

fn xml_status(
    names: &PatchNames,
    global: &[&DataError],
    edits: &[(&str, Vec<&DataError>)],
    schema: Option<&Schema>,
) -> String {
    let mut text = start(names);
    let all = |text: &mut String, errors: &[&DataError]| {
        text.push_str("<errors>");
        xml_errors(text, errors.iter().copied(), schema);
        text.push_str("</errors>");
    };
    if !global.is_empty() {
        all(&mut text, global);
    }
    if !edits.is_empty() {
        text.push_str("<edit-status>");
        for (id, errors) in edits {
            text.push_str("<edit>");
            put_leaf(&mut text, "edit-id", id);
            all(&mut text, errors);
            text.push_str("</edit>");
        }
        text.push_str("</edit-status>");
    }
    text.push_str("</yang-patch-status>");
    text
}

fn envelope(status: Json) -> String {
    json!({"ietf-yang-patch:yang-patch-status": status}).to_string()
}

fn start(names: &PatchNames) -> String {
    let mut text = format!("<yang-patch-status xmlns=\"{NAMESPACE}\">");
    put_leaf(&mut text, "patch-id", &names.patch);
    text
}
