//! The error message of a process that LMDB aborts.
//!
//! LMDB fails an assertion on a damaged page, and a page that cannot be read is a bus error: signals, not
//! errors. Opening does not check every page, as that is linear in the data, so a program that has opened a
//! damaged directory may be killed by any read. It then at least prints the cause and the remedy.

use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::environment::DATA_FILE;

/// The exit status of such a process, as for other failures of an engine.
const EXIT_STATUS: c_int = 1;

/// The message for the directory that was opened last. Never freed, as a signal may come at any time; there
/// is one per opened directory.
static MESSAGE: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());

/// Makes this process print that the engine's file is damaged, and exit with status 1, when LMDB aborts it.
/// It installs handlers of `SIGABRT` and `SIGBUS`, so programs call it, not libraries. Call it once, before
/// anything is opened.
pub fn install_damage_handler() {
    let handler = handle_signal as extern "C" fn(c_int);
    for signal in [libc::SIGABRT, libc::SIGBUS] {
        // SAFETY: the handler does only what is allowed in one: an atomic load, `write`, `_exit`.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Sets the directory of the message.
pub(super) fn set_directory(dir: &Path) {
    let dir = dir.display();
    let message = format!(
        "error: {dir}/{DATA_FILE} cannot be read further; the file or its disk is damaged\n\
         hint: `espalier check embedded:{dir}` names the pages; `espalier restore` a backup into \
         another directory\n"
    );
    MESSAGE.store(Box::into_raw(Box::new(message)), Ordering::Release);
}

extern "C" fn handle_signal(signal: c_int) {
    let message = MESSAGE.load(Ordering::Acquire);
    // SAFETY: the pointer is null or of a string that is never freed; the rest are system calls.
    unsafe {
        let Some(message) = message.as_ref() else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        };
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(EXIT_STATUS)
    }
}
