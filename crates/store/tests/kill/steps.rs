//! The steps: each one is one commit, determined by a seed, its number and the state, so that it can be
//! repeated elsewhere.

use espalier_store::{CommitOptions, ConfirmOptions, Datastore, Edit, Error, Tree};
use espalier_yang::InstancePath;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::fixture::{data, path, text};

pub const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container limits { leaf max { type uint8; default 200; } }
  list port { key name; unique slot; max-elements 30;
    must "count(../port) <= 25"; must "not(slot > /limits/max)";
    leaf name { type string; } leaf slot { type uint8; } leaf mode { type string; }
    leaf vlan { when "../mode = 'access'"; type uint16; }
    leaf-list peer { type leafref { path "/port/name"; } ordered-by user; } }
  list group { key id; ordered-by user; leaf id { type uint8; }
    leaf-list member { type leafref { path "/port/name"; } min-elements 1; } } }"#;

/// The timeout of confirmed commits in seconds: longer than any run.
pub const TIMEOUT: u32 = 1_000_000;

/// The state after some steps.
#[derive(Debug, PartialEq)]
pub struct State {
    running: String,
    candidate: String,
    version: u64,
    pub is_pending: bool,
}

pub fn state(tree: &Tree) -> State {
    let candidate = tree
        .sibling_datastore(Datastore::Candidate, "")
        .expect("a candidate");
    State {
        running: text(tree),
        candidate: text(&candidate),
        version: tree.view().expect("a view").version().expect("a version"),
        is_pending: tree.locks().expect("the locks").pending.is_some(),
    }
}

/// Executes a step. Rejections are deterministic.
pub fn step(tree: &Tree, seed: u64, number: u64) {
    let mut random = StdRng::seed_from_u64(seed ^ (number << 20));
    let candidate = tree
        .sibling_datastore(Datastore::Candidate, "")
        .expect("a candidate");
    let options = CommitOptions::default();
    let timeout = random.random_bool(0.75).then_some(TIMEOUT);
    let confirmed = ConfirmOptions {
        timeout,
        ..ConfirmOptions::default()
    };
    let result = match random.random_range(0..20) {
        0..=4 => candidate.commit(&[edit(tree, &mut random)], options),
        5..=9 => {
            let commit = candidate.commit_confirmed(confirmed, options);
            if commit.is_err() {
                // A candidate that is rejected once, for a conflict with running, always is.
                candidate.discard(options).expect("it is emptied");
            }
            commit
        }
        10 => tree.cancel_commit(None, options),
        11 => {
            let newest = tree.view().expect("a view").version().expect("a version");
            let back = random.random_range(0..5);
            tree.rollback(newest.saturating_sub(back), options)
        }
        _ => {
            let edits: Vec<Edit> = (0..random.random_range(1..4))
                .map(|_| edit(tree, &mut random))
                .collect();
            tree.commit(&edits, options)
        }
    };
    if let Err(error) = result {
        assert!(
            matches!(error, Error::Data(_) | Error::Pruned { .. }),
            "step {number}: {error}"
        );
    }
}

fn edit(tree: &Tree, random: &mut StdRng) -> Edit {
    let schema = tree.schema();
    let number = random.random_range(0..40);
    let (one, other) = (format!("p{number}"), format!("p{}", (number + 7) % 40));
    let document = match random.random_range(0..10) {
        0 => return Edit::remove(path(schema, &format!("/m:port[name='{one}']"))),
        1 => return Edit::remove(path(schema, &format!("/m:port[name='{one}']/mode"))),
        2 => format!(
            r#"{{"m:limits":{{"max":{}}}}}"#,
            random.random_range(100..=255)
        ),
        3 => format!(
            r#"{{"m:group":[{{"id":{},"member":["{one}","{other}"]}}]}}"#,
            random.random_range(0..9)
        ),
        4 => format!(r#"{{"m:port":[{{"name":"{one}","peer":["{other}"]}}]}}"#),
        5 => format!(r#"{{"m:port":[{{"name":"{one}","mode":"access","vlan":1}}]}}"#),
        6 => format!(r#"{{"m:port":[{{"name":"{one}","mode":"trunk"}}]}}"#),
        _ => format!(
            r#"{{"m:port":[{{"name":"{one}","slot":{}}}]}}"#,
            random.random_range(0..=255)
        ),
    };
    Edit::merge(InstancePath::root(), data(schema, &document))
}
