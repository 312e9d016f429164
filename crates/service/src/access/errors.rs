//! Errors without what the user cannot read.

use espalier_store::{AccessOperation, AccessTable};
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Schema};

/// The `error-app-tag` of a violated `unique` (RFC 7950 §15.1). Its message names the other entry.
const NOT_UNIQUE: &str = "data-not-unique";

/// Removes the paths and messages of errors at nodes that the user cannot read (RFC 8341 §3.4.5: an error must not show
/// them). That a node exists, or does not, is then reported as a denied access.
pub(crate) fn hide_denied(access: &AccessTable, schema: &Schema, errors: Errors) -> Errors {
    match access.reads_all() {
        true => errors,
        false => {
            let mut shown = Errors::new();
            for error in errors.map(|error| hidden(access, schema, error)).iter() {
                // The number of hidden nodes is hidden too.
                let is_known = || shown.iter().any(|known| known == error);
                if !error.path.is_empty() || !is_known() {
                    shown.push(error.clone());
                }
            }
            shown
        }
    }
}

fn hidden(access: &AccessTable, schema: &Schema, mut error: DataError) -> DataError {
    if error.app_tag.as_deref() == Some(NOT_UNIQUE) {
        error.given_info = None;
        error.message = "another entry has the same values of a unique statement".to_owned();
    }
    if error.path.is_empty() || may_read(access, schema, &error.path) {
        return error;
    }
    let is_existence = matches!(
        error.tag,
        ErrorTag::DataExists | ErrorTag::DataMissing | ErrorTag::InUse | ErrorTag::LockDenied
    );
    if is_existence {
        return denied(error);
    }
    error.path.clear();
    error.given_info = None;
    // The constraint is reported, so that the user knows why; its text may name hidden nodes.
    error.app_tag = error.app_tag.filter(|tag| is_standard(tag));
    error.message = "a constraint on data that cannot be read is violated".to_owned();
    error
}

/// A denied access in place of an error that shows whether a node exists.
fn denied(mut error: DataError) -> DataError {
    error.path.clear();
    error.given_info = None;
    error.tag = ErrorTag::AccessDenied;
    error.app_tag = None;
    error.message = "access denied".to_owned();
    error
}

/// Reports nodes that do not exist as a denied access, so that they look like hidden ones.
pub(crate) fn hide_missing(access: &AccessTable, errors: Errors) -> Errors {
    match access.reads_all() {
        true => errors,
        false => errors.map(|error| match error.tag {
            ErrorTag::DataMissing => denied(error),
            _ => error,
        }),
    }
}

/// Whether an `error-app-tag` is of RFC 7950 and not of a model.
fn is_standard(tag: &str) -> bool {
    const STANDARD: [&str; 6] = [
        NOT_UNIQUE,
        "too-many-elements",
        "too-few-elements",
        "must-violation",
        "instance-required",
        "missing-choice",
    ];
    STANDARD.contains(&tag)
}

/// Whether the node at a path can be read. A path that cannot be parsed is not shown.
pub(crate) fn may_read(access: &AccessTable, schema: &Schema, path: &str) -> bool {
    let parsed = InstancePath::parse_cli_path(schema, path);
    parsed.is_ok_and(|path| access.allows(AccessOperation::Read, &path))
}
