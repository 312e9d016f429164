//! Readers for the C conventions of libyang: strings and sized arrays.

use std::ffi::{CStr, c_char};

/// A string of libyang; empty for null.
///
/// # Safety
/// `text` is null or a string that lives, unchanged, for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char) -> &'a str {
    // SAFETY: guaranteed by the caller.
    unsafe { optional_text(text) }.unwrap_or_default()
}

/// A string of libyang, `None` for null.
///
/// # Safety
/// `text` is null or a string that lives, unchanged, for `'a`.
pub(super) unsafe fn optional_text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and guaranteed by the caller.
    let bytes = unsafe { CStr::from_ptr(text) };
    Some(bytes.to_str().unwrap_or_default())
}

/// The elements of a "sized array" of libyang, which keeps its length as a `u64` just before the
/// first element (`LY_ARRAY_COUNT` in `tree.h`); null is the empty one.
///
/// # Safety
/// `first` is null or a sized array that lives, unchanged, for `'a`.
pub(super) unsafe fn sized_array<'a, T>(first: *const T) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the length is stored before the first element, and there are that many elements.
    unsafe {
        let count = first.cast::<u64>().sub(1).read();
        std::slice::from_raw_parts(first, usize::try_from(count).unwrap_or_default())
    }
}
