//! The document of a patch (RFC 8072 §2.2), its values not parsed.

use std::borrow::Cow;
use std::collections::HashSet;

use espalier_yang::ErrorTag;

use super::{document_json, document_xml};
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;
use crate::restconf::query::Insert as Where;

/// The maximum number of edits in a patch.
pub(super) const EDITS_MAX: usize = 100_000;

/// A patch.
#[derive(Debug, Default)]
pub(super) struct PatchDocument<'d> {
    pub id: String,
    /// A note for the history.
    pub comment: Option<String>,
    pub edits: Vec<PatchEdit<'d>>,
}

/// What an edit does (RFC 8072 §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PatchOperation {
    Create,
    Delete,
    Insert,
    Merge,
    Move,
    Replace,
    Remove,
}

impl PatchOperation {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "create" => Self::Create,
            "delete" => Self::Delete,
            "insert" => Self::Insert,
            "merge" => Self::Merge,
            "move" => Self::Move,
            "replace" => Self::Replace,
            "remove" => Self::Remove,
            _ => return None,
        })
    }

    /// Whether the edit has a value.
    pub fn has_value(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Insert | Self::Merge | Self::Replace
        )
    }

    /// Whether the edit has a place in a list.
    pub fn has_place(self) -> bool {
        matches!(self, Self::Insert | Self::Move)
    }
}

/// An edit.
#[derive(Debug)]
pub(super) struct PatchEdit<'d> {
    pub id: String,
    pub operation: PatchOperation,
    pub target: String,
    pub point: Option<String>,
    pub place: Option<Where>,
    pub value: Option<PatchValue<'d>>,
}

/// The value of an edit: a document.
#[derive(Debug)]
pub(super) struct PatchValue<'d> {
    pub text: Cow<'d, str>,
    /// The number of lines of the patch before it.
    pub lines_before: u32,
}

impl<'d> PatchDocument<'d> {
    /// Parses a patch.
    ///
    /// # Errors
    /// `malformed-message` (400) for what is no patch; `invalid-value` for two edits of one `edit-id`; `too-big` for more
    /// than [`EDITS_MAX`] edits.
    pub fn parse(format: Format, text: &'d str) -> Result<Self> {
        let document = match format {
            Format::Json => document_json::parse(text)?,
            Format::Xml => document_xml::parse(text)?,
        };
        if document.edits.len() > EDITS_MAX {
            let message = format!("the patch has more than {EDITS_MAX} edits (EDITS_MAX)");
            return Err(Failure::new(ErrorTag::TooBig, message));
        }
        let mut ids = HashSet::new();
        match document.edits.iter().find(|edit| !ids.insert(&*edit.id)) {
            Some(edit) => {
                let message = format!("two edits have the edit-id “{}”", edit.id);
                Err(Failure::invalid(message))
            }
            None => Ok(document),
        }
    }
}

impl<'d> PatchValue<'d> {
    /// The value whose text, or the original of it, is `part` of the document.
    pub fn new(document: &str, part: &str, text: Cow<'d, str>) -> Self {
        let start = (part.as_ptr() as usize).saturating_sub(document.as_ptr() as usize);
        let before = document.as_bytes().get(..start).unwrap_or_default();
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        Self {
            text,
            lines_before: u32::try_from(lines).unwrap_or(u32::MAX),
        }
    }
}

/// The document is no patch: 400 (RFC 8072 §2.3).
pub(super) fn malformed(message: impl std::fmt::Display) -> Failure {
    let message = format!("the body is no YANG patch: {message}");
    Failure::new(ErrorTag::MalformedMessage, message)
}

/// The place with a name.
pub(super) fn place(text: &str) -> Option<Where> {
    Some(match text {
        "before" => Where::Before,
        "after" => Where::After,
        "first" => Where::First,
        "last" => Where::Last,
        _ => return None,
    })
}
