//! The cost of deliveries. The bench has exact figures (`espalier bench field --cases notifications`).

use std::time::{Duration, Instant};

use espalier_service::AccessControl;
use espalier_service::notifications::{Delivery, SubscriptionOptions};

use crate::fixture::{Fixture, user};

const SUBSCRIBERS: usize = 1000;
const EVENTS: u64 = 200;

/// Deliveries per second that a busy machine with a build without optimisation reaches.
const RATE_MIN: f64 = 5_000.0;

/// Sends events one by one, each taken by every subscriber; returns the deliveries per second.
fn rate(users: u64) -> f64 {
    let fixture = Fixture::with(AccessControl::Rules);
    let mut subscriptions: Vec<_> = (0..SUBSCRIBERS as u64)
        .map(|number| {
            let caller = user(&format!("user-{}", number % users));
            let running = fixture.running_of(caller);
            running.subscribe(SubscriptionOptions::default()).unwrap()
        })
        .collect();
    let begun = Instant::now();
    for number in 0..EVENTS {
        fixture.alarm(number);
        for subscription in &mut subscriptions {
            let delivery = subscription.next(Duration::from_secs(20)).unwrap();
            assert!(matches!(delivery, Some(Delivery::Event(_))));
        }
    }
    let deliveries = SUBSCRIBERS as f64 * EVENTS as f64;
    deliveries / begun.elapsed().as_secs_f64()
}

#[test]
fn many_subscribers_take_each_event() {
    for users in [1, 100, SUBSCRIBERS as u64] {
        let rate = rate(users);
        println!("{SUBSCRIBERS} subscribers of {users} users: {rate:.0} deliveries per second");
        assert!(rate > RATE_MIN, "{rate:.0}");
    }
}
