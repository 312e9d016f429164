//! Shared by the tests of engines on a read-only file system.

use std::path::Path;

use espalier_drivers::open;
use espalier_keyspace::ErrorKind;
use espalier_testkit::disk::{mount, mounted};

/// Creating an engine on a read-only file system fails with an error that names its path. `url` returns the URL of an
/// engine from its folder and name.
pub fn check_read_only(url: impl Fn(&Path, &str) -> String) {
    mounted("size=30m", |dir| {
        mount(dir, &["-o", "remount,ro"]);
        let error = open(&url(dir, "new")).err().expect("an error");
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        let message = error.to_string();
        let path = dir.join("new");
        assert!(message.contains(&*path.to_string_lossy()), "{message}");
        mount(dir, &["-o", "remount,rw"]);
        let driver = open(&url(dir, "new")).expect("opens");
        assert_eq!(driver.usage().expect("usage").keys, 0);
    });
}
