//! The behaviour of each operation, one test for each property.

mod fixture;

use std::sync::Arc;
use std::thread;

use espalier_keyspace::{Batch, Direction, KeyRange};
use espalier_stats::{
    Aggregate, Beamed, Designator, ErrorKind, Metric, NestedValues, Number, Outcome, Path,
    PathValues, Range, Request, SYSTEM_METRIC, Stats, SystemMetric, Write,
};
use fixture::{Fixture, PREFIX, json, number, on_every_engine, packed, path, time};

const NOON: &str = "2025-03-05T12:00:30Z";

fn minute(stats: &Stats, metric: impl Into<Metric>) -> String {
    let granularity = "1m".parse().expect("a granularity");
    let range = Range::new(granularity, time(NOON), time(NOON));
    let points = stats.values(metric, range).expect("values");
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].at, time("2025-03-05T12:00:00Z"));
    json(&points[0].values)
}

#[test]
fn nested_values_add_up_from_the_first() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        for _ in 0..3 {
            stats
                .track(
                    "n",
                    time(NOON),
                    packed(r#"{"a":1,"b":{"c":2,"d":{"e":3}}}"#),
                )
                .expect("tracked");
        }
        assert_eq!(minute(&stats, "n"), r#"{"a":3,"b":{"c":6,"d":{"e":9}}}"#);
        assert_eq!(
            minute(&stats, SYSTEM_METRIC),
            r#"{"count":3,"keys":{"n":3}}"#
        );
    });
}

#[test]
fn floats_are_not_truncated_and_decimals_are_exact() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        for _ in 0..3 {
            stats
                .track(
                    "n",
                    time(NOON),
                    packed(r#"{"f":1.7,"d":0.1,"i":9223372036854775807}"#),
                )
                .expect("tracked");
        }
        assert_eq!(
            minute(&stats, "n"),
            r#"{"d":0.3,"f":5.1,"i":27670116110564327421}"#
        );
    });
}

