//! The number of retained versions.

use std::io::Seek;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use espalier_store::{
    Clock, CommitOptions, Error, ExistingRows, RETENTION_VERSIONS_DEFAULT, Retention, Store,
    Timestamp, Tree, backup, restore,
};

use crate::fixture::{MODEL, assert_sound, memory_tree, merge, open_tree, source};

fn set(tree: &Tree, number: u64) {
    merge(tree, &format!("{{\"m:top\":\"{number}\"}}"));
}

fn versions(tree: &Tree) -> Vec<u64> {
    let commits = tree.history(None, usize::MAX).unwrap();
    commits.iter().map(|commit| commit.version).collect()
}

/// So most commits need not delete anything.
#[test]
fn a_large_version_limit_is_exceeded_a_little_and_versions_are_deleted_together() {
    let tree = memory_tree(MODEL);
    let retention = Retention {
        versions: 600,
        age: None,
    };
    tree.set_retention(retention).unwrap();
    (1..=602).for_each(|number| set(&tree, number));
    let kept: Vec<_> = (603..=610)
        .map(|number| {
            set(&tree, number);
            versions(&tree).len()
        })
        .collect();
    assert_eq!(kept, [600, 601, 602, 600, 601, 602, 600, 601]);
    assert_sound(tree.store());
}

#[test]
fn the_configured_number_of_versions_is_kept_and_older_ones_are_rejected() {
    let tree = memory_tree(MODEL);
    let default = tree.retention().unwrap();
    let expected = Retention {
        versions: RETENTION_VERSIONS_DEFAULT,
        age: None,
    };
    assert_eq!(default, expected);
    for number in 1..=50 {
        set(&tree, number);
    }
    assert_eq!(versions(&tree), (1..=50).rev().collect::<Vec<_>>());
    let retention = Retention {
        versions: 5,
        age: None,
    };
    tree.set_retention(retention).unwrap();
    assert_eq!(tree.retention().unwrap(), retention);
    // Each commit deletes a few.
    set(&tree, 51);
    assert!(versions(&tree).len() > 5);
    for number in 52..=60 {
        set(&tree, number);
    }
    assert_eq!(versions(&tree), [60, 59, 58, 57, 56]);
    assert_eq!(tree.history(Some(58), 2).unwrap().len(), 2);
    assert!(tree.at(56).is_ok());
    let refused = tree.at(55).err();
    assert!(
        matches!(
            refused,
            Some(Error::Pruned {
                version: 55,
                oldest: 56
            })
        ),
        "{refused:?}"
    );
    assert!(tree.diff(0, 60).is_err() && tree.rollback(1, CommitOptions::default()).is_err());
    let refused = tree.at(61).err();
    assert!(
        matches!(
            refused,
            Some(Error::NoVersion {
                version: 61,
                newest: 60
            })
        ),
        "{refused:?}"
    );
    assert_sound(tree.store());
}

struct TestClock(Arc<AtomicU64>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn versions_that_are_too_old_are_deleted_by_the_next_commits() {
    let time = Arc::new(AtomicU64::new(1_000_000));
    let driver = espalier_drivers::open("memory:").unwrap();
    let store = Store::open(driver, Arc::new(TestClock(Arc::clone(&time)))).unwrap();
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source(MODEL)).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let tree = store
        .tree("d", "a", espalier_store::Datastore::Running)
        .unwrap();
    tree.set_retention(Retention {
        versions: 100,
        age: Some(Duration::from_secs(10)),
    })
    .unwrap();
    for number in 1..=5 {
        time.fetch_add(1000, Ordering::Relaxed);
        set(&tree, number);
    }
    assert_eq!(versions(&tree), [5, 4, 3, 2, 1]);
    time.fetch_add(8_000, Ordering::Relaxed);
    set(&tree, 6);
    assert_eq!(versions(&tree), [6, 5, 4, 3]);
    time.fetch_add(100_000, Ordering::Relaxed);
    set(&tree, 7);
    assert_eq!(versions(&tree), [7]);
}

/// A process that had the store open finds the beginning of the log that was restored.
#[test]
fn after_a_restore_below_an_open_tree_the_history_has_no_gap() {
    let driver = espalier_drivers::open("memory:").unwrap();
    let tree = open_tree(Arc::clone(&driver), MODEL);
    let retention = Retention {
        versions: 5,
        age: None,
    };
    tree.set_retention(retention).unwrap();
    (1..=20).for_each(|number| set(&tree, number));
    let mut file = tempfile::tempfile().unwrap();
    backup(&*driver, &mut file, Timestamp(1), &mut |_, _| {}).unwrap();
    file.rewind().unwrap();
    (21..=90).for_each(|number| set(&tree, number));
    assert_eq!(versions(&tree), [90, 89, 88, 87, 86]);
    restore(&file, &*driver, ExistingRows::Delete, &mut |_, _| {}).unwrap();
    assert_eq!(versions(&tree), [20, 19, 18, 17, 16]);
    for number in 21..=200 {
        set(&tree, number + 1000);
        let expected = (number - 4..=number).rev();
        assert!(versions(&tree).into_iter().eq(expected), "{number}");
        assert_sound(tree.store());
    }
}
