//! A patch in XML.

use std::borrow::Cow;

use super::document::{PatchDocument, PatchEdit, PatchOperation, PatchValue, malformed, place};
use crate::netconf::{Element, NotXml};
use crate::restconf::error::{Failure, Result};

/// The namespace of `ietf-yang-patch`.
pub(super) const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-patch";

pub(super) fn parse(text: &str) -> Result<PatchDocument<'_>> {
    let patch = Element::parse(text).map_err(not_xml)?;
    if !patch.is(NAMESPACE, "yang-patch") {
        return Err(malformed(format!("its element is “{}”", patch.name)));
    }
    let (mut id, mut comment, mut edits) = (None, None, Vec::new());
    for child in patch.children().map_err(not_xml)? {
        match known_name(&child)? {
            "patch-id" => set(&mut id, &child)?,
            "comment" => set(&mut comment, &child)?,
            "edit" => edits.push(edit(text, &child)?),
            _ => return Err(unknown(&child)),
        }
    }
    Ok(PatchDocument {
        id: id.ok_or_else(|| missing("patch-id"))?,
        comment,
        edits,
    })
}

fn edit<'d>(text: &str, edit: &Element<'d>) -> Result<PatchEdit<'d>> {
    let (mut id, mut operation, mut target) = (None, None, None);
    let (mut point, mut place_text, mut value) = (None, None, None);
    for child in edit.children().map_err(not_xml)? {
        match known_name(&child)? {
            "edit-id" => set(&mut id, &child)?,
            "operation" => set(&mut operation, &child)?,
            "target" => set(&mut target, &child)?,
            "point" => set(&mut point, &child)?,
            "where" => set(&mut place_text, &child)?,
            "value" if value.is_none() => value = Some(of_value(text, &child)?),
            _ => return Err(unknown(&child)),
        }
    }
    let operation = operation.ok_or_else(|| missing("operation"))?;
    let place = place_text.map(|text: String| {
        place(&text).ok_or_else(|| malformed(format!("there is no place “{text}”")))
    });
    Ok(PatchEdit {
        id: id.ok_or_else(|| missing("edit-id"))?,
        operation: PatchOperation::parse(&operation)
            .ok_or_else(|| malformed(format!("there is no operation “{operation}”")))?,
        target: target.ok_or_else(|| missing("target"))?,
        point,
        place: place.transpose()?,
        value,
    })
}

/// The node in a value, with the namespaces that are declared around it.
fn of_value<'d>(text: &str, value: &Element<'d>) -> Result<PatchValue<'d>> {
    let children = value.children().map_err(not_xml)?;
    let document = match children.as_slice() {
        [node] => node.standalone(),
        _ => return Err(malformed("a value contains exactly one node")),
    };
    let node = value.content().trim_start();
    Ok(PatchValue::new(text, node, Cow::Owned(document)))
}

fn known_name<'e>(element: &'e Element<'_>) -> Result<&'e str> {
    match element.namespace == NAMESPACE {
        true => Ok(&element.name),
        false => Err(unknown(element)),
    }
}

fn set(place: &mut Option<String>, element: &Element<'_>) -> Result<()> {
    match place.replace(element.text().map_err(not_xml)?) {
        None => Ok(()),
        Some(_) => Err(malformed(format!("“{}” is given twice", element.name))),
    }
}

fn missing(name: &str) -> Failure {
    malformed(format!("“{name}” is missing"))
}

fn unknown(element: &Element<'_>) -> Failure {
    malformed(format!("“{}” is unexpected", element.name))
}

fn not_xml(error: NotXml) -> Failure {
    malformed(error.0)
}
