//! Validation of names in the catalog.

use crate::error::{Error, Result};

/// Bytes in the name of a dataspace, schema set or anchor.
const NAME_BYTES_MAX: usize = 255;

/// Rejects names that are empty, too long, or contain control characters or a slash.
pub(super) fn check(kind: &'static str, name: &str) -> Result<()> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_BYTES_MAX {
        "it is longer than 255 bytes"
    } else if name.contains('/') || name.chars().any(char::is_control) {
        "it has a slash or a control character"
    } else {
        return Ok(());
    };
    Err(Error::BadName {
        kind,
        name: name.to_owned(),
        reason,
    })
}
