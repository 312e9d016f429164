//! Engines on disks that can only be read.

use std::path::Path;

use espalier_drivers::open;
use espalier_keyspace::ErrorKind;
use espalier_testkit::disk::{mount, mounted};

/// An engine that would be made on a file system that can only be read: it is refused with its path. `url` is that of
/// the engine of a name in a folder.
pub fn check_read_only(url: impl Fn(&Path, &str) -> String) {
    mounted("size=30m", |dir| {
        mount(dir, &["-o", "remount,ro"]);
        let error = open(&url(dir, "new")).err().expect("a refusal");
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        let said = error.to_string();
        assert!(said.contains(&*dir.join("new").to_string_lossy()), "{said}");
        mount(dir, &["-o", "remount,rw"]);
        let driver = open(&url(dir, "new")).expect("opens");
        assert_eq!(driver.usage().expect("usage").keys, 0);
    });
}
