//! The history of a killed store, compared with that of one that was not killed.

use espalier_store::{CommitInfo, Selection, Tree};
use espalier_yang::InstancePath;
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::{read, show};

/// Versions that are read each time: the newest, and some older ones.
const NEWEST: usize = 3;
const OLDER: usize = 2;

/// The number of commits that are read each time.
const COMMITS: usize = 40;

fn commits(tree: &Tree) -> Vec<CommitInfo> {
    tree.history(None, COMMITS).expect("the history")
}

fn text_at(tree: &Tree, version: u64) -> String {
    let view = tree.at(version).expect("a version");
    let found = read(&view, &InstancePath::root(), &Selection::default());
    show(tree.schema(), &found.expect("the datastore"))
}

/// Checks that both have the same versions with the same content.
pub fn assert_same_history(tree: &Tree, naive: &Tree, random: &mut StdRng) {
    let versions = |tree: &Tree| -> Vec<u64> {
        let commits = commits(tree);
        commits.iter().map(|commit| commit.version).collect()
    };
    let found = versions(tree);
    assert_eq!(found, versions(naive));
    let mut looked_at: Vec<u64> = found.iter().copied().take(NEWEST).collect();
    if !found.is_empty() {
        let older = (0..OLDER).map(|_| found[random.random_range(0..found.len())]);
        looked_at.extend(older);
    }
    for version in looked_at {
        assert_eq!(text_at(tree, version), text_at(naive, version), "{version}");
    }
    if let (Some(&newest), Some(&oldest)) = (found.first(), found.last()) {
        let differences = |tree: &Tree| {
            let diff = tree.diff(oldest, newest).expect("the difference");
            diff.changes().count()
        };
        assert_eq!(differences(tree), differences(naive));
    }
}
