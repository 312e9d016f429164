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

/// The messages for a directory.
struct Messages {
    /// After `SIGABRT`, which LMDB raises after it has printed the assertion, and Rust when memory runs out.
    aborted: String,
    /// After `SIGBUS`.
    unreadable: String,
}

/// The messages for the directory that was opened last. Never freed, as a signal may come at any time; there
/// is one per opened directory.
static MESSAGES: AtomicPtr<Messages> = AtomicPtr::new(ptr::null_mut());

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

/// Sets the directory of the messages.
pub(super) fn set_directory(dir: &Path) {
    let dir = dir.display();
    let remedy = format!(
        "`espalier check embedded:{dir}` names the pages; `espalier restore` a backup into another directory"
    );
    let messages = Messages {
        aborted: format!(
            "error: this process was aborted; the lines before this one have the reason\n\
             hint: if it is a failed assertion in mdb.c, {dir}/{DATA_FILE} or its disk is damaged: {remedy}. Otherwise \
             memory ran out, or espalier has a fault: please report these lines\n"
        ),
        unreadable: format!(
            "error: {dir}/{DATA_FILE} cannot be read further; the file or its disk is damaged\n\
             hint: {remedy}\n"
        ),
    };
    MESSAGES.store(Box::into_raw(Box::new(messages)), Ordering::Release);
}

extern "C" fn handle_signal(signal: c_int) {
    let messages = MESSAGES.load(Ordering::Acquire);
    // SAFETY: the pointer is null or of messages that are never freed; the rest are system calls.
    unsafe {
        let Some(messages) = messages.as_ref() else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        };
        let message = match signal {
            libc::SIGABRT => &messages.aborted,
            _ => &messages.unreadable,
        };
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(EXIT_STATUS)
    }
}
