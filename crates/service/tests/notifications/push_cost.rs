//! What a commit costs with many on-change subscriptions to other entries (decision 0083).

use std::time::{Duration, Instant};

use espalier_service::AccessControl;
use espalier_service::access::Caller;
use espalier_service::notifications::Subscription;
use serde_json::{Value as Json, json};

use crate::established::{establish, open, session_of};
use crate::fixture::{Fixture, next_event};
use crate::push_fixture::{on_change, push_fixture};

/// The number of entries.
const ENTRIES: usize = 10_000;

/// The number of commits that are measured.
const COMMITS: usize = 2_000;

fn put(fixture: &Fixture, speed: usize) {
    let entry = json!([{"name": "p0", "speed": speed % 200}]);
    fixture.put_directly(&json!({ "m:port": entry }).to_string());
}

/// The mean time of a commit of one entry, without and with the delivery to its subscriber.
fn measure(fixture: &Fixture, subscription: &mut Subscription) -> [Duration; 2] {
    let (mut committing, begun) = (Duration::ZERO, Instant::now());
    for speed in 1..=COMMITS {
        let before = Instant::now();
        put(fixture, speed);
        committing += before.elapsed();
        assert_eq!(next_event(subscription).name(), "push-change-update");
    }
    [committing, begun.elapsed()].map(|time| time / COMMITS as u32)
}

/// Subscriptions to one entry each, all of which have received their first update.
fn subscribe(fixture: &Fixture, entries: std::ops::Range<usize>) -> Vec<Subscription> {
    let mut all = Vec::new();
    let mut of = session_of(fixture, Caller::exempt());
    for entry in entries {
        // A session has a limited number.
        if entry % 100 == 0 {
            of = session_of(fixture, Caller::exempt());
        }
        let filter = format!("/m:port[m:name='p{entry}']");
        let input = on_change(&json!({ "datastore-xpath-filter": filter }));
        let mut subscription = open(&of, establish(&of, &input));
        assert_eq!(next_event(&mut subscription).name(), "push-update");
        all.push(subscription);
    }
    all
}

#[test]
#[ignore = "measures"]
fn subscriptions_to_other_entries_cost_a_commit_nothing() {
    let fixture = push_fixture(AccessControl::Off);
    let entries: Vec<Json> = (0..ENTRIES)
        .map(|number| json!({"name": format!("p{number}"), "speed": 250}))
        .collect();
    fixture.put_directly(&json!({ "m:port": entries }).to_string());
    let mut own = subscribe(&fixture, 0..1);
    measure(&fixture, &mut own[0]);
    for run in 0..3 {
        let alone = measure(&fixture, &mut own[0]);
        let others = subscribe(&fixture, 1..1000);
        let among_many = measure(&fixture, &mut own[0]);
        drop(others);
        println!(
            "{run}: commit, and commit with delivery: 1 subscription {alone:?}, 1,000 {among_many:?}"
        );
        let ratio = among_many[1].as_secs_f64() / alone[1].as_secs_f64();
        println!("{run}: {ratio:.2} times");
    }
}
