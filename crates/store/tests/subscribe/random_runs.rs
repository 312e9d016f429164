//! Random commits and random paths: exactly the subscribers whose path a commit changed are notified.

use espalier_store::{Event, Events, NodeChange};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Keys};
use rand::Rng;

use crate::edit::apply;
use crate::fixture::{MODEL, commit, memory_tree, show};
use crate::generate::Generator;

/// The default number of commits in a run.
const COMMITS: u64 = 400;

/// The number of subscriptions at a time.
const SUBSCRIPTIONS: usize = 12;

#[test]
fn a_commit_is_delivered_to_subscribers_of_changed_paths() {
    seed::run("subscriptions to random paths", |random| {
        let tree = memory_tree(MODEL);
        let schema = tree.schema().clone();
        let mut model = DataTree::default();
        let mut held: Vec<(InstancePath, Events)> = Vec::new();
        let commits = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(COMMITS);
        for _ in 0..commits {
            if held.len() == SUBSCRIPTIONS {
                held.remove(random.random_range(0..SUBSCRIPTIONS));
            }
            let mut generator = Generator {
                schema: &schema,
                random,
            };
            let mut path = generator.path(&model);
            for step in &mut path.steps {
                // Entries without keys are subscribed to through their whole list.
                let is_by_position = matches!(step.keys, Keys::Position(_));
                let is_state = is_by_position || !schema.node(step.node).is_config;
                if is_state || generator.random.random_ratio(1, 4) {
                    step.keys = Keys::None;
                }
            }
            held.push((path.clone(), tree.events(vec![path]).unwrap()));
            let change = generator.change(&model);
            let before = model.clone();
            let verdict = apply(&schema, &mut model, std::slice::from_ref(&change));
            let made = commit(&tree, &[change.to_edit()]);
            assert_eq!(made.is_ok(), verdict.is_ok());
            let made = made.ok().filter(|made| made.is_changed);
            let changes: Vec<NodeChange> = match &made {
                Some(made) => {
                    let diff = tree.diff(made.version - 1, made.version).unwrap();
                    diff.changes().collect()
                }
                None => Vec::new(),
            };
            for (path, events) in &held {
                let is_changed = changes.iter().any(|change| is_below(path, change));
                let notified = events.take();
                assert_eq!(
                    notified.is_some(),
                    is_changed,
                    "{} of {changes:#?}\non {}",
                    path.to_instance_identifier(&schema),
                    show(&schema, &before)
                );
                let Some(Event::Committed(notified)) = notified else {
                    continue;
                };
                assert!(notified.diff.changes().eq(changes.iter().cloned()));
                assert_eq!(Some(notified.version), made.map(|made| made.version));
            }
        }
    });
}

fn is_below(path: &InstancePath, change: &NodeChange) -> bool {
    let steps = &change.path.steps;
    path.steps.len() <= steps.len()
        && path.steps.iter().zip(steps).all(|(outer, step)| {
            outer.node == step.node && (outer.keys == Keys::None || outer.keys == step.keys)
        })
}
