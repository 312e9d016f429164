//! Group commit: transactions of several threads that are committed together.

mod fixture;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::Duration;

use espalier_documents::{Collection, Documents, Error, ErrorKind, Policy};
use fixture::{Car, car, cars, on_every_engine};

const THREADS: usize = 16;

/// Long enough for idle threads to reach the point where they wait.
const A_WHILE: Duration = Duration::from_millis(150);

/// Runs every thread's part while one transaction is in progress, so that all wait for it.
fn while_one_is_in_progress(documents: &Documents, part: impl Fn(usize) + Sync) {
    let begun = Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (begun, part) = (&begun, &part);
            scope.spawn(move || {
                begun.wait();
                part(thread);
            });
        }
        let mut is_first = true;
        documents
            .transaction(|_| {
                if std::mem::take(&mut is_first) {
                    begun.wait();
                    std::thread::sleep(A_WHILE);
                }
                Ok(())
            })
            .expect("nothing to refuse");
    });
}

fn names(cars: &Collection<Car>) -> Vec<String> {
    cars.refresh().expect("refreshed");
    assert_eq!(cars.check().expect("checked"), []);
    let index = cars.index("name").expect("an index");
    let found = index.find(espalier_documents::Query::all()).expect("read");
    found.iter().map(|(_, car)| car.name.clone()).collect()
}

#[test]
fn concurrent_inserts_share_a_commit() {
    on_every_engine(|fixture| {
        for policy in [Policy::Uncached, Policy::Cached] {
            let documents = fixture.documents();
            let cars = cars(policy).open(&documents).expect("open");
            let (sequence, count) = (cars.sequence().expect("a number"), cars.count());
            while_one_is_in_progress(&documents, |thread| {
                let name = format!("{policy} {thread}");
                let key = cars.insert(car(&name, "red", &["k"], 0)).expect("a key");
                let found = cars.get(key).expect("read").expect("a car");
                assert_eq!(found.name, name, "each sees its own at once");
            });
            let commits = cars.sequence().expect("a number") - sequence;
            assert!(commits < THREADS as u64 / 2, "{commits} commits");
            assert_eq!(
                cars.count().expect("a count"),
                count.expect("a count") + THREADS as u64
            );
            assert_eq!(cars.check().expect("checked"), []);
        }
    });
}

#[test]
fn a_rejected_transaction_is_undone_alone() {
    on_every_engine(|fixture| {
        for policy in [Policy::Uncached, Policy::Cached, Policy::Ram] {
            let documents = fixture.documents();
            let mut declaration = cars(policy);
            if policy == Policy::Ram {
                // What is in memory only is another collection.
                documents.remove("cars").expect("removed");
                declaration = cars(policy);
            }
            let cars = declaration.open(&documents).expect("open");
            cars.delete_where(|_, _| true).expect("emptied");
            cars.insert(car("there", "red", &[], 0)).expect("a key");
            while_one_is_in_progress(&documents, |thread| {
                let done = documents.transaction(|transaction| {
                    transaction.insert(&cars, car(&format!("{thread:02}"), "red", &["k"], 0))?;
                    transaction.update_by(&cars, "name", "there", |there| there.year += 1)?;
                    if thread % 2 == 1 {
                        return Err(Error::new(ErrorKind::RejectedByTrigger, "odd"));
                    }
                    Ok(())
                });
                assert_eq!(done.is_ok(), thread % 2 == 0, "{done:?}");
            });
            let even = (0..THREADS).step_by(2).map(|thread| format!("{thread:02}"));
            let expected: Vec<_> = even.chain(["there".to_owned()]).collect();
            assert_eq!(names(&cars), expected, "{policy}");
            let there = cars.index("name").expect("an index").get("there");
            let there = there.expect("read").expect("a car");
            assert_eq!(there.year, THREADS as i32 / 2, "{policy}");
        }
    });
}

#[test]
fn a_unique_value_is_stored_by_one_transaction_of_a_group() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let cars = cars(Policy::Cached).open(&documents).expect("open");
        let taken = std::sync::atomic::AtomicUsize::new(0);
        while_one_is_in_progress(&documents, |_| {
            match cars.insert(car("one", "red", &[], 0)) {
                Ok(_) => drop(taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unique, "{error}"),
            }
        });
        assert_eq!(taken.into_inner(), 1);
        assert_eq!(names(&cars), ["one"]);
    });
}

#[test]
fn a_panic_does_not_affect_other_transactions() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let cars = cars(Policy::Cached).open(&documents).expect("open");
        while_one_is_in_progress(&documents, |thread| {
            let done = catch_unwind(AssertUnwindSafe(|| {
                documents.transaction(|transaction| {
                    transaction.insert(&cars, car(&format!("{thread:02}"), "red", &[], 0))?;
                    assert!(thread % 4 != 3, "meant to");
                    Ok(())
                })
            }));
            assert_eq!(done.is_ok(), thread % 4 != 3);
        });
        let expected = (0..THREADS).filter(|thread| thread % 4 != 3);
        let expected: Vec<_> = expected.map(|thread| format!("{thread:02}")).collect();
        assert_eq!(names(&cars), expected);
    });
}
