//! Many writers of the same row, each with its own engine handle, like processes: sums are exact, and a named
//! request is executed once.
//!
//! These tests are for a bug: after eight conflicts a commit ran in an engine write, which over Redis, etcd
//! and MongoDB was applied over concurrent commits of others.

mod fixture;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use espalier_stats::{Number, Outcome, PathValues, Range, Request, Stats, SystemClock, Write};
use espalier_testkit::servers::shareable_urls;
use fixture::{PREFIX, path, schemes, time};

const HANDLES: usize = 6;
const ROUNDS: usize = 40;

fn sums_are_exact_over(options: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let at = time("2025-03-05T12:00:31Z");
    let day = Range::new("1d".parse().expect("a day"), at, at);
    for url in shareable_urls(dir.path(), schemes(), options) {
        eprintln!("over {url}");
        let open = || {
            let driver = espalier_drivers::open(&url).expect(&url);
            Stats::open(driver, PREFIX, Arc::new(SystemClock)).expect(&url)
        };
        let handles: Vec<_> = (0..HANDLES).map(|_| open()).collect();
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for stats in &handles {
                let done = &done;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let one = PathValues::one(path("a"), Number::from(1));
                        stats.track("x", at, one).expect("tracked");
                        let write =
                            Write::track("x", at, PathValues::one(path("b"), Number::from(1)));
                        let request = Request::new([write]).with_id(format!("r{round}"));
                        if stats.submit(request).expect("done") == Outcome::Done {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let points = open().values("x", day).expect("read");
        let sum = |name: &str| points[0].values.get(&path(name)).expect("a value");
        assert_eq!(sum("a"), Number::from((HANDLES * ROUNDS) as i64), "{url}");
        assert_eq!(sum("b"), Number::from(ROUNDS as i64), "{url}");
        assert_eq!(done.into_inner(), ROUNDS, "{url}");
    }
}

#[test]
fn sums_of_many_handles_of_one_row_are_exact() {
    sums_are_exact_over("");
}

#[test]
fn sums_of_many_handles_with_all_in_memory_are_exact() {
    sums_are_exact_over("policy=cached");
}
