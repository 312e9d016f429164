//! A receiver that is too slow loses events, is informed of their number, and delays nobody.

use std::time::{Duration, Instant};

use espalier_service::notifications::{Delivery, RECEIVER_EVENTS_MAX};

use crate::fixture::{Fixture, module_stream, next, next_event, number};

#[test]
fn a_slow_receiver_gets_the_number_of_lost_events_and_a_fast_one_gets_all() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe(module_stream());
    let mut fast = fixture.subscribe(module_stream());
    // Both have joined.
    fixture.alarm(0);
    assert_eq!(number(&next_event(&mut slow)), Some(0));
    assert_eq!(number(&next_event(&mut fast)), Some(0));
    let sent = 2 * RECEIVER_EVENTS_MAX as u64 + 500;
    let mut longest = Duration::ZERO;
    for sending in 1..=sent {
        let begun = Instant::now();
        fixture.alarm(sending);
        longest = longest.max(begun.elapsed());
        if sending % 500 == 0 || sending == sent {
            while number_of_next(&mut fast) != sending {}
        }
    }
    let lost = match next(&mut slow) {
        Delivery::Lost(count) => count,
        _ => panic!("no mark"),
    };
    assert_eq!(lost, sent - RECEIVER_EVENTS_MAX as u64);
    for expected in lost + 1..=sent {
        assert_eq!(number(&next_event(&mut slow)), Some(expected));
    }
    println!("the slowest of {sent} notifications took {longest:?}");
    fixture.alarm(sent + 1);
    assert_eq!(number(&next_event(&mut slow)), Some(sent + 1));
}

fn number_of_next(fast: &mut espalier_service::notifications::Subscription) -> u64 {
    number(&next_event(fast)).expect("an alarm")
}

#[test]
fn a_queue_is_bounded_by_the_bytes_of_its_events_too() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe(module_stream());
    fixture.alarm(0);
    next_event(&mut slow);
    let text = "x".repeat(900_000);
    for _ in 0..8 {
        fixture
            .send("", &format!(r#"{{"m:alarm":{{"severity":"{text}"}}}}"#))
            .unwrap();
    }
    let mut watcher = fixture.subscribe(module_stream());
    fixture.alarm(1);
    next_event(&mut watcher);
    let lost = match next(&mut slow) {
        Delivery::Lost(count) => count,
        _ => panic!("no mark"),
    };
    assert!((4..8).contains(&lost), "{lost}");
}
