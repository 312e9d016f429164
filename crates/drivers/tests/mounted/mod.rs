//! File systems of their own for tests of full disks and of folders that nobody may write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use espalier_drivers::open;
use espalier_keyspace::ErrorKind;

/// Mounts something on a folder, or changes how it is mounted; whether this user may.
pub fn mount(dir: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("mount");
    command.args(arguments).arg(dir);
    command.output().is_ok_and(|done| done.status.success())
}

/// Runs on a file system in memory with options such as `size=3m`, where this user may mount one.
pub fn mounted(options: &str, act: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().expect("a directory");
    if !mount(dir.path(), &["-t", "tmpfs", "-o", options, "tmpfs"]) {
        eprintln!("left out: this user may not mount a file system");
        return;
    }
    let acted = catch_unwind(AssertUnwindSafe(|| act(dir.path())));
    let unmounted = Command::new("umount").arg("-l").arg(dir.path()).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    acted.expect("what was done there");
}

/// An engine that would be made on a file system that can only be read: it is refused with its path. `url` is that of
/// the engine of a name in a folder.
#[allow(dead_code, reason = "each test binary uses what it needs of this")]
pub fn check_read_only(url: impl Fn(&Path, &str) -> String) {
    mounted("size=30m", |dir| {
        assert!(mount(dir, &["-o", "remount,ro"]));
        let error = open(&url(dir, "new")).err().expect("a refusal");
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        let said = error.to_string();
        assert!(said.contains(&*dir.join("new").to_string_lossy()), "{said}");
        assert!(mount(dir, &["-o", "remount,rw"]));
        let driver = open(&url(dir, "new")).expect("opens");
        assert_eq!(driver.usage().expect("usage").keys, 0);
    });
}
