//! A patch in JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::document::{PatchDocument, PatchEdit, PatchOperation, PatchValue, malformed, place};
use crate::restconf::error::{Failure, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'d> {
    #[serde(rename = "ietf-yang-patch:yang-patch", borrow)]
    patch: Patch<'d>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Patch<'d> {
    patch_id: String,
    comment: Option<String>,
    #[serde(borrow, default)]
    edit: Vec<Edit<'d>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Edit<'d> {
    edit_id: String,
    operation: PatchOperation,
    target: String,
    point: Option<String>,
    #[serde(rename = "where")]
    place: Option<String>,
    #[serde(borrow)]
    value: Option<&'d RawValue>,
}

pub(super) fn parse(text: &str) -> Result<PatchDocument<'_>> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(malformed)?;
    let patch = envelope.patch;
    let edits = patch.edit.into_iter().map(|edit| of_edit(text, edit));
    Ok(PatchDocument {
        id: patch.patch_id,
        comment: patch.comment,
        edits: edits.collect::<Result<_>>()?,
    })
}

fn of_edit<'d>(text: &str, edit: Edit<'d>) -> Result<PatchEdit<'d>> {
    let unknown = |text: &str| -> Failure { malformed(format!("there is no place “{text}”")) };
    let value = edit.value.map(|value| {
        let part = value.get();
        PatchValue::new(text, part, Cow::Borrowed(part))
    });
    let given = edit.place.as_deref();
    let place = given.map(|given| place(given).ok_or_else(|| unknown(given)));
    Ok(PatchEdit {
        id: edit.edit_id,
        operation: edit.operation,
        target: edit.target,
        point: edit.point,
        place: place.transpose()?,
        value,
    })
}
