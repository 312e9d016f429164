//! Interrupted copies.

use std::sync::Arc;

use espalier_drivers::under_policy;
use espalier_keyspace::{Batch, ErrorKind, KeyRange};
use espalier_store::{Error, ExistingRows, Phase, Store, SystemClock, copy};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_testkit::seed;
use rand::Rng;

use crate::rows::{all, copied, fill, memory, random_rows};

fn fault(site: Site, after: u64, lasting: Lasting, kind: ErrorKind) -> Fault {
    Fault {
        sites: vec![site],
        after,
        lasting,
        kind,
    }
}

#[test]
fn an_interrupted_copy_resumes() {
    seed::run("the copy test", |random| {
        let (from, inner) = (memory(), memory());
        fill(&*from, &random_rows(random, 35_000));
        let to = Faulty::new(Arc::clone(&inner));
        to.arm(fault(Site::Commit, 3, Lasting::ForEver, ErrorKind::Full));
        let error = copied(&*from, &to).expect_err("no room");
        assert!(matches!(error, Error::Engine(error) if error.kind() == ErrorKind::Full));
        let there = all(&*inner).len();
        assert!(there > 10_000 && there < 35_000, "{there} rows");
        let opened = Store::open(Arc::clone(&inner), Arc::new(SystemClock));
        let error = opened.err().expect("not complete");
        assert!(
            matches!(&error, Error::Unfinished { from } if from == "the source"),
            "{error}"
        );
        to.disarm();
        let done = copied(&*from, &to).expect("the rest");
        assert!(done.is_resumed && done.changed < 30_000, "{done:?}");
        assert!(all(&*from) == all(&*inner));
        assert_eq!(done.digest.rows as usize, all(&*from).len());
    });
}

/// Independently of interruptions and of concurrent writes to the source, in the end the target has the
/// content of the source at the start of the last run.
#[test]
fn a_copy_of_a_changing_source() {
    seed::run("the copy test", |random| {
        let (from, inner) = (memory(), memory());
        fill(&*from, &random_rows(random, 30_000));
        let to = Faulty::new(Arc::clone(&inner));
        let mut is_done = false;
        for _ in 0..12 {
            let after = random.random_range(0..5);
            let (site, kind) = if random.random() {
                (Site::Commit, ErrorKind::Unavailable)
            } else {
                (Site::AfterCommit, ErrorKind::OutcomeUnknown)
            };
            to.arm(fault(site, after, Lasting::ForEver, kind));
            is_done = copied(&*from, &to).is_ok();
            if is_done {
                break;
            }
            if random.random() {
                let mut batch = Batch::new();
                let start: [u8; 2] = [random.random_range(0..0x30), random.random()];
                let end = [start[0], start[1].saturating_add(20)];
                batch.delete_range(KeyRange::new(start, end));
                from.commit(batch).expect("a range delete");
                fill(&*from, &random_rows(random, 300));
            }
        }
        to.disarm();
        if !is_done {
            copied(&*from, &to).expect("the rest");
        }
        assert!(all(&*from) == all(&*inner));
    });
}

/// The response to the last commit is lost: the copy is complete nevertheless.
#[test]
fn a_copy_without_a_response_to_the_last_commit() {
    seed::run("the copy test", |random| {
        let (from, to) = (memory(), Faulty::new(memory()));
        fill(&*from, &random_rows(random, 100));
        // The marker, the deletion of nothing, the rows, the end.
        for after in 0..6 {
            to.arm(fault(
                Site::AfterCommit,
                after,
                Lasting::Once,
                ErrorKind::OutcomeUnknown,
            ));
            if copied(&*from, &to).is_ok() {
                break;
            }
        }
        to.disarm();
        assert!(all(&*from) == all(&to));
    });
}

/// A copy continues after a snapshot of the source became too old.
#[test]
fn a_source_whose_snapshots_expire() {
    seed::run("the copy test", |random| {
        let (inner, to) = (memory(), memory());
        fill(&*inner, &random_rows(random, 20_000));
        let from = Faulty::new(Arc::clone(&inner));
        let after = random.random_range(100..20_000);
        from.arm(fault(
            Site::Step,
            after,
            Lasting::Once,
            ErrorKind::SnapshotTooOld,
        ));
        let done = copied(&from, &*to).expect("a copy");
        assert!(!done.is_resumed);
        assert!(all(&*inner) == all(&*to));
    });
}

/// Writes to the source during the copy: the content at the start is copied.
#[test]
fn a_copy_shows_one_state() {
    seed::run("the copy test", |random| {
        let (from, to) = (memory(), memory());
        fill(&*from, &random_rows(random, 20_000));
        let before = all(&*from);
        let more = random_rows(random, 100);
        let mut is_first = true;
        let done = copy(
            &*from,
            "the source",
            &*to,
            ExistingRows::Reject,
            &mut |_, _| {
                if std::mem::take(&mut is_first) {
                    fill(&*from, &more);
                }
            },
        );
        done.expect("a copy");
        assert!(!is_first && all(&*to) == before);
    });
}

#[test]
fn writes_of_others_to_the_target_are_detected() {
    seed::run("the copy test", |random| {
        let from = memory();
        fill(&*from, &random_rows(random, 25_000));
        let to = memory();
        let put = |key: &[u8], value: Option<&[u8]>| {
            let mut batch = Batch::new();
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
            to.commit(batch).expect("a commit");
        };
        let run = |write: &dyn Fn()| {
            let mut is_first = true;
            let existing = ExistingRows::Delete;
            copy(&*from, "the source", &*to, existing, &mut |phase, rows| {
                let is_late = phase == Phase::Copying && rows > 15_000;
                if is_late && std::mem::take(&mut is_first) {
                    write();
                }
            })
        };
        let error = run(&|| put(b"\x01transfer", None)).expect_err("the marker is gone");
        assert!(matches!(error, Error::Interfered), "{error}");
        let error = run(&|| put(b"\x00stray", Some(b"row"))).expect_err("another row");
        assert!(matches!(error, Error::Differs { .. }), "{error}");
        let opened = Store::open(Arc::clone(&to), Arc::new(SystemClock));
        assert!(matches!(opened.err(), Some(Error::Unfinished { .. })));
        let done = run(&|| {}).expect("a copy that is left alone");
        assert_eq!(done.changed, 1);
        assert!(all(&*from) == all(&*to));
    });
}

/// A copy through each memory policy has the same result.
#[test]
fn copies_under_memory_policies() {
    seed::run("the copy test", |random| {
        let from = memory();
        fill(&*from, &random_rows(random, 12_000));
        for policy in ["cached", "recent", "indexed"] {
            let options = format!("policy={policy}");
            let source = under_policy(Arc::clone(&from), &options).expect("a policy");
            let inner = memory();
            let target = under_policy(Arc::clone(&inner), &options).expect("a policy");
            copied(&*source, &*target).expect("a copy");
            assert!(all(&*from) == all(&*inner), "{policy}");
        }
    });
}
