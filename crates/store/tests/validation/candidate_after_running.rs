//! Candidates that are committed after running changed: the result is valid, or the commit is rejected.

use espalier_store::{CommitOptions, Datastore, Edit, Error};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use rand::rngs::StdRng;

use crate::compare::{Agreement, CommitMethod, Trial, whole};
use crate::edit::Change;
use crate::edits::changes;
use crate::fixture::{Fixture, Tries, commit, read_all, show};
use crate::run::{Depth, compare};

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
            let fixture = Fixture::random(random, &mut Tries::default());
            let mut tree = DataTree::default();
            for _ in 0..CANDIDATES {
                let is_committed;
                (tree, is_committed) = one(&fixture, random, tree);
                committed += usize::from(is_committed);
            }
            let found = fixture.tree.store().check(&mut |_| {}).unwrap();
            assert_eq!(found, [], "{}", fixture.text());
        }
        assert!(committed >= COMMITTED_MIN, "only {committed} committed");
    });
}

/// A candidate and a concurrent commit; returns the tree after them, and whether the candidate is in it.
fn one(fixture: &Fixture, random: &mut StdRng, tree: DataTree) -> (DataTree, bool) {
    let candidate = fixture
        .tree
        .sibling_datastore(Datastore::Candidate, "")
        .unwrap();
    let (mine, _) = changes(&fixture.schema, random, &tree);
    let edits: Vec<Edit> = mine.iter().map(Change::to_edit).collect();
    let edited = commit(&candidate, &edits).is_ok();
    let (theirs, _) = changes(&fixture.schema, random, &tree);
    let trial = Trial::new(fixture, tree, theirs, CommitMethod::Commit);
    let agreement = compare(fixture, &trial, &fixture.tree, Depth::Committed);
    let running =
        match agreement.unwrap_or_else(|what| panic!("{what}\n{}", trial.describe(fixture))) {
            Agreement::Accepted(after) => after,
            _ => trial.before.clone(),
        };
    if !edited {
        return (running, false);
    }
    let describe = || {
        let base = trial.describe(fixture);
        let mine = Trial::new(fixture, running.clone(), mine.clone(), CommitMethod::Commit);
        let mine = mine.describe(fixture);
        format!("the candidate:\n{mine}and before it, running:\n{base}")
    };
    match candidate.commit_candidate(CommitOptions::default()) {
        Ok(_) => {
            let after = read_all(&fixture.tree);
            let (old, new) = (
                show(&fixture.schema, &running),
                show(&fixture.schema, &after),
            );
            let verdict = fixture.judge.verdict(&old, &new);
            assert_eq!(verdict.problem, None, "{}\n{new}", describe());
            assert!(
                verdict.deleted.is_empty(),
                "{:?}\n{}",
                verdict.deleted,
                describe()
            );
            assert_eq!(whole(&fixture.tree), Ok(None), "{}\n{new}", describe());
            (after, true)
        }
        Err(Error::Data(_)) => {
            let after = read_all(&fixture.tree);
            assert!(
                after.is_equivalent(&running, &fixture.schema),
                "{}",
                describe()
            );
            candidate.discard(CommitOptions::default()).unwrap();
            (running, false)
        }
        Err(error) => panic!("{error}\n{}", describe()),
    }
}
