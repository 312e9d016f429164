//! The limits of the work for one page.

use espalier_yang::{DataError, ErrorTag, ErrorType};

use crate::error::Error;

/// The maximum number of entries that are examined for a page: those that an offset skips, that a condition is evaluated
/// for, or that are sorted. A page from a cursor examines only its own entries.
pub const PAGE_ENTRIES_EXAMINED_MAX: u64 = 10_000_000;

/// The maximum number of nodes that the evaluations of the condition of one page visit.
pub const PAGE_XPATH_STEPS_MAX: u64 = 100_000_000;

/// The maximum size of the keys of the entries of a page that is not a range of its list: one in backwards direction, or
/// with a condition on other leaves than keys.
pub const PAGE_KEYS_BYTES_MAX: usize = 64 << 20;

/// The maximum size of the keys and sort values of the entries that are sorted: up to the end of the page.
pub const PAGE_SORT_BYTES_MAX: usize = 64 << 20;

/// The part of a value that is compared if entries are sorted by a leaf. Entries with the same part are in the order of
/// their list.
pub const PAGE_SORT_VALUE_BYTES_MAX: usize = 1024;

/// The error of a limit.
pub(super) fn too_big(what: &str, limit: u64, name: &str) -> Error {
    let message = format!("the page needs {what}, more than {limit} ({name})");
    let error = DataError::new(ErrorTag::TooBig, message);
    error.of_type(ErrorType::Application).into()
}
