//! Pattern checks by libyang.

use std::ffi::CString;
use std::ptr;

use libyang5_sys as sys;

/// Returns whether libyang accepts a pattern.
pub(in crate::schema::compile) fn accepts_pattern(pattern: &str) -> bool {
    let Ok(pattern) = CString::new(pattern) else {
        return false;
    };
    // Messages are neither printed nor stored.
    let mut log_options = 0;
    // SAFETY: the options live until the previous ones are restored. No context is needed: libyang
    // would only store messages in it. The compiled pattern is freed.
    unsafe {
        let previous = sys::ly_temp_log_options(&mut log_options);
        let mut compiled = ptr::null_mut();
        let result = sys::ly_pattern_compile(ptr::null(), pattern.as_ptr(), &mut compiled);
        sys::ly_pattern_free(compiled);
        sys::ly_temp_log_options(previous);
        result == sys::LY_ERR::LY_SUCCESS
    }
}
