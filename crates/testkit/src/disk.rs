//! Temporary file systems, for tests of full disks and of read-only directories.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;

/// If this variable is set, tests that mount a file system are skipped.
const NO_MOUNTS: &str = "ESPALIER_TEST_NO_MOUNTS";

/// Calls `mount` with arguments and a directory.
///
/// # Panics
/// If the user may not mount.
pub fn mount(dir: &Path, arguments: &[&str]) {
    let mut command = Command::new("mount");
    let done = command.args(arguments).arg(dir).output();
    let done = done.expect("the command mount");
    assert!(
        done.status.success(),
        "{}; tests of full disks mount file systems: run them as root, or set {NO_MOUNTS}=1 to skip them",
        String::from_utf8_lossy(&done.stderr).trim()
    );
}

/// Runs `act` on an in-memory file system with options such as `size=3m`.
///
/// # Panics
/// If the user may not mount.
pub fn mounted(options: &str, act: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().expect("a directory");
    mounted_at(dir.path(), options, || act(dir.path()));
}

/// Like [`mounted`], mounted on a directory.
///
/// # Panics
/// If the user may not mount.
pub fn mounted_at(dir: &Path, options: &str, act: impl FnOnce()) {
    if env::var_os(NO_MOUNTS).is_some() {
        eprintln!("skipped: {NO_MOUNTS} is set");
        return;
    }
    mount(dir, &["-t", "tmpfs", "-o", options, "tmpfs"]);
    let acted = catch_unwind(AssertUnwindSafe(act));
    let unmounted = Command::new("umount").arg("-l").arg(dir).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    acted.unwrap_or_else(|cause| resume_unwind(cause));
}
