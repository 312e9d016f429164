//! Confirmed commits, with a manual clock.

use espalier_store::{CommitOptions, ConfirmOptions, Datastore, Retention, Tree};
use espalier_yang::ErrorTag;

use crate::fixture::{first_tag, merge, text};
use crate::manual_clock::{ManualClock, open};

const OLD: &str = r#"{"m:top":"old"}"#;
const NEW: &str = r#"{"m:top":"new"}"#;

fn by(session: &str) -> CommitOptions<'_> {
    CommitOptions {
        session,
        ..CommitOptions::default()
    }
}

fn within(seconds: u32) -> ConfirmOptions<'static> {
    ConfirmOptions {
        timeout: Some(seconds),
        ..ConfirmOptions::default()
    }
}

/// Running with the old value, and a candidate with the new one.
fn begin() -> (Tree, Tree, ManualClock) {
    let clock = ManualClock::default();
    let running = open(espalier_drivers::open("memory:").unwrap(), &clock);
    merge(&running, OLD);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    merge(&candidate, NEW);
    (running, candidate, clock)
}

#[test]
fn an_unconfirmed_commit_is_rolled_back() {
    let (running, candidate, clock) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    assert_eq!(text(&running), NEW);
    clock.advance(9);
    assert_eq!(running.store().expire().unwrap().len(), 0);
    clock.advance(1);
    assert_eq!(running.store().expire().unwrap().len(), 1);
    assert_eq!(text(&running), OLD);
    assert_eq!(running.view().unwrap().version().unwrap(), 3);
    assert_eq!(running.store().expire().unwrap().len(), 0);
    assert!(running.locks().unwrap().pending.is_none());
}

#[test]
fn a_confirmed_commit_stays() {
    let (running, candidate, clock) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    clock.advance(5);
    candidate
        .commit_confirmed(ConfirmOptions::default(), by("s"))
        .unwrap();
    clock.advance(50);
    assert_eq!(running.store().expire().unwrap().len(), 0);
    assert_eq!(text(&running), NEW);
}

#[test]
fn a_further_confirmed_commit_extends_the_timeout_and_all_of_it_is_rolled_back() {
    let (running, candidate, clock) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    clock.advance(8);
    merge(&candidate, r#"{"m:plain":{"x":"1"}}"#);
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    clock.advance(8);
    // A commit without changes extends the time as well.
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    clock.advance(8);
    assert_eq!(running.store().expire().unwrap().len(), 0);
    clock.advance(2);
    assert_eq!(running.store().expire().unwrap().len(), 1);
    assert_eq!(text(&running), OLD);
}

#[test]
fn cancelling_rolls_back_immediately() {
    let (running, candidate, _) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    let refused = candidate.cancel_commit(None, by("other"));
    assert_eq!(first_tag(&refused), Some(ErrorTag::InUse));
    candidate.cancel_commit(None, by("s")).unwrap();
    assert_eq!(text(&running), OLD);
    let again = candidate.cancel_commit(None, by("s"));
    assert_eq!(first_tag(&again), Some(ErrorTag::OperationFailed));
}

#[test]
fn only_the_session_can_confirm_unless_persist_is_given() {
    let (running, candidate, _) = begin();
    let persistent = ConfirmOptions {
        persist: Some("id"),
        ..within(10)
    };
    candidate.commit_confirmed(persistent, by("s")).unwrap();
    let without = candidate.commit_confirmed(ConfirmOptions::default(), by("s"));
    assert_eq!(first_tag(&without), Some(ErrorTag::InUse));
    let wrong = ConfirmOptions {
        persist_id: Some("di"),
        ..ConfirmOptions::default()
    };
    let wrong = candidate.commit_confirmed(wrong, by("s"));
    assert_eq!(first_tag(&wrong), Some(ErrorTag::InvalidValue));
    let edit = crate::fixture::data(running.schema(), r#"{"m:top":"edit"}"#);
    let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), edit);
    assert_eq!(
        first_tag(&running.commit(&[edit], by("s"))),
        Some(ErrorTag::InUse)
    );
    running.store().end_session("s").unwrap();
    assert_eq!(text(&running), NEW);
    let right = ConfirmOptions {
        persist_id: Some("id"),
        ..ConfirmOptions::default()
    };
    candidate.commit_confirmed(right, by("another")).unwrap();
    assert!(running.locks().unwrap().pending.is_none());
    assert_eq!(text(&running), NEW);
}

#[test]
fn other_sessions_cannot_commit_while_pending_and_the_end_of_the_session_rolls_back() {
    let (running, candidate, _) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    merge(&candidate, r#"{"m:plain":{"x":"1"}}"#);
    let other = candidate.commit_candidate(by("other"));
    assert_eq!(first_tag(&other), Some(ErrorTag::InUse));
    running.store().end_session("s").unwrap();
    assert_eq!(text(&running), OLD);
}

#[test]
fn an_edit_of_running_confirms() {
    let (running, candidate, clock) = begin();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    merge(&running, r#"{"m:plain":{"x":"1"}}"#);
    clock.advance(20);
    assert_eq!(running.store().expire().unwrap().len(), 0);
    assert_eq!(text(&running), r#"{"m:top":"new","m:plain":{"x":"1"}}"#);
}

/// §5 row 43
#[test]
fn an_expired_commit_is_rolled_back_on_opening_and_before_the_next_commit() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", directory.path().display());
    let clock = ManualClock::default();
    {
        let running = open(espalier_drivers::open(&url).unwrap(), &clock);
        merge(&running, OLD);
        let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
        merge(&candidate, NEW);
        candidate.commit_confirmed(within(10), by("s")).unwrap();
    }
    clock.advance(11);
    {
        let running = open(espalier_drivers::open(&url).unwrap(), &clock);
        assert_eq!(text(&running), OLD);
        let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
        merge(&candidate, NEW);
        candidate.commit_confirmed(within(10), by("s")).unwrap();
        clock.advance(11);
        merge(&running, r#"{"m:plain":{"x":"1"}}"#);
        assert_eq!(text(&running), r#"{"m:top":"old","m:plain":{"x":"1"}}"#);
    }
}

#[test]
fn the_rollback_version_is_retained_by_any_history_limit() {
    let (running, candidate, clock) = begin();
    running
        .set_retention(Retention {
            versions: 1,
            age: None,
        })
        .unwrap();
    candidate.commit_confirmed(within(10), by("s")).unwrap();
    for number in 0..5 {
        merge(&candidate, &format!(r#"{{"m:plain":{{"x":"{number}"}}}}"#));
        candidate.commit_confirmed(within(10), by("s")).unwrap();
    }
    clock.advance(10);
    running.store().expire().unwrap();
    assert_eq!(text(&running), OLD);
}
