//! The log keeps what a naive model keeps.

use std::collections::VecDeque;
use std::sync::Arc;

use espalier_store::{Clock, EventSettings, NewEvent, Timestamp, Tree};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::{Fixture, NOON, TestClock, after_ms, next, open, replayed};

/// A log without an engine: the time and content of each record.
struct Model {
    settings: EventSettings,
    records: VecDeque<(u64, Timestamp, Vec<u8>)>,
    last: u64,
    overhead: u64,
}

impl Model {
    fn bytes(&self) -> u64 {
        let records = self.records.iter();
        records
            .map(|(_, _, content)| content.len() as u64 + self.overhead)
            .sum()
    }

    fn append(&mut self, now: Timestamp, content: Vec<u8>) {
        self.last += 1;
        self.records.push_back((self.last, now, content));
        let mut deleted = 0;
        while self.records.len() > 1 && deleted < 4 && self.is_beyond(now) {
            self.records.pop_front();
            deleted += 1;
        }
    }

    fn is_beyond(&self, now: Timestamp) -> bool {
        let (_, oldest, _) = self.records.front().expect("a record");
        let age_ms = now.0 - oldest.0;
        self.records.len() as u64 > self.settings.records_max
            || self.bytes() > self.settings.bytes_max
            || age_ms > self.settings.age_seconds_max * 1000
    }
}

fn random_settings(random: &mut StdRng) -> EventSettings {
    EventSettings {
        records_max: random.random_range(1..30),
        bytes_max: random.random_range(100..3000),
        age_seconds_max: random.random_range(1..60),
        ..EventSettings::default()
    }
}

fn stored(tree: &Tree) -> Vec<(u64, Timestamp, Vec<u8>)> {
    let page = tree.events_from(0).unwrap();
    assert!(page.is_last);
    let records = page.records.into_iter();
    records
        .map(|record| (record.sequence, record.logged, record.content))
        .collect()
}

fn compare(random: &mut StdRng, url: &str) {
    let clock = TestClock::new();
    let tree = open(url, Arc::clone(&clock) as Arc<dyn Clock>);
    let settings = random_settings(random);
    tree.set_event_settings(&settings).unwrap();
    let mut model = Model {
        settings,
        records: VecDeque::new(),
        last: 0,
        // Two times, the lengths of two texts, the name.
        overhead: 6 + 6 + 1 + 1 + 7,
    };
    for _ in 0..150 {
        clock.advance_ms(random.random_range(0..3000));
        if random.random_bool(0.05) {
            model.settings = random_settings(random);
            tree.set_event_settings(&model.settings).unwrap();
        }
        let content = vec![b'x'; random.random_range(0..200)];
        let event = NewEvent {
            time: None,
            name: "m:alarm".to_owned(),
            parent: String::new(),
            content: content.clone(),
        };
        assert_eq!(tree.append_events(&[event]).unwrap(), model.last + 1);
        model.append(clock.now(), content);
        assert_eq!(
            stored(&tree),
            Vec::from(model.records.clone()),
            "{:?}",
            model.settings
        );
        let state = tree.event_log().unwrap();
        assert_eq!(state.records(), model.records.len() as u64);
        assert_eq!(state.bytes, model.bytes());
        assert_eq!(state.oldest, model.records[0].0);
        assert_eq!(state.oldest_logged, model.records[0].1);
    }
}

#[test]
fn the_log_keeps_what_a_naive_model_keeps() {
    seed::run("the_log_keeps_what_a_naive_model_keeps", |random| {
        for engine in [
            "memory:",
            "embedded:{dir}?durability=relaxed",
            "sqlite:{dir}/s?durability=relaxed",
        ] {
            let dir = tempfile::tempdir().unwrap();
            let url = engine.replace("{dir}", dir.path().to_str().unwrap());
            compare(random, &url);
        }
    });
}

#[test]
fn a_replay_that_is_overtaken_by_deletions_reports_the_lost_events() {
    let fixture = Fixture::new();
    for number in 0..3000 {
        fixture.alarm(number);
    }
    let mut subscription =
        fixture.subscribe(espalier_service::notifications::SubscriptionOptions {
            start: Some(NOON),
            ..crate::fixture::module_stream()
        });
    // The first page is read.
    let first = crate::fixture::next_event(&mut subscription);
    assert_eq!(crate::fixture::number(&first), Some(0));
    let patch = serde_json::json!({"records-max": 10});
    fixture.running().change_event_settings(&patch).unwrap();
    for number in 3000..3800 {
        fixture.alarm(number);
    }
    let mut numbers = Vec::new();
    let mut lost = 0;
    loop {
        match next(&mut subscription) {
            espalier_service::notifications::Delivery::Event(event) => {
                numbers.extend(crate::fixture::number(&event));
            }
            espalier_service::notifications::Delivery::Lost(count) => lost += count,
            _ => break,
        }
    }
    assert!(lost > 0);
    assert_eq!(numbers.last(), Some(&3799));
    assert_eq!(numbers.len() as u64 + lost + 1, 3800);
    assert!(numbers.is_sorted());
}

/// §5 row 39
#[test]
fn a_replay_begins_with_what_is_left() {
    let fixture = Fixture::new();
    let patch = serde_json::json!({"records-max": 10});
    fixture.running().change_event_settings(&patch).unwrap();
    for number in 0..50 {
        fixture.clock.set(after_ms(1000 * number));
        fixture.alarm(number);
    }
    let mut subscription =
        fixture.subscribe(espalier_service::notifications::SubscriptionOptions {
            start: Some(NOON),
            ..crate::fixture::module_stream()
        });
    assert_eq!(replayed(&mut subscription), (40..50).collect::<Vec<_>>());
    let streams = fixture.running().streams().unwrap();
    assert_eq!(streams[0].created, NOON);
    assert_eq!(streams[0].aged, Some(after_ms(39_000)));
}

#[test]
fn a_check_finds_missing_and_damaged_records() {
    let fixture = Fixture::new();
    for number in 0..5 {
        fixture.alarm(number);
    }
    let store = fixture.tree.store();
    assert_eq!(store.check(&mut |_| {}).unwrap(), []);
    let snapshot = store.driver().snapshot().unwrap();
    let range = espalier_store::Subspace::Events.range();
    let mut keys = Vec::new();
    let mut cursor = snapshot
        .scan(&range, espalier_keyspace::Direction::Forward)
        .unwrap();
    while let Some((key, _)) = cursor.next().unwrap() {
        keys.push(key.to_vec());
    }
    drop(cursor);
    drop(snapshot);
    // The state is first.
    let mut batch = espalier_keyspace::Batch::new();
    batch.delete(keys[2].clone());
    batch.put(keys[4].clone(), [0xff]);
    store.driver().commit(batch).unwrap();
    let findings = store.check(&mut |_| {}).unwrap();
    let problems: Vec<&str> = findings.iter().map(|finding| &*finding.problem).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(problems[0], "the event log has 3 where 2 follows");
    assert_eq!(problems[1], "a record of the event log is truncated");
}
