//! SIGKILL while notifications are sent, and receivers in another process.

use std::sync::Arc;
use std::time::Duration;

use espalier_service::SessionDatastore;
use espalier_service::notifications::{
    Delivery, EventSource, Notification, Stream, SubscriptionOptions,
};
use espalier_store::SystemClock;
use espalier_testkit::process::{Part, argument, say};

use crate::fixture::{eventually, module_stream, next, open};

fn running(url: &str) -> SessionDatastore {
    let tree = open(url, Arc::new(SystemClock));
    SessionDatastore::of_program(tree).expect("a datastore")
}

/// Sends until it is killed: `URL`.
#[test]
fn part_that_sends() {
    let Some(url) = argument() else { return };
    let running = running(&url);
    let schema = running.schema().clone();
    for number in 0_u32.. {
        let document = format!(r#"{{"m:alarm":{{"number":{number}}}}}"#);
        let notification = Notification::parse_json(&schema, "", document.as_bytes(), None);
        let sequence = running.notify(notification.expect("parsed")).expect("sent");
        say(&sequence.to_string());
        // The receivers of the tests are not too slow.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The sequence numbers of all events of a store, whose log is complete.
fn logged(url: &str) -> Vec<u64> {
    let tree = open(url, Arc::new(SystemClock));
    let state = tree.event_log().expect("a state");
    let mut sequences = Vec::new();
    let mut next = 1;
    loop {
        let page = tree.events_from(next).expect("a page");
        sequences.extend(page.records.iter().map(|record| record.sequence));
        next = page.next;
        if page.is_last {
            break;
        }
    }
    assert_eq!(state.last, sequences.len() as u64);
    assert!(sequences.iter().copied().eq(1..=state.last));
    sequences
}

fn kill_while_sending(engine: &str, processes: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = engine.replace("{dir}", dir.path().to_str().expect("a plain path"));
    drop(open(&url, Arc::new(SystemClock)));
    let mut acknowledged: Vec<u64> = Vec::new();
    let number = |line: String| line.parse::<u64>().expect("a number");
    for round in 0..3 {
        let mut parts: Vec<_> = (0..processes)
            .map(|_| Part::start("kill::part_that_sends", &url))
            .collect();
        for part in &mut parts {
            for _ in 0..20 + 15 * round {
                acknowledged.push(number(part.line().expect("it lives")));
            }
        }
        for part in &mut parts {
            part.kill();
            acknowledged.extend(std::iter::from_fn(|| part.line()).map(number));
        }
        drop(parts);
        let logged = logged(&url);
        acknowledged.sort_unstable();
        assert!(
            acknowledged.windows(2).all(|pair| pair[0] < pair[1]),
            "{engine}: a number twice"
        );
        for sequence in &acknowledged {
            assert!(
                logged.binary_search(sequence).is_ok(),
                "{engine}: {sequence} is lost"
            );
        }
        assert!(logged.len() <= acknowledged.len() + (round + 1) * processes);
    }
}

#[test]
fn acknowledged_notifications_survive_a_kill_on_lmdb() {
    kill_while_sending("embedded:{dir}/events?durability=relaxed", 2);
    kill_while_sending("embedded:{dir}/events2", 1);
}

#[test]
fn acknowledged_notifications_survive_a_kill_on_sqlite() {
    kill_while_sending("sqlite:{dir}/events?durability=relaxed", 2);
}

#[test]
fn acknowledged_notifications_survive_a_kill_in_files() {
    kill_while_sending("file:{dir}/events?durability=relaxed", 1);
}

#[test]
fn a_receiver_gets_the_notifications_of_other_processes_once_and_in_order() {
    for engine in [
        "embedded:{dir}/events",
        "sqlite:{dir}/events?durability=relaxed",
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let url = engine.replace("{dir}", dir.path().to_str().expect("a plain path"));
        let running = running(&url);
        let mut subscription = running.subscribe(module_stream()).expect("a subscription");
        let mut parts = [(); 2].map(|()| Part::start("kill::part_that_sends", &url));
        let mut delivered = Vec::new();
        let mut take = |delivered: &mut Vec<EventSource>, timeout| match subscription
            .next(timeout)
            .expect("no error")
        {
            Some(Delivery::Event(event)) => delivered.push(event.source()),
            Some(Delivery::Lost(count)) => panic!("{engine}: {count} events are lost"),
            Some(_) => panic!("{engine}: it ended"),
            None => {}
        };
        for part in &mut parts {
            for _ in 0..100 {
                part.line().expect("it lives");
                take(&mut delivered, Duration::from_millis(1));
            }
        }
        parts.iter_mut().for_each(Part::kill);
        let last = *logged(&url).last().expect("events");
        eventually("all events arrive", || {
            take(&mut delivered, Duration::from_millis(50));
            last == delivered.len() as u64
        });
        assert!(
            delivered.into_iter().eq((1..=last).map(EventSource::Log)),
            "{engine}"
        );
    }
}

/// Commits until it is killed: `URL`.
#[test]
fn part_that_commits() {
    let Some(url) = argument() else { return };
    let running = running(&url);
    for number in 0_u32.. {
        let document = format!(r#"{{"m:secret":{{"key":"{number}"}}}}"#);
        let document = espalier_testkit::documents::json_document(running.schema(), &document);
        let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), document);
        let note = espalier_service::ChangeNote::default();
        running.commit(&[edit], note, None).expect("committed");
        say(&number.to_string());
    }
}

#[test]
fn a_receiver_gets_the_commits_of_another_process() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}/events", dir.path().display());
    let running = running(&url);
    let options = SubscriptionOptions {
        stream: Stream::Commits,
        ..SubscriptionOptions::default()
    };
    let mut subscription = running.subscribe(options).expect("a subscription");
    let mut part = Part::start("kill::part_that_commits", &url);
    for _ in 0..50 {
        part.line().expect("it lives");
    }
    part.kill();
    for expected in 1..=50 {
        match next(&mut subscription) {
            Delivery::Event(event) => assert_eq!(event.source(), EventSource::Commit(expected)),
            _ => panic!("no commit {expected}"),
        }
    }
}