#[test]
fn the_order_of_tracks_and_asserts_is_kept() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let at = time(NOON);
        let request = Request::new([
            Write::track("n", at, packed(r#"{"a":1,"b":1}"#)),
            Write::assert("n", at, packed(r#"{"a":100}"#)),
            Write::track("n", at, packed(r#"{"a":1}"#)),
        ]);
        stats.submit(request).expect("done");
        assert_eq!(minute(&stats, "n"), r#"{"a":101,"b":1}"#);
    });
}

#[test]
fn a_request_that_overflows_changes_nothing() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let most = packed(r#"{"a":170141183460469231731687303715884105727}"#);
        stats.track("n", time(NOON), most.clone()).expect("tracked");
        let request = Request::new([
            Write::track("other", time(NOON), packed(r#"{"a":1}"#)),
            Write::track("n", time(NOON), most),
        ]);
        let error = stats.submit(request).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::Overflow);
        assert!(error.to_string().starts_with("n: a: "), "{error}");
        assert_eq!(minute(&stats, "other"), "{}");
    });
}

#[test]
fn a_request_is_executed_once_a_day() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let request =
            || Request::from(Write::track("n", time(NOON), packed(r#"{"a":1}"#))).with_id("r");
        for (second, expected) in [
            (1_000_000, Outcome::Done),
            (1_000_001, Outcome::Repeated),
            (1_086_400, Outcome::Repeated),
            (1_086_401, Outcome::Done),
            (1_086_402, Outcome::Repeated),
        ] {
            fixture.clock.set(second);
            assert_eq!(stats.submit(request()).expect("done"), expected, "{second}");
        }
        assert_eq!(minute(&stats, "n"), r#"{"a":2}"#);
    });
}

#[test]
fn another_request_with_the_same_name_is_rejected() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let request = |metric: &str, at, values: &str| {
            Request::from(Write::track(metric, time(at), packed(values))).with_id("r")
        };
        let outcome = stats
            .submit(request("n", NOON, r#"{"a":1}"#))
            .expect("done");
        assert_eq!(outcome, Outcome::Done);
        for other in [
            request("m", NOON, r#"{"a":1}"#),
            request("n", NOON, r#"{"a":2}"#),
        ] {
            let error = stats.submit(other).expect_err("another request");
            assert_eq!(error.kind(), ErrorKind::Argument);
            assert!(error.to_string().contains("\"r\""), "{error}");
        }
        let later = request("n", "2025-03-05T12:00:31Z", r#"{"a":1}"#);
        assert_eq!(stats.submit(later).expect("known"), Outcome::Repeated);
        assert_eq!(minute(&stats, "n"), r#"{"a":1}"#);
    });
}

#[test]
fn writes_that_no_granularity_retains_are_reported() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let mut settings = stats.settings();
        settings.retention = settings
            .granularities
            .iter()
            .map(|&length| (length, 60))
            .collect();
        stats.configure(settings).expect("configured");
        fixture
            .clock
            .set(time(NOON).as_second() + 10 * 366 * 86_400);
        let write = Write::track("n", time(NOON), packed(r#"{"a":1}"#));
        assert_eq!(stats.submit(write).expect("done"), Outcome::TooOld);
        assert!(!stats.keeps(time(NOON)));
        assert_eq!(stats.keys("").expect("keys"), []);
    });
}

#[test]
fn duplicate_names_are_rejected() {
    let error = NestedValues::from_json(r#"{"x":1,"y":{"z":2,"z":2}}"#).expect_err("twice");
    assert!(
        error.to_string().contains("y: \"z\" is given twice"),
        "{error}"
    );
}

#[test]
fn the_path_of_a_group_has_no_aggregate() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let values = packed(r#"{"st":{"200":1,"500":2}}"#);
        stats.track("h", time(NOON), values).expect("tracked");
        let range = Range::new("1m".parse().expect("1m"), time(NOON), time(NOON));
        let series = stats.series("h", range).expect("a series");
        let error = series
            .aggregate(Aggregate::Sum, &path("st"), 1)
            .expect_err("a group");
        assert!(error.to_string().contains("st.200"), "{error}");
        for (of, sum) in [("st.500", 2), ("absent", 0), ("s", 0)] {
            let sums = series.aggregate(Aggregate::Sum, &path(of), 1).expect(of);
            assert_eq!(sums, [Some(Number::from(sum))], "{of}");
        }
    });
}

#[test]
fn untracked_writes_are_listed_together() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let write = Write::track("with.dot", time(NOON), packed(r#"{"a":1}"#));
        stats.submit(write.clone().untracked()).expect("done");
        stats.submit(write).expect("done");
        assert_eq!(
            minute(&stats, SYSTEM_METRIC),
            r#"{"count":2,"keys":{"__untracked__":1,"with.dot":1}}"#
        );
        let stats = fixture.stats_with(|settings| settings.system = SystemMetric::Off);
        stats
            .track("n", time(NOON), packed(r#"{"a":1}"#))
            .expect("tracked");
        assert!(minute(&stats, SYSTEM_METRIC).contains("\"count\":2"));
    });
}

#[test]
fn assort_counts_by_class() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let designator = Designator::linear(number("0"), number("100"), 10).expect("a designator");
        for value in ["15", "20", "100.5", "-3"] {
            let values = PathValues::one(path("a"), number(value));
            let write = Write::assort("n", time(NOON), &values, &designator).expect("assorted");
            stats.submit(write).expect("done");
        }
        assert_eq!(minute(&stats, "n"), r#"{"a":{"0":1,"100+":1,"20":2}}"#);
    });
}

#[test]
fn designators_name_the_upper_bound() {
    let check = |designator: &Designator, cases: &[(&str, &str)]| {
        for (value, label) in cases {
            assert_eq!(
                designator.designate(number(value)),
                *label,
                "{value} {designator:?}"
            );
        }
    };
    let linear = Designator::linear(number("0"), number("100"), 10).expect("a designator");
    check(
        &linear,
        &[
            ("1", "10"),
            ("10", "10"),
            ("10.1", "20"),
            ("100", "100"),
            ("100.5", "100+"),
            ("0", "0"),
            ("-7", "0"),
        ],
    );
    let geometric = Designator::geometric(number("-1"), number("1000")).expect("a designator");
    check(
        &geometric,
        &[
            ("1.45", "10.0"),
            ("10", "100.0"),
            ("1", "1.0"),
            ("0.5", "1.0"),
            ("0.1", "1.0"),
            ("0.05", "0.1"),
            ("0.001", "0.01"),
            ("0", "0.0"),
            ("-5", "0.0"),
            ("1000", "10000.0"),
            ("1001", "1000.0+"),
        ],
    );
    let custom =
        Designator::custom([1, 10, 20, 50].map(Number::from).into()).expect("a designator");
    check(
        &custom,
        &[
            ("0", "1"),
            ("1", "1"),
            ("9.5", "10"),
            ("10", "10"),
            ("20", "20"),
            ("49.5", "50"),
            ("50", "50"),
            ("50.1", "50+"),
        ],
    );
    assert!(Designator::linear(number("0"), number("1"), 0).is_err());
    assert!(Designator::custom(Vec::new()).is_err());
}

#[test]
fn the_latest_status_stays() {
    on_every_engine(|fixture| {
        let mut stats = fixture.stats();
        assert_eq!(stats.scan("s").expect("read"), None);
        let later = time("2025-03-05T12:00:31Z");
        assert_eq!(
            stats
                .beam("s", time(NOON), r#"{"data":1}"#)
                .expect("beamed"),
            Beamed::Latest
        );
        assert_eq!(
            stats.beam("s", later, r#"{"state":"up"}"#).expect("beamed"),
            Beamed::Latest
        );
        assert_eq!(
            stats
                .beam("s", time(NOON), r#"{"state":"down"}"#)
                .expect("beamed"),
            Beamed::Outdated
        );
        fixture.restart(&mut stats);
        let status = stats.scan("s").expect("read").expect("a status");
        assert_eq!(
            (status.at, status.json.as_str()),
            (later, r#"{"state":"up"}"#)
        );
        assert!(stats.beam("s", later, "{").is_err());
        let long = format!("r{}", "x".repeat(300));
        for name in ["r", "t", long.as_str()] {
            stats.beam(name, later, "{}").expect("beamed");
        }
        let counts = ["s", "", "r", "rx", long.as_str(), "st"]
            .map(|prefix| stats.statuses(prefix).expect("read").len());
        assert_eq!(counts, [1, 4, 2, 1, 1, 0]);
        assert!(stats.delete("s").expect("deleted"));
        assert_eq!(stats.scan("s").expect("read"), None);
    });
}

#[test]
fn keys_are_listed_by_prefix_and_deleted_alone() {
    on_every_engine(|fixture| {
        let stats = fixture.stats_with(|settings| settings.system = SystemMetric::Off);
        let long = format!("event::{}", "x".repeat(200));
        let names = [
            "event::a",
            "event::a::b",
            "event::a\u{0}",
            "other",
            long.as_str(),
        ];
        for name in names {
            stats
                .track(name, time(NOON), packed(r#"{"a":1}"#))
                .expect("tracked");
            let labelled = Metric::new(name).label("k", "v");
            stats
                .track(labelled, time(NOON), packed(r#"{"a":1}"#))
                .expect("tracked");
        }
        let keys = |prefix: &str| stats.keys(prefix).expect("keys").len();
        assert_eq!(
            (
                keys(""),
                keys("event::"),
                keys("event::a"),
                keys(&long[..100]),
                keys("z")
            ),
            (10, 8, 6, 2, 0)
        );
        assert!(stats.delete("event::a").expect("deleted"));
        assert!(!stats.delete("event::a").expect("deleted"));
        assert_eq!(keys(""), 9);
        assert_eq!(minute(&stats, "event::a"), "{}");
        assert_eq!(
            minute(&stats, Metric::new("event::a").label("k", "v")),
            r#"{"a":1}"#
        );
        assert_eq!(minute(&stats, "event::a::b"), r#"{"a":1}"#);
    });
}

#[test]
fn expired_buckets_are_removed() {
    on_every_engine(|fixture| {
        let minutes = "1m".parse().expect("a granularity");
        let days = "1d".parse().expect("a granularity");
        let stats = fixture.stats_with(|settings| {
            settings.retention.insert(minutes, 600);
        });
        let at = |second: i64| {
            espalier_stats::Timestamp::from_second(1_740_000_000 + second).expect("a time")
        };
        let all = |granularity| Range::new(granularity, at(-86_400), at(7200)).skip_blanks();
        let count = |granularity| stats.values("n", all(granularity)).expect("values").len();
        for second in (0..3600).step_by(60) {
            fixture.clock.set(at(second).as_second());
            stats
                .track("n", at(second), packed(r#"{"a":1}"#))
                .expect("tracked");
        }
        assert_eq!(count(minutes), 11);
        let keys = fixture.driver().usage().expect("usage").keys;
        stats.track("n", at(0), packed(r#"{"a":1}"#)).expect("late");
        assert_eq!((count(minutes), count(days)), (11, 1));
        assert_eq!(fixture.driver().usage().expect("usage").keys, keys);
        fixture.clock.set(at(7200).as_second());
        assert_eq!(count(minutes), 0);
        assert!(stats.expire(|| {}).expect("expired") > 0);
        assert_eq!(stats.expire(|| {}).expect("nothing more"), 0);
        let mut settings = stats.settings();
        settings.retention.clear();
        stats.configure(settings).expect("kept for ever");
        assert_eq!((count(minutes), count(days)), (0, 1));
    });
}

#[test]
fn the_time_zone_of_a_store_cannot_be_changed() {
    on_every_engine(|fixture| {
        let mut stats =
            fixture.stats_with(|settings| settings.time_zone = "Asia/Kolkata".to_owned());
        let mut settings = stats.settings();
        settings
            .granularities
            .remove(&"1m".parse().expect("a granularity"));
        stats
            .configure(settings.clone())
            .expect("fewer granularities");
        fixture.restart(&mut stats);
        assert_eq!(stats.settings(), settings);
        settings.time_zone = "UTC".to_owned();
        assert_eq!(
            stats
                .configure(settings.clone())
                .expect_err("another zone")
                .kind(),
            ErrorKind::Settings
        );
        settings.time_zone = "Nowhere/Land".to_owned();
        assert_eq!(
            stats.configure(settings).expect_err("no zone").kind(),
            ErrorKind::Syntax
        );
    });
}

#[test]
fn a_bucket_of_many_values_is_read_completely_and_written_in_parts() {
    on_every_engine(|fixture| {
        let stats = fixture.stats_with(|settings| settings.system = SystemMetric::Off);
        let user = |number: u32| Path::of(["users", &format!("user-{number}")]).expect("a path");
        let all: PathValues = (0..5000)
            .map(|number| (user(number), Number::ONE))
            .collect();
        stats.track("n", time(NOON), all).expect("tracked");
        for number in 0..100 {
            stats
                .track("n", time(NOON), PathValues::one(user(number), Number::ONE))
                .expect("tracked");
        }
        let range = Range::new("1d".parse().expect("a granularity"), time(NOON), time(NOON));
        let points = stats.values("n", range).expect("values");
        assert_eq!(points[0].values.len(), 5000);
        for number in 0..5000 {
            let expected = if number < 100 { 2 } else { 1 };
            assert_eq!(
                points[0].values.get(&user(number)),
                Some(Number::from(expected))
            );
        }
    });
}

#[test]
fn writers_of_several_stores_add_up_exactly() {
    const WRITERS: usize = 32;
    on_every_engine(|fixture| {
        let writes = 25;
        let stores: Vec<_> = (0..4).map(|_| Arc::new(fixture.stats())).collect();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let stats = Arc::clone(&stores[writer % stores.len()]);
                scope.spawn(move || {
                    for _ in 0..writes {
                        stats
                            .track("n", time(NOON), packed(r#"{"a":1,"b":{"c":0.1}}"#))
                            .expect("tracked");
                    }
                });
            }
        });
        let all = WRITERS * writes;
        let tenth = all / 10;
        let sums = format!(r#"{{"a":{all},"b":{{"c":{tenth}}}}}"#);
        assert_eq!(minute(&stores[0], "n"), sums);
        let counts = format!(r#"{{"count":{all},"keys":{{"n":{all}}}}}"#);
        assert_eq!(minute(&stores[0], SYSTEM_METRIC), counts);
    });
}

#[test]
fn exceeded_limits_are_rejected() {
    let fixture = Fixture::new("memory:");
    let stats = fixture.stats();
    let one = || packed(r#"{"a":1}"#);
    for name in [String::new(), "x".repeat(1025)] {
        assert!(stats.track(name.as_str(), time(NOON), one()).is_err());
    }
    let many = (0..33).fold(Metric::new("n"), |metric, label| {
        metric.label(label.to_string(), "v")
    });
    assert_eq!(
        stats
            .track(many, time(NOON), one())
            .expect_err("too many")
            .kind(),
        ErrorKind::Limit
    );
    let request = Request::from(Write::track("n", time(NOON), one())).with_id("x".repeat(257));
    assert!(stats.submit(request).is_err());
    let far = Range::new(
        "1s".parse().expect("a granularity"),
        time("2000-01-01T00:00:00Z"),
        time(NOON),
    );
    assert_eq!(
        stats.values("n", far).expect_err("too many").kind(),
        ErrorKind::Limit
    );
    assert!(
        stats
            .values("n", far.skip_blanks())
            .expect("none")
            .is_empty()
    );
    let back = Range::new(
        "1s".parse().expect("a granularity"),
        time(NOON),
        time("2000-01-01T00:00:00Z"),
    );
    assert_eq!(
        stats.values("n", back).expect_err("backwards").kind(),
        ErrorKind::Argument
    );
    let longest = "n".repeat(1024);
    let metric = (0..32).fold(Metric::new(longest), |m, label| {
        m.label(label.to_string(), "\u{1}".repeat(1024))
    });
    let deep = Path::of(["\u{0}".repeat(1024).as_str()]).expect("a path");
    stats
        .submit(Write::observe(
            metric.clone(),
            time(NOON),
            PathValues::one(deep, Number::ONE),
        ))
        .expect("keys that fit");
    assert_eq!(stats.keys("nnn").expect("keys"), [metric]);
}

#[test]
fn check_finds_unreadable_rows() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        stats.configure(stats.settings()).expect("configured");
        stats
            .track("n", time(NOON), packed(r#"{"a":1}"#))
            .expect("tracked");
        stats
            .submit(Write::observe("n", time(NOON), packed(r#"{"a":1}"#)))
            .expect("observed");
        stats.beam("n", time(NOON), "{}").expect("beamed");
        let request = Request::from(Write::track("n", time(NOON), packed(r#"{"a":1}"#)));
        stats.submit(request.with_id("r")).expect("done");
        let driver = fixture.driver();
        let mut row_count = 0;
        let sound = Stats::check(&*driver, PREFIX, &mut |rows| row_count = rows);
        assert_eq!(sound.expect("examined"), []);
        let mut keys = Vec::new();
        let snapshot = driver.snapshot().expect("a snapshot");
        let range = KeyRange::prefix(PREFIX);
        let mut cursor = snapshot.scan(&range, Direction::Forward).expect("a scan");
        while let Some((key, _)) = cursor.next().expect("a row") {
            keys.push(key.to_vec());
        }
        assert_eq!(keys.len() as u64, row_count);
        let mut batch = Batch::new();
        keys.iter()
            .for_each(|key| batch.put(key.clone(), [0xff; 3]));
        driver.commit(batch).expect("damaged");
        let found = Stats::check(&*driver, PREFIX, &mut |_| {}).expect("examined");
        // The time of a request is in the key only.
        assert_eq!(found.len(), keys.len() - 1, "{found:?}");
    });
}
