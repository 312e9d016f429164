//! Measurements, run by hand: `cargo test --release -p espalier-service --test audit speed -- --ignored --nocapture`.

use std::thread;
use std::time::Instant;

use espalier_keyspace::Batch;
use espalier_service::audit::{AuditEntry, AuditMode};

use crate::fixture::{Fixture, append, edit};

fn entry() -> AuditEntry {
    AuditEntry {
        session: Some("17".to_owned()),
        transport: Some("restconf".to_owned()),
        peer: Some("192.0.2.1:50000".to_owned()),
        paths: vec!["/ietf-interfaces:interfaces/interface[name='eth0']/mtu".to_owned()],
        version: Some(1234),
        ..edit("ada", "")
    }
}

/// Calls of `act` for each second, on some threads.
fn rate(threads: usize, calls: usize, act: &(dyn Fn(usize) + Sync)) -> f64 {
    let begun = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || (0..calls).for_each(|call| act(thread * calls + call)));
        }
    });
    (threads * calls) as f64 / begun.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn appends_and_plain_commits() {
    for engine in [
        "memory:",
        "embedded:{dir}/a",
        "embedded:{dir}/a?durability=relaxed",
    ] {
        for threads in [1, 8] {
            let fixture = Fixture::new(engine);
            let plain = rate(threads, 1000, &|number| {
                let mut batch = Batch::new();
                batch.put(format!("\u{7f}{number}"), vec![7; 300]);
                fixture.driver.commit(batch).expect("committed");
            });
            let strict = fixture.log_in_mode(AuditMode::Strict);
            let strict_rate = rate(threads, 1000, &|_| {
                append(&strict, entry());
            });
            drop(strict);
            let relaxed = fixture.log_in_mode(AuditMode::Relaxed);
            let begun = Instant::now();
            let relaxed_rate = rate(threads, 5000, &|_| {
                append(&relaxed, entry());
            });
            relaxed.close();
            let stored = (threads * 5000) as f64 / begun.elapsed().as_secs_f64();
            eprintln!(
                "{engine}, {threads} threads: plain commits {plain:.0}/s, strict {strict_rate:.0}/s \
                 (x{:.2}), relaxed {relaxed_rate:.0}/s, stored {stored:.0}/s",
                plain / strict_rate
            );
        }
    }
}
