//! The updates of a subscription to a datastore (RFC 8641 §3.7, §4.3), with their encodings.

use std::sync::Arc;

use espalier_store::{FilteredChange, FilteredEdit, Point};
use espalier_yang::data::{DataNode, PrintOptions, json, xml};
use espalier_yang::{InstancePath, Keys, Schema};

use super::change_type::ChangeType;
use super::source::PushContents;

/// The namespace of the updates.
const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";

/// The data of an update.
pub(crate) enum PushUpdate {
    /// All selected data.
    Contents(PushContents),
    /// The changes since the update before.
    Changes {
        /// The number of the patch.
        patch: u64,
        schema: Arc<Schema>,
        edits: Vec<FilteredEdit>,
    },
}

impl PushUpdate {
    /// The name of the notification.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Contents(_) => "push-update",
            Self::Changes { .. } => "push-change-update",
        }
    }

    /// Whether a part of the data is missing.
    fn is_incomplete(&self) -> bool {
        matches!(self, Self::Contents(contents) if contents.is_incomplete)
    }

    /// Adds the member of a JSON object, for a subscription with this number.
    pub fn write_json(&self, id: u32, text: &mut Vec<u8>) {
        let name = self.name();
        text.extend(format!("\"ietf-yang-push:{name}\":{{\"id\":{id},").into_bytes());
        match self {
            Self::Contents(contents) => {
                text.extend_from_slice(b"\"datastore-contents\":");
                contents.write_json(text);
            }
            Self::Changes {
                patch,
                schema,
                edits,
            } => {
                let begin = format!(
                    "\"datastore-changes\":{{\"yang-patch\":{{\"patch-id\":\"{patch}\",\"edit\":["
                );
                text.extend(begin.into_bytes());
                for (number, edit) in edits.iter().enumerate() {
                    if number > 0 {
                        text.push(b',');
                    }
                    Edit::new(number, edit, schema).write_json(text);
                }
                text.extend_from_slice(b"]}}");
            }
        }
        if self.is_incomplete() {
            text.extend_from_slice(b",\"incomplete-update\":[null]");
        }
        text.push(b'}');
    }

    /// Adds the XML element, for a subscription with this number.
    pub fn write_xml(&self, id: u32, text: &mut Vec<u8>) {
        let name = self.name();
        text.extend(format!("<{name} xmlns=\"{NAMESPACE}\"><id>{id}</id>").into_bytes());
        match self {
            Self::Contents(contents) => {
                text.extend_from_slice(b"<datastore-contents>");
                contents.write_xml(text);
                text.extend_from_slice(b"</datastore-contents>");
            }
            Self::Changes {
                patch,
                schema,
                edits,
            } => {
                // The grouping of another module is used, so its nodes are of this one.
                let begin = format!("<datastore-changes><yang-patch><patch-id>{patch}</patch-id>");
                text.extend(begin.into_bytes());
                for (number, edit) in edits.iter().enumerate() {
                    Edit::new(number, edit, schema).write_xml(text);
                }
                text.extend_from_slice(b"</yang-patch></datastore-changes>");
            }
        }
        if self.is_incomplete() {
            text.extend_from_slice(b"<incomplete-update/>");
        }
        text.extend(format!("</{name}>").into_bytes());
    }
}

impl PushContents {
    fn write_json(&self, text: &mut Vec<u8>) {
        let Some((first, _)) = self.parts.first() else {
            return text.extend_from_slice(b"{}");
        };
        let mut printer = json::Printer::new(first, Vec::new(), PrintOptions::default());
        for (schema, tree) in &self.parts {
            printer.continue_with(schema);
            // Writing to memory does not fail.
            let _ = tree.emit(&mut printer);
        }
        text.extend(printer.finish().unwrap_or_default());
    }

    fn write_xml(&self, text: &mut Vec<u8>) {
        let Some((first, _)) = self.parts.first() else {
            return;
        };
        let mut printer = xml::Printer::new(first, Vec::new(), PrintOptions::default());
        for (schema, tree) in &self.parts {
            printer.continue_with(schema);
            let _ = tree.emit(&mut printer);
        }
        text.extend(printer.finish().unwrap_or_default());
    }
}

/// An edit of a patch.
struct Edit<'a> {
    schema: &'a Schema,
    number: usize,
    operation: &'static str,
    target: String,
    /// The entry after which the target is placed, if not first.
    place: Option<Option<String>>,
    value: Option<&'a DataNode>,
}

impl<'a> Edit<'a> {
    fn new(number: usize, edit: &'a FilteredEdit, schema: &'a Schema) -> Self {
        let (value, point) = match &edit.change {
            FilteredChange::Create(value) | FilteredChange::Replace(value) => (Some(value), None),
            FilteredChange::Insert(value, point) => (Some(value), Some(point)),
            FilteredChange::Move(point) => (None, Some(point)),
            FilteredChange::Delete => (None, None),
        };
        let place = point.map(|point| match point {
            Point::First => None,
            Point::After(keys) => Some(offset(schema, &sibling(&edit.target, keys))),
        });
        Self {
            schema,
            number: number + 1,
            operation: ChangeType::of(&edit.change).name(),
            target: offset(schema, &edit.target),
            place,
            value,
        }
    }

    fn write_json(&self, text: &mut Vec<u8>) {
        let Self {
            number,
            operation,
            target,
            ..
        } = self;
        // Paths are percent-encoded, so nothing of them needs an escape.
        let begin = format!(
            "{{\"edit-id\":\"{number}\",\"operation\":\"{operation}\",\"target\":\"{target}\""
        );
        text.extend(begin.into_bytes());
        match &self.place {
            None => {}
            Some(None) => text.extend_from_slice(b",\"where\":\"first\""),
            Some(Some(point)) => {
                let place = format!(",\"point\":\"{point}\",\"where\":\"after\"");
                text.extend(place.into_bytes());
            }
        }
        if let Some(value) = self.value {
            text.extend_from_slice(b",\"value\":");
            let mut printer = json::Printer::new(self.schema, Vec::new(), PrintOptions::default());
            let _ = value.emit(&mut printer);
            text.extend(printer.finish().unwrap_or_default());
        }
        text.push(b'}');
    }

    fn write_xml(&self, text: &mut Vec<u8>) {
        let Self {
            number,
            operation,
            target,
            ..
        } = self;
        let begin = format!(
            "<edit><edit-id>{number}</edit-id><operation>{operation}</operation><target>{target}</target>"
        );
        text.extend(begin.into_bytes());
        match &self.place {
            None => {}
            Some(None) => text.extend_from_slice(b"<where>first</where>"),
            Some(Some(point)) => {
                let place = format!("<point>{point}</point><where>after</where>");
                text.extend(place.into_bytes());
            }
        }
        if let Some(value) = self.value {
            text.extend_from_slice(b"<value>");
            let mut printer = xml::Printer::new(self.schema, Vec::new(), PrintOptions::default());
            let _ = value.emit(&mut printer);
            text.extend(printer.finish().unwrap_or_default());
            text.extend_from_slice(b"</value>");
        }
        text.extend_from_slice(b"</edit>");
    }
}

/// An entry of the same list.
fn sibling(entry: &InstancePath, keys: &Keys) -> InstancePath {
    let mut path = entry.clone();
    if let Some(step) = path.steps.last_mut() {
        step.keys = keys.clone();
    }
    path
}

/// A path in the form of RFC 8040 §3.5.3. Entries without keys have no edits.
fn offset(schema: &Schema, path: &InstancePath) -> String {
    format!("/{}", path.to_api_path(schema).unwrap_or_default())
}
