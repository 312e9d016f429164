//! Random edits of many schemas.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use espalier_store::Tree;
use espalier_testkit::random_schemas::Features;
use espalier_testkit::seed::{self, SEED_VARIABLE};
use espalier_yang::data::DataTree;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::compare::{Agreement, CommitMethod, ErrorMatch, Trial, check_store};
use crate::edit::Change;
use crate::edits::changes;
use crate::fixture::{Fixture, Tries};
use crate::shrink::shrink;

/// The variable that sets the number of edits.
const EDITS_VARIABLE: &str = "ESPALIER_EDITS";

/// The default number of edits in a run. On one or two in a hundred libyang gives no verdict.
const EDITS: u64 = 102_000;

/// The number of edits of one schema. Each schema has its own seed, so that a failure can be repeated by
/// itself.
const EDITS_OF_SCHEMA: u64 = 200;

/// After this many edits, one is compared in depth, and the store is checked.
const STORED_EVERY: u64 = 8;

/// The minimum percentage of rejections that name the node that libyang names first.
const NAMED_PERCENT_MIN: u64 = 95;

/// The ways of applying edits, in turn.
const METHODS: [CommitMethod; 5] = [
    CommitMethod::Commit,
    CommitMethod::Load,
    CommitMethod::Commit,
    CommitMethod::Candidate,
    CommitMethod::Commit,
];

/// How often an edit is regenerated if it does not have the requested validity.
const TRIES_MAX: usize = 4;

/// Counters of outcomes.
#[derive(Debug, Default)]
struct Counts {
    accepted: u64,
    refused: u64,
    impossible: u64,
    same_error: u64,
    same_node: u64,
    undecided: u64,
    disputed: u64,
    deleted_by_when: u64,
    features: Features,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.impossible += other.impossible;
        self.same_error += other.same_error;
        self.same_node += other.same_node;
        self.undecided += other.undecided;
        self.disputed += other.disputed;
        self.deleted_by_when += other.deleted_by_when;
        self.features.add(&other.features);
    }

    fn edits(&self) -> u64 {
        self.accepted + self.refused + self.impossible
    }

    fn count(&mut self, trial: &Trial, agreement: &Agreement) {
        if let Some(verdict) = &trial.verdict {
            self.disputed += u64::from(verdict.is_disputed);
            self.deleted_by_when += u64::from(!verdict.deleted.is_empty());
        }
        match agreement {
            Agreement::Accepted(_) => self.accepted += 1,
            Agreement::Refused(naming) => {
                self.refused += 1;
                self.same_error += u64::from(*naming == ErrorMatch::Same);
                self.same_node += u64::from(*naming == ErrorMatch::SameNode);
            }
            Agreement::Impossible => self.impossible += 1,
        }
    }
}

#[test]
fn random_edits_have_the_same_verdict_as_libyang() {
    let first = seed::printed();
    let edits = seed::number_from_environment(EDITS_VARIABLE).unwrap_or(EDITS);
    let schemas = edits.div_ceil(EDITS_OF_SCHEMA);
    let next = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let total = Mutex::new(Counts::default());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= schemas {
                        return;
                    }
                    let seed = first.wrapping_add(index);
                    match run_schema(seed) {
                        Ok(counts) => total.lock().unwrap().add(&counts),
                        Err(report) => {
                            is_over.store(true, Ordering::Relaxed);
                            panic!(
                                "{report}\nrepeat it with {SEED_VARIABLE}={seed} {EDITS_VARIABLE}=1"
                            );
                        }
                    }
                }
            });
        }
    });
    let total = total.into_inner().unwrap();
    println!(
        "{} edits of {schemas} schemas: {}",
        total.edits(),
        summary(&total)
    );
    if edits >= EDITS {
        let named = total.same_error + total.same_node;
        assert!(
            named * 100 >= total.refused * NAMED_PERCENT_MIN,
            "{}",
            summary(&total)
        );
        assert_eq!(total.features.missing(), Vec::<&str>::new());
    }
}

fn summary(counts: &Counts) -> String {
    let Counts {
        accepted,
        refused,
        impossible,
        same_error,
        same_node,
        undecided,
        disputed,
        deleted_by_when,
        ..
    } = counts;
    format!(
        "{accepted} accepted, {refused} refused ({same_error} with libyang's error, {same_node} more with its node), \
         {impossible} impossible, {deleted_by_when} with deletions for when, {disputed} disputed, {undecided} undecided"
    )
}

/// Runs all edits of one schema; on failure, returns a report.
fn run_schema(seed: u64) -> Result<Counts, String> {
    let mut random = StdRng::seed_from_u64(seed);
    let fixture = Fixture::random(&mut random, &mut Tries::default());
    let mut counts = Counts::default();
    counts
        .features
        .add(&fixture.generated.as_ref().unwrap().features);
    let mut tree = DataTree::default();
    for number in 0..EDITS_OF_SCHEMA {
        let trial = wished(
            &fixture,
            &mut random,
            &tree,
            METHODS[number as usize % METHODS.len()],
        );
        if trial
            .verdict
            .as_ref()
            .is_some_and(|verdict| verdict.is_undecided)
        {
            counts.undecided += 1;
            continue;
        }
        let depth = match number % STORED_EVERY {
            0 => Depth::Stored,
            _ => Depth::Committed,
        };
        let compared = compare(&fixture, &trial, &fixture.tree, depth);
        match compared {
            Ok(agreement) => {
                counts.count(&trial, &agreement);
                if let Agreement::Accepted(after) = agreement {
                    tree = after;
                }
            }
            Err(what) => {
                let failure = shrink(fixture, trial, what);
                let described = failure.trial.describe(&failure.fixture);
                return Err(format!("edit {number}: {}\n{described}", failure.what));
            }
        }
    }
    Ok(counts)
}

/// The depth of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The commit, and the full validation of the resulting tree.
    Committed,
    /// In addition, the full validation of a stored tree that may be invalid, and the check of the store before and
    /// after the commit.
    Stored,
}

/// Compares all verdicts on a trial; on failure, returns the difference.
pub fn compare(
    fixture: &Fixture,
    trial: &Trial,
    tree: &Tree,
    depth: Depth,
) -> Result<Agreement, String> {
    trial.compare_full(fixture)?;
    if depth == Depth::Stored {
        trial.compare_stored(fixture, tree)?;
    }
    let agreement = trial.compare(fixture, tree)?;
    if depth == Depth::Stored {
        check_store(tree)?;
    }
    Ok(agreement)
}

/// A trial that is valid or invalid with equal probability, if possible.
fn wished(fixture: &Fixture, random: &mut StdRng, tree: &DataTree, method: CommitMethod) -> Trial {
    let is_valid = random.random_bool(0.55);
    let mut tries = 0;
    loop {
        let (mut changes, result) = changes(&fixture.schema, random, tree);
        if let (CommitMethod::Load, Some(result)) = (method, result) {
            changes = vec![Change::ReplaceAll(result)];
        }
        let trial = Trial::new(fixture, tree.clone(), changes, method);
        tries += 1;
        if trial.is_valid() == is_valid || tries == TRIES_MAX {
            return trial;
        }
    }
}
