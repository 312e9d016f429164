//! Candidates that are committed after running changed: the result is valid, or the commit is rejected.

use espalier_store::{CommitOptions, Datastore, Edit, Error};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use rand::rngs::StdRng;

use crate::compare::{Agreement, Trial, Way, whole};
use crate::edit::Change;
use crate::edits::changes;
use crate::run::{Depth, compare};
use crate::setting::{Setting, Tries, commit, read_all, show};

/// The number of schemas in a run.
const SCHEMAS: usize = 40;

/// The number of candidates of each schema.
const CANDIDATES: usize = 40;

/// The minimum number of committed candidates; with fewer, the test tests nothing.
const COMMITTED_MIN: usize = SCHEMAS * CANDIDATES / 8;

#[test]
fn a_candidate_over_a_changed_running_leaves_a_valid_tree() {
    seed::run("moved candidates", |random| {
        let mut committed = 0;
        for _ in 0..SCHEMAS {
            let setting = Setting::random(random, &mut Tries::default());
            let mut tree = DataTree::default();
            for _ in 0..CANDIDATES {
                let is_committed;
                (tree, is_committed) = one(&setting, random, tree);
                committed += usize::from(is_committed);
            }
            let found = setting.tree.store().check(&mut |_| {}).unwrap();
            assert_eq!(found, [], "{}", setting.text());
        }
        assert!(committed >= COMMITTED_MIN, "only {committed} committed");
    });
}

/// A candidate and a concurrent commit; returns the tree after them, and whether the candidate is in it.
fn one(setting: &Setting, random: &mut StdRng, tree: DataTree) -> (DataTree, bool) {
    let candidate = setting.tree.beside(Datastore::Candidate, "").unwrap();
    let (mine, _) = changes(&setting.schema, random, &tree);
    let edits: Vec<Edit> = mine.iter().map(Change::to_edit).collect();
    let edited = commit(&candidate, &edits).is_ok();
    let (theirs, _) = changes(&setting.schema, random, &tree);
    let trial = Trial::new(setting, tree, theirs, Way::Commit);
    let agreement = compare(setting, &trial, &setting.tree, Depth::Committed);
    let running =
        match agreement.unwrap_or_else(|what| panic!("{what}\n{}", trial.describe(setting))) {
            Agreement::Accepted(after) => after,
            _ => trial.before.clone(),
        };
    if !edited {
        return (running, false);
    }
    let describe = || {
        let base = trial.describe(setting);
        let mine = Trial::new(setting, running.clone(), mine.clone(), Way::Commit);
        let mine = mine.describe(setting);
        format!("the candidate:\n{mine}and before it, running:\n{base}")
    };
    match candidate.commit_candidate(CommitOptions::default()) {
        Ok(_) => {
            let after = read_all(&setting.tree);
            let (old, new) = (
                show(&setting.schema, &running),
                show(&setting.schema, &after),
            );
            let verdict = setting.judge.verdict(&old, &new);
            assert_eq!(verdict.problem, None, "{}\n{new}", describe());
            assert!(
                verdict.deleted.is_empty(),
                "{:?}\n{}",
                verdict.deleted,
                describe()
            );
            assert_eq!(whole(&setting.tree), Ok(None), "{}\n{new}", describe());
            (after, true)
        }
        Err(Error::Data(_)) => {
            let after = read_all(&setting.tree);
            assert!(after.same_as(&running, &setting.schema), "{}", describe());
            candidate.discard(CommitOptions::default()).unwrap();
            (running, false)
        }
        Err(error) => panic!("{error}\n{}", describe()),
    }
}
