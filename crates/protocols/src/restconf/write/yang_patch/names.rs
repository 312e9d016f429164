//! The names in a patch, for its status.

use std::sync::Arc;

use espalier_yang::DataError;

/// The names of a patch and of its edits.
#[derive(Clone, Debug)]
pub(in crate::restconf) struct PatchNames {
    pub(super) patch: Arc<str>,
    /// The `edit-id` of each edit, and the number of lines before its value.
    edits: Arc<[(String, u32)]>,
}

impl PatchNames {
    /// The names of a patch, and, for each edit, its name and the number of lines before its value.
    pub(super) fn new(patch: &str, edits: impl Iterator<Item = (String, u32)>) -> Self {
        Self {
            patch: patch.into(),
            edits: edits.collect(),
        }
    }

    /// The `edit-id` of the edit that an error is about.
    pub(super) fn edit_of(&self, error: &DataError) -> Option<&str> {
        let (id, _) = self.edits.get(error.edit?)?;
        Some(id)
    }

    /// The error with its line in the patch, not in the value of its edit.
    pub(in crate::restconf) fn in_patch(&self, mut error: DataError) -> DataError {
        let edit = error.edit.and_then(|number| self.edits.get(number));
        error.line = match edit {
            Some((_, before)) if error.line > 0 => error.line.saturating_add(*before),
            _ => 0,
        };
        error
    }
}
