//! Event queues of commits.

use std::sync::Arc;
use std::time::Duration;

use espalier_store::{ChangeKind, Event, Lagged, LoadMode, QUEUE_EVENTS_MAX};

use crate::fixture::{MODEL, load_json, memory_tree, merge, path};

const SOON: Duration = Duration::from_secs(60);

fn version(event: Option<Event>) -> u64 {
    match event {
        Some(Event::Committed(committed)) => committed.version,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commits_are_delivered_in_order_and_shared() {
    let tree = memory_tree(MODEL);
    let one = tree.events(vec![path(tree.schema(), "/top")]).unwrap();
    let all = tree.events(Vec::new()).unwrap();
    merge(&tree, r#"{"m:top":"a"}"#);
    merge(&tree, r#"{"m:plain":{"x":"b"}}"#);
    merge(&tree, r#"{"m:top":"c"}"#);
    let (Some(Event::Committed(mine)), Some(Event::Committed(theirs))) = (one.take(), all.take())
    else {
        panic!("no events")
    };
    assert!(Arc::ptr_eq(&mine, &theirs));
    assert_eq!(
        mine.diff.changes().next().unwrap().kind,
        ChangeKind::Created
    );
    assert_eq!(version(one.take()), 3);
    assert!(one.take().is_none());
    assert_eq!([version(all.take()), version(all.take())], [2, 3]);
    assert!(all.next(Duration::from_millis(10)).is_none());
}

#[test]
fn a_waiting_reader_is_woken() {
    let tree = memory_tree(MODEL);
    let events = tree.events(Vec::new()).unwrap();
    let waiting = std::thread::spawn(move || version(events.next(SOON)));
    merge(&tree, r#"{"m:top":"a"}"#);
    assert_eq!(waiting.join().unwrap(), 1);
}

#[test]
fn a_slow_reader_gets_the_lost_versions_and_finds_them_in_the_history() {
    let tree = memory_tree(MODEL);
    let events = tree.events(Vec::new()).unwrap();
    let lost = 10;
    for number in 0..QUEUE_EVENTS_MAX as u64 + lost {
        merge(&tree, &format!("{{\"m:top\":\"{number}\"}}"));
    }
    let expected = Lagged {
        events: lost,
        first: 1,
        last: lost,
    };
    match events.take() {
        Some(Event::Lagged(lagged)) => assert_eq!(lagged, expected),
        other => panic!("{other:?}"),
    }
    assert_eq!(tree.diff(0, lost).unwrap().len(), 1);
    for number in 0..QUEUE_EVENTS_MAX as u64 {
        assert_eq!(version(events.take()), lost + number + 1);
    }
    assert!(events.take().is_none());
}

#[test]
fn loads_are_delivered() {
    let tree = memory_tree(MODEL);
    let events = tree.events(vec![path(tree.schema(), "/named")]).unwrap();
    load_json(&tree, LoadMode::Merge, r#"{"m:top":"x"}"#).unwrap();
    let document = r#"{"m:named":[{"name":"a","v":"b"}]}"#;
    load_json(&tree, LoadMode::Merge, document).unwrap();
    load_json(&tree, LoadMode::Merge, document).unwrap();
    match events.take() {
        Some(Event::Committed(committed)) => {
            assert_eq!((committed.version, committed.diff.len()), (2, 2));
        }
        other => panic!("{other:?}"),
    }
    assert!(events.take().is_none());
}
