//! Rows on the operational datastore.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_store::{
    Diff, Edit, Provider, Selection, Subscriber, Subscription, SubscriptionGuard,
};
use espalier_yang::DataError;
use espalier_yang::data::TreeBuilder;

use super::fixture::{
    Fixture, ROWS, RowSpec, RunningContent, TABLES, commit, expect_entries, text_of_row,
};
use super::writes::{BY_PATHS, set_items};
use crate::dataset::expect;
use crate::harness::Repetitions;
use espalier_terminal::Result;

/// The number of subscribers to every change.
const SUBSCRIBERS: u64 = 12;

/// The number of times that all items are created and removed.
const ITERATIONS: u64 = 10;

/// Row 5: the whole container of the operational datastore, as a tree. A provider generates its N entries on each
/// read. Running is empty.
pub fn get_oper_tree(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (size, nodes, plan) = (
        fixture.size,
        fixture.nodes,
        fixture.all_entries_repetitions(),
    );
    let (tree, path) = (fixture.operational.clone(), fixture.store.path(TABLES)?);
    let provider = Provider::new("bench", move |_| Ok(nodes.rows(size)));
    let registration = tree.provide(path.clone(), provider);
    let spec = RowSpec {
        row: "get oper tree",
        note: "from a provider, which is called each time",
        plan,
    };
    let expected = nodes.rows(size);
    fixture.measure(
        spec,
        |_, _| {
            let (mut builder, view) = (TreeBuilder::new(), tree.view()?);
            view.read(&path, &Selection::default(), &mut builder)?;
            Ok((builder.finish()?, view.take_warnings()))
        },
        |_, (tree, warnings)| {
            expect(warnings.is_empty() && tree == expected, || {
                format!("the provider's tree differs: {warnings:?}")
            })
        },
    )?;
    drop(registration);
    Ok(())
}

/// Row 9: sets N leaves by their paths in the operational datastore, in one commit.
pub fn create_all_items_oper(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (size, plan, tree) = (
        fixture.size,
        fixture.all_entries_repetitions(),
        fixture.operational.clone(),
    );
    let spec = RowSpec {
        row: "create all items oper",
        note: BY_PATHS,
        plan,
    };
    fixture.measure(
        spec,
        |store, _| commit(&tree, &set_items(store, size, text_of_row)?),
        |store, ()| {
            let rows = store.path(ROWS)?;
            expect_entries(&tree, &rows, size)?;
            commit(&tree, &[Edit::delete(rows)])
        },
    )?;
    commit(&tree, &[Edit::delete(fixture.store.path(TABLES)?)])
}

/// A subscriber that counts the changes it validates and those it is notified of.
#[derive(Default)]
struct Counting {
    validated: AtomicU64,
    notified: AtomicU64,
}

impl Subscriber for Counting {
    fn change(&self, diff: &Diff) -> std::result::Result<(), DataError> {
        self.validated
            .fetch_add(diff.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn done(&self, diff: &Arc<Diff>) {
        self.notified
            .fetch_add(diff.len() as u64, Ordering::Relaxed);
    }
}

/// Row 10: creates and removes all items ten times, with twelve subscribers that validate each commit and are
/// notified of it.
pub fn many_oper_change_subs(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (size, tree) = (fixture.size, fixture.operational.clone());
    let subscribers: Vec<Arc<Counting>> = (0..SUBSCRIBERS).map(|_| Arc::default()).collect();
    let subscribed = subscribers
        .iter()
        .map(|one| {
            tree.subscribe(
                Subscription::default(),
                Arc::clone(one) as Arc<dyn Subscriber>,
            )
        })
        .collect::<espalier_store::Result<Vec<SubscriptionGuard>>>()?;
    // The container stays between the iterations.
    commit(&tree, &[fixture.store.set(&text_of_row(0), "l0")?])?;
    commit(&tree, &[Edit::delete(fixture.store.path(ROWS)?)])?;
    let spec = RowSpec {
        row: "many oper change_subs",
        note: "20 commits with 12 subscribers, which share a diff of each",
        plan: Repetitions::few(3),
    };
    let counts = |subscribers: &[Arc<Counting>]| -> Vec<u64> {
        let both = |one: &Arc<Counting>| {
            [&one.validated, &one.notified].map(|count| count.swap(0, Ordering::Relaxed))
        };
        subscribers.iter().flat_map(both).collect()
    };
    counts(&subscribers);
    fixture.measure(
        spec,
        |store, _| {
            for _ in 0..ITERATIONS {
                commit(&tree, &set_items(store, size, text_of_row)?)?;
                commit(&tree, &[Edit::delete(store.path(ROWS)?)])?;
            }
            Ok(())
        },
        |store, ()| {
            expect_entries(&tree, &store.path(ROWS)?, 0)?;
            // Each entry and its text were created and removed.
            let expected = ITERATIONS * 2 * 2 * size;
            let found = counts(&subscribers);
            expect(found.iter().all(|&count| count == expected), || {
                format!("the subscribers were notified of {found:?} nodes instead of {expected}")
            })
        },
    )?;
    drop(subscribed);
    commit(&tree, &[Edit::delete(fixture.store.path(TABLES)?)])
}

/// Row 14: creates a leaf of the middle entry in the operational datastore, which has N entries.
pub fn create_an_item_oper(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (text, plan, tree) = (
        text_of_row(fixture.middle()),
        fixture.one_entry_repetitions(),
        fixture.operational.clone(),
    );
    let filled = fixture.nodes.rows(fixture.size);
    commit(&tree, &[Edit::merge(fixture.store.path("/")?, filled)])?;
    let path = fixture.store.path(&text)?;
    commit(&tree, &[Edit::delete(path.clone())])?;
    let spec = RowSpec {
        row: "create an item oper",
        note: "",
        plan,
    };
    fixture.measure(
        spec,
        |store, _| commit(&tree, &[store.set(&text, "l0")?]),
        |_, ()| {
            let is_there = tree.view()?.has_content(&path)?;
            expect(is_there, || "the item was not created".to_owned())?;
            commit(&tree, &[Edit::delete(path.clone())])
        },
    )?;
    commit(&tree, &[Edit::delete(fixture.store.path(TABLES)?)])
}
