//! Past events, and the switch from these to the following ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use espalier_service::notifications::{Delivery, EventSource, Subscription, SubscriptionOptions};
use espalier_store::Timestamp;
use espalier_testkit::seed;
use rand::Rng;

use crate::fixture::{
    Fixture, NOON, after_ms, module_stream, next, next_event, number, replayed, send_at,
};

#[test]
fn times_that_are_not_possible_are_rejected() {
    let fixture = Fixture::new();
    let running = fixture.running();
    let rejected = |start: Option<u64>, stop: Option<u64>| {
        fixture.clock.set(after_ms(1000));
        let options = SubscriptionOptions {
            start: start.map(after_ms),
            stop: stop.map(after_ms),
            ..module_stream()
        };
        running.subscribe(options).is_err()
    };
    assert!(rejected(Some(1001), None));
    assert!(rejected(Some(500), Some(499)));
    assert!(rejected(None, Some(999)));
    assert!(!rejected(Some(1000), None));
    assert!(!rejected(Some(500), Some(500)));
    assert!(!rejected(None, Some(1000)));
}

/// Replays are those that a scan of everything that was sent gives, also when the clock is set back and events are old.
#[test]
fn replays_have_the_events_of_their_times() {
    seed::run("replays_have_the_events_of_their_times", |random| {
        for _ in 0..6 {
            let fixture = Fixture::new();
            let running = fixture.running();
            let mut sent: Vec<Timestamp> = Vec::new();
            for number in 0..60_u64 {
                match random.random_range(0..20) {
                    0 => fixture.clock.set(after_ms(random.random_range(0..300_000))),
                    _ => fixture.clock.advance_ms(random.random_range(0..2000)),
                }
                let now = espalier_store::Clock::now(&*fixture.clock);
                let delay = match random.random_range(0..4) {
                    0 => random.random_range(0..5000),
                    _ => 0,
                };
                let time = Timestamp(now.0 - delay);
                let document = format!(r#"{{"m:alarm":{{"number":{number}}}}}"#);
                send_at(&running, "", &document, Some(time)).unwrap();
                sent.push(time);
            }
            fixture.clock.set(after_ms(1_000_000));
            for _ in 0..10 {
                let from = random.random_range(0..200_000);
                let start = after_ms(from);
                let until = random.random_bool(0.5);
                let stop = until.then(|| after_ms(from + random.random_range(0..100_000)));
                let mut subscription = fixture.subscribe(SubscriptionOptions {
                    start: Some(start),
                    stop,
                    ..module_stream()
                });
                let is_in = |time: Timestamp| time >= start && stop.is_none_or(|stop| time <= stop);
                let all = (0..).zip(&sent).filter(|(_, time)| is_in(**time));
                let expected: Vec<u64> = all.map(|(number, _)| number).collect();
                assert_eq!(replayed(&mut subscription), expected);
                if stop.is_some() {
                    assert!(matches!(next(&mut subscription), Delivery::Completed));
                    assert!(subscription.is_ended());
                }
            }
        }
    });
}

#[test]
fn a_subscription_ends_at_its_stop_time_with_all_events_before_it() {
    let fixture = Fixture::new();
    let mut subscription = fixture.subscribe(SubscriptionOptions {
        stop: Some(after_ms(1000)),
        ..module_stream()
    });
    for number in 0..20 {
        fixture.clock.set(after_ms(100 * number));
        fixture.alarm(number);
    }
    for expected in 0..=10 {
        assert_eq!(number(&next_event(&mut subscription)), Some(expected));
    }
    assert!(matches!(next(&mut subscription), Delivery::Completed));
    assert!(subscription.is_ended());
    assert!(subscription.next(Duration::ZERO).unwrap().is_none());
}

/// Takes events until `last`, and checks that they are consecutive.
fn check_consecutive(mut subscription: Subscription, from: Option<u64>, last: u64) {
    let mut expected = from;
    let mut completed = 0_u64;
    loop {
        match next(&mut subscription) {
            Delivery::ReplayComplete => completed += 1,
            Delivery::Event(event) => {
                let EventSource::Log(sequence) = event.source() else {
                    panic!("not of the log");
                };
                let wanted = expected.unwrap_or(sequence);
                assert_eq!(sequence, wanted, "from {from:?}");
                expected = Some(sequence + 1);
                if sequence >= last {
                    break;
                }
            }
            _ => panic!("it ended or lost events"),
        }
    }
    assert!(completed <= u64::from(from.is_some()));
}

/// Subscriptions that begin while others send get every event once.
#[test]
fn nothing_is_lost_or_delivered_twice_at_the_switch() {
    const LAST: u64 = 3000;
    let fixture = Arc::new(Fixture::new());
    fixture.alarm(0);
    let (sent, is_done) = (AtomicU64::new(1), AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while sent.fetch_add(1, Ordering::Relaxed) < LAST {
                    fixture.alarm(1);
                    // Readers are not too slow.
                    std::thread::sleep(Duration::from_micros(500));
                }
            });
        }
        for reader in 0..4_u64 {
            let (fixture, is_done) = (&fixture, &is_done);
            threads.spawn(move || {
                let mut round = 0;
                while !is_done.load(Ordering::Relaxed) || round == 0 {
                    round += 1;
                    let is_replay = (reader + round) % 2 == 0;
                    let subscription = fixture.subscribe(SubscriptionOptions {
                        start: is_replay.then_some(NOON),
                        ..module_stream()
                    });
                    let last = fixture.tree.event_log().unwrap().last;
                    if is_replay || last < LAST {
                        let first = is_replay.then_some(1);
                        check_consecutive(subscription, first, (last + 400).min(LAST));
                    }
                    if last + 400 >= LAST {
                        is_done.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(fixture.tree.event_log().unwrap().last, LAST);
}
