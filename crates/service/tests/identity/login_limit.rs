//! Delays after failed logins.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use espalier_service::identity::{
    DELAY_FIRST, DELAY_MAX, FAILURES_FREE, FAILURES_KEPT, LoginLimit, Peer, TRACKED_MAX,
};
use espalier_store::Timestamp;

use crate::fixture::{NOW, after_seconds};

fn peer(number: u32) -> Peer {
    Peer::Address(Ipv4Addr::from_bits(number).into())
}

fn fail(limit: &LoginLimit, user: &str, peer: Peer, count: u32) {
    (0..count).for_each(|_| limit.record_failure(user, peer, NOW));
}

#[test]
fn delays_double_up_to_a_maximum() {
    let limit = LoginLimit::default();
    fail(&limit, "ann", peer(1), FAILURES_FREE);
    assert_eq!(limit.check("ann", peer(1), NOW), Ok(()));
    let mut delays = Vec::new();
    for _ in 0..8 {
        fail(&limit, "ann", peer(1), 1);
        delays.push(limit.check("ann", peer(1), NOW).unwrap_err().as_secs());
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(DELAY_MAX.as_secs(), 60);
    let half = limit.check("ann", peer(1), after_seconds(30));
    assert_eq!(half, Err(Duration::from_secs(30)));
    assert_eq!(limit.check("ann", peer(1), after_seconds(60)), Ok(()));
}

#[test]
fn failures_are_counted_by_user_and_by_address() {
    let limit = LoginLimit::default();
    for number in 0..=FAILURES_FREE {
        limit.record_failure("ann", peer(number), NOW);
        limit.record_failure(&format!("user {number}"), peer(100), NOW);
    }
    assert_eq!(limit.check("ann", peer(50), NOW), Err(DELAY_FIRST));
    assert_eq!(limit.check("bob", peer(100), NOW), Err(DELAY_FIRST));
    assert_eq!(limit.check("zoe", peer(100), NOW), Err(DELAY_FIRST));
    assert_eq!(limit.check("bob", peer(50), NOW), Ok(()));
    assert_eq!(limit.check("bob", Peer::Local, NOW), Ok(()));
}

#[test]
fn failures_are_forgotten_and_a_clock_that_is_set_back_locks_nobody_out() {
    let limit = LoginLimit::default();
    fail(&limit, "ann", peer(1), 20);
    let kept = FAILURES_KEPT.as_secs();
    fail(&limit, "bob", peer(2), 20);
    assert_eq!(
        limit.check("bob", peer(2), Timestamp(NOW.0 - 3_600_000)),
        Ok(())
    );
    limit.record_failure("ann", peer(1), after_seconds(kept));
    assert_eq!(limit.check("ann", peer(1), after_seconds(kept)), Ok(()));
}

#[test]
fn a_client_that_has_logged_in_is_delayed_by_its_own_failures_only() {
    let limit = LoginLimit::default();
    limit.record_login("ann", peer(1), NOW);
    fail(&limit, "ann", peer(2), 20);
    fail(&limit, "bob", peer(1), 20);
    assert_eq!(limit.check("ann", peer(1), NOW), Ok(()));
    assert!(limit.check("ann", peer(3), NOW).is_err());
    fail(&limit, "ann", peer(1), FAILURES_FREE + 1);
    assert_eq!(limit.check("ann", peer(1), NOW), Err(DELAY_FIRST));
    // A login does not erase failures: else an attacker at the address of a user would have unlimited tries.
    limit.record_login("ann", peer(1), NOW);
    assert_eq!(limit.check("ann", peer(1), NOW), Err(DELAY_FIRST));
    let much_later = after_seconds(25 * 3600);
    fail(&limit, "x", peer(9), 1);
    for _ in 0..=FAILURES_FREE {
        limit.record_failure("ann", peer(2), much_later);
    }
    assert!(limit.check("ann", peer(1), much_later).is_err());
}

#[test]
fn an_ipv6_client_is_its_network() {
    let limit = LoginLimit::default();
    let address =
        |segment, host| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, segment, 0, 0, 0, host));
    for host in 0..=FAILURES_FREE {
        let host = u16::try_from(host).unwrap();
        limit.record_failure(&host.to_string(), Peer::Address(address(1, host)), NOW);
    }
    assert!(
        limit
            .check("zoe", Peer::Address(address(1, 99)), NOW)
            .is_err()
    );
    assert_eq!(
        limit.check("zoe", Peer::Address(address(2, 0)), NOW),
        Ok(())
    );
    fail(&limit, "u", peer(7), 20);
    let mapped = Ipv4Addr::from_bits(7).to_ipv6_mapped();
    assert!(
        limit
            .check("zoe", Peer::Address(mapped.into()), NOW)
            .is_err()
    );
}

#[test]
fn memory_is_bounded_and_the_oldest_are_dropped() {
    let limit = LoginLimit::default();
    fail(&limit, "ann", peer(u32::MAX), 20);
    let long = "x".repeat(1_000);
    for number in 0..u32::try_from(TRACKED_MAX).unwrap() {
        limit.record_failure(&format!("{long}{number}"), peer(number), NOW);
        limit.record_login(&number.to_string(), peer(number), NOW);
        assert!(limit.tracked() <= 2 * TRACKED_MAX);
    }
    assert_eq!(limit.tracked(), 2 * TRACKED_MAX);
    limit.record_login("ann", peer(5), NOW);
    assert_eq!(limit.tracked(), 2 * TRACKED_MAX);
    assert_eq!(limit.check("ann", peer(u32::MAX), NOW), Ok(()));
}
