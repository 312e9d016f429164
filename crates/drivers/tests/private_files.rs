//! The files of a store: finding the store that a path leads into, through links; and whether other users can read
//! them.
#![cfg(all(feature = "embedded", feature = "file", feature = "sqlite"))]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use espalier_drivers::{enclosing_store, exposed_files, is_store_file, open};
use espalier_keyspace::Batch;

#[test]
fn a_path_into_a_store_is_found_through_links() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().canonicalize().expect("a path");
    let path = |name: &str| dir.join(name);
    for scheme in ["embedded", "file", "sqlite"] {
        let store = path(scheme);
        let url = format!("{scheme}:{}", store.display());
        let driver = open(&url).expect("a store");
        let mut batch = Batch::new();
        batch.put("a", "1");
        driver.commit(batch).expect("a commit");
        assert_eq!(exposed_files(&url).expect("files"), [], "{scheme}");
        if scheme == "sqlite" {
            assert_eq!(enclosing_store(&store), Some(store.clone()));
            assert_eq!(enclosing_store(&path("sqlite-wal")), Some(store.clone()));
            continue;
        }
        for inside in ["new", "a/b/new"] {
            assert_eq!(enclosing_store(&store.join(inside)), Some(store.clone()));
        }
        symlink(&store, path(&format!("{scheme}-link"))).expect("a link");
        let by_link = path(&format!("{scheme}-link")).join("new");
        assert_eq!(enclosing_store(&by_link), Some(store));
    }
    for outside in ["new", "a/b/new", "sqlite-other", "embedded.json"] {
        assert_eq!(enclosing_store(&path(outside)), None, "{outside}");
    }
    let (data, hard) = (path("embedded/data.mdb"), path("hard"));
    fs::hard_link(&data, &hard).expect("a link");
    let url = format!("embedded:{}", path("embedded").display());
    assert!(is_store_file(&url, &hard).expect("files"));
    assert!(!is_store_file("memory:", &hard).expect("none"));
    fs::set_permissions(&data, fs::Permissions::from_mode(0o640)).expect("permissions");
    let found = exposed_files(&url).expect("files");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].path, found[0].mode, found[0].private_mode),
        (&data, 0o640, 0o600)
    );
}
