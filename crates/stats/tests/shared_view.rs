//! Two handles of one engine, each with its data in memory: sums are exact, and each handle decides on what
//! the other has written, and shows it after `refresh`.

mod fixture;

use std::sync::Arc;

use espalier_stats::{Number, Outcome, PathValues, Range, Request, Stats, SystemClock, Write};
use espalier_testkit::servers::shareable_urls;
use fixture::{PREFIX, packed, path, schemes, time};

const VIEW: &str = "policy=cached&staleness_ms=30000";

/// Rounds; in each one, a handle reads immediately what the other has just written.
const ROUNDS: i64 = 30;

fn on_all(test: impl Fn([Stats; 2])) {
    let dir = tempfile::tempdir().expect("a directory");
    for url in shareable_urls(dir.path(), schemes(), VIEW) {
        eprintln!("over {url}");
        test([(); 2].map(|()| {
            let driver = espalier_drivers::open(&url).expect(&url);
            Stats::open(driver, PREFIX, Arc::new(SystemClock)).expect(&url)
        }));
    }
}

#[test]
fn one_handle_adds_to_and_shows_the_writes_of_the_other() {
    let at = time("2025-03-05T12:00:31Z");
    let day = Range::new("1d".parse().expect("a day"), at, at);
    on_all(|[one, other]| {
        for round in 1..=ROUNDS {
            one.track("x", at, packed(r#"{"a":1}"#)).expect("tracked");
            other.track("x", at, packed(r#"{"a":1}"#)).expect("tracked");
            let id = format!("r{round}");
            let request = || {
                let write = Write::track("x", at, PathValues::one(path("b"), Number::from(1)));
                Request::new([write]).with_id(id.clone())
            };
            let outcomes = [&other, &one].map(|stats| stats.submit(request()).expect("done"));
            assert_eq!(outcomes, [Outcome::Done, Outcome::Repeated]);
            one.refresh().expect("refreshed");
            let points = one.values("x", day).expect("read");
            let sum = |name: &str| points[0].values.get(&path(name)).expect("a value");
            assert_eq!(sum("a"), Number::from(2 * round));
            assert_eq!(sum("b"), Number::from(round));
        }
    });
}

#[test]
fn settings_are_shared_between_handles() {
    on_all(|[one, other]| {
        for count in 1..=5 {
            let mut settings = one.settings();
            settings
                .granularities
                .insert(format!("{count}0s").parse().expect("a granularity"));
            one.configure(settings.clone()).expect("new settings");
            other.refresh().expect("refreshed");
            assert_eq!(other.settings(), settings);
        }
    });
}
