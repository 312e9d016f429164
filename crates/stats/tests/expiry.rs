//! Removal of expired buckets, in steps.

mod fixture;

use espalier_stats::limits::{BLOCK_BUCKETS, EXPIRY_METRICS, EXPIRY_ROWS, PACKED_VALUES_MAX};
use espalier_stats::{Number, PathValues, Range, Request, Settings, Stats, Timestamp, Write};
use fixture::{Fixture, json, packed, path};

const NOW: i64 = 1_740_000_000;

/// Minutes are retained for ten minutes.
fn minutes_for_ten(fixture: &Fixture) -> Stats {
    fixture.clock.set(NOW);
    fixture.stats_with(|settings| {
        settings.granularities = ["1m", "1d"].map(|text| text.parse().expect(text)).into();
        settings
            .retention
            .insert("1m".parse().expect("minutes"), 600);
        settings.system = espalier_stats::SystemMetric::Off;
    })
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn keys(fixture: &Fixture) -> u64 {
    fixture.driver().usage().expect("usage").keys
}

#[test]
fn a_step_removes_a_limited_number_of_rows_and_the_next_one_continues() {
    let mut fixture = Fixture::new("memory:");
    let stats = minutes_for_ten(&fixture);
    let minutes = 2 * EXPIRY_ROWS as i64 + 10;
    // So many values that each bucket has a row of its own.
    let values = (0..=PACKED_VALUES_MAX).map(|value| (path(&format!("v{value}")), Number::ONE));
    let values: PathValues = values.collect();
    let writes =
        (0..minutes).map(|minute| Write::track("n", second(NOW + 60 * minute), values.clone()));
    stats.submit(Request::new(writes)).expect("tracked");
    let before = keys(&fixture);
    fixture.clock.set(NOW + 60 * minutes + 86_400);
    let mut from = None;
    let mut removed = Vec::new();
    loop {
        let step = stats.expire_step(from.as_ref()).expect("a step");
        removed.push(step.rows);
        match step.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    assert_eq!(removed, [EXPIRY_ROWS, EXPIRY_ROWS, 10]);
    assert_eq!(keys(&fixture), before - minutes as u64);
    assert_eq!(stats.expire(|| {}).expect("nothing more"), 0);
    let mut stats = stats;
    fixture.restart(&mut stats);
    let days = Range::new("1d".parse().expect("days"), second(NOW), second(NOW));
    let day = stats.values("n", days).expect("read").remove(0);
    assert!(!json(&day.values).is_empty(), "days are kept");
}

#[test]
fn a_step_checks_a_limited_number_of_metrics_and_the_next_one_continues() {
    let fixture = Fixture::new("memory:");
    let stats = minutes_for_ten(&fixture);
    let count = 2 * EXPIRY_METRICS + 1;
    let writes = (0..count).map(|number| {
        Write::track(
            format!("n{number}").as_str(),
            second(NOW),
            packed(r#"{"a":1}"#),
        )
    });
    stats.submit(Request::new(writes)).expect("tracked");
    fixture.clock.set(NOW + 86_400);
    let first = stats.expire_step(None).expect("a step");
    assert_eq!(first.rows, EXPIRY_METRICS as u64);
    // The next metric may be deleted by then.
    let next = first.next.expect("more metrics");
    assert!(stats.delete(next.clone()).expect("deleted"));
    let second = stats.expire_step(Some(&next)).expect("a step");
    assert_eq!(second.rows, EXPIRY_METRICS as u64);
    assert_eq!(second.next, None);
}

#[test]
fn a_step_with_nothing_to_remove_commits_nothing() {
    let fixture = Fixture::new("memory:");
    let stats = minutes_for_ten(&fixture);
    stats
        .track("n", second(NOW), packed(r#"{"a":1}"#))
        .expect("tracked");
    let version = || fixture.driver().snapshot().expect("a snapshot").version();
    let before = version();
    assert_eq!(stats.expire(|| {}).expect("nothing"), 0);
    stats
        .configure(Settings {
            retention: Default::default(),
            ..stats.settings()
        })
        .expect("kept for ever");
    let configured = version();
    assert!(configured > before);
    fixture.clock.set(NOW + 1_000_000_000);
    assert_eq!(stats.expire(|| {}).expect("nothing"), 0);
    assert_eq!(version(), configured);
}

#[test]
fn expired_blocks_and_recent_buckets_are_removed() {
    for engine in fixture::engines() {
        let fixture = Fixture::new(engine);
        let stats = minutes_for_ten(&fixture);
        let minutes = 3 * BLOCK_BUCKETS;
        let writes = (0..minutes)
            .map(|minute| Write::track("n", second(NOW + 60 * minute), packed(r#"{"a":1}"#)));
        stats.submit(Request::new(writes)).expect("tracked");
        let before = keys(&fixture);
        let count = |granularity: &str| {
            let granularity = granularity.parse().expect("a granularity");
            let range = Range::new(granularity, second(NOW), second(NOW + 60 * minutes));
            stats.values("n", range.skip_blanks()).expect("read").len()
        };
        assert_eq!(count("1m"), minutes as usize);
        // Half of the minutes.
        fixture.clock.set(NOW + 60 * (minutes / 2) + 600);
        assert!(stats.expire(|| {}).expect("expired") > 0);
        assert_eq!(count("1m"), minutes as usize / 2, "{engine}");
        fixture.clock.set(NOW + 60 * minutes + 86_400);
        assert!(stats.expire(|| {}).expect("expired") > 0);
        assert_eq!(stats.expire(|| {}).expect("nothing more"), 0);
        // Blocks of minutes are gone; settings, the metric, the time and the recent row are left.
        assert!(keys(&fixture) < before, "{engine}");
        let mut settings = stats.settings();
        settings.retention.clear();
        stats.configure(settings).expect("kept for ever");
        assert_eq!((count("1m"), count("1d")), (0, 2), "{engine}");
    }
}
