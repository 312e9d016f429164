//! Loads with concurrent writers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use espalier_store::{Datastore, Edit, LoadMode};
use espalier_yang::InstancePath;

use crate::fixture::{MODEL, assert_sound, commit, data, load_tree, memory_tree, open_store, text};

/// The number of loads while another store writes.
const LOADS: usize = 50;

/// Another process has its own locks, so its commits may come between the base of a load and its commit. The
/// load once failed in that case, although nothing of the document had been read.
#[test]
fn a_load_is_retried_if_another_process_was_faster() {
    let tree = memory_tree(MODEL);
    let other = open_store(tree.store().driver().clone());
    let other = other.tree("d", "a", Datastore::Running).unwrap();
    let document = data(tree.schema(), r#"{"m:turn":["a","b"]}"#);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                let text = format!(r#"{{"m:top":"{turn}"}}"#);
                let edit = Edit::merge(InstancePath::root(), data(other.schema(), &text));
                let _ = commit(&other, &[edit]);
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let loaded = (0..LOADS).map(|_| load_tree(&tree, LoadMode::Replace, &document));
        let loaded: Vec<_> = loaded.collect();
        is_over.store(true, Ordering::Relaxed);
        for (number, loaded) in loaded.into_iter().enumerate() {
            loaded.unwrap_or_else(|error| panic!("load {number}: {error}"));
        }
    });
    assert!(text(&tree).contains(r#""m:turn":["a","b"]"#));
    assert_sound(tree.store());
}
