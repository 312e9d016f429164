//! Measurements, run by hand: `cargo test -p espalier-service --test audit speed -- --ignored --nocapture`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use espalier_keyspace::Batch;
use espalier_service::audit::{AuditEntry, AuditMode, AuditSettings};

use crate::fixture::{Fixture, append, edit};

/// Rounds of each measurement. The kinds of calls alternate, because the load of the machine changes.
const ROUNDS: usize = 9;

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

/// Calls of `act` for each second, on some threads, until `end` has returned.
fn rate(threads: usize, calls: usize, act: &(dyn Fn() + Sync), end: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || (0..calls).for_each(|_| act()));
        }
    });
    end();
    (threads * calls) as f64 / begun.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn measure(engine: &str, threads: usize, calls: usize) {
    let fixture = Fixture::new(engine);
    let log = fixture.log();
    let set_mode = |mode| {
        let settings = AuditSettings {
            mode,
            ..AuditSettings::default()
        };
        log.set_settings(settings).expect("stored");
    };
    let number = AtomicU64::new(0);
    let plain = || {
        let mut batch = Batch::new();
        // A key and a value of the size of a record's.
        let number = number.fetch_add(1, Ordering::Relaxed);
        batch.put(format!("\u{7f}{number:025}"), vec![7; 230]);
        fixture.driver.commit(batch).expect("committed");
    };
    let audited = || {
        append(&log, entry());
    };
    let mut rates: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        set_mode(AuditMode::Strict);
        rates[0].push(rate(threads, calls, &plain, || ()));
        rates[1].push(rate(threads, calls, &audited, || ()));
        set_mode(AuditMode::Relaxed);
        rates[2].push(rate(threads, calls, &audited, || ()));
        log.flush().expect("flushed");
        let flush = || log.flush().expect("flushed");
        rates[3].push(rate(threads, calls, &audited, flush));
        let both = || {
            plain();
            audited();
        };
        rates[4].push(rate(threads, calls, &both, || ()));
        log.flush().expect("flushed");
    }
    let ratios = |other: usize| {
        let pairs = rates[0].iter().zip(&rates[other]);
        median(pairs.map(|(plain, other)| plain / other).collect())
    };
    let (strict_ratio, both_ratio) = (ratios(1), ratios(4));
    let [plain, strict, relaxed, stored, both] = rates.map(median);
    eprintln!(
        "{engine}, {threads} threads, medians of {ROUNDS}: plain commits {plain:.0}/s; strict \
         {strict:.0}/s, {strict_ratio:.2} times the time of a plain commit; relaxed appends \
         {relaxed:.0}/s, stored {stored:.0}/s; commit and relaxed append {both:.0}/s, {both_ratio:.2} \
         times the time of a plain commit"
    );
}

#[test]
#[ignore = "a measurement"]
fn appends_and_plain_commits() {
    for threads in [1, 8] {
        measure("memory:", threads, 4000);
        measure("embedded:{dir}/a", threads, 200);
        measure("embedded:{dir}/a?durability=relaxed", threads, 4000);
    }
}
