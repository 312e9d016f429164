//! Buckets, compared with a second calendar: `chrono` and its own time zone database, stepping from second to
//! second where the library computes.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, Timelike};
use chrono_tz::{TZ_VARIANTS, Tz};
use espalier_stats::{Bucket, Calendar, Granularity, Timestamp, Unit, Weekday};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

/// 1973 to 2024: offsets are whole minutes, and the two databases agree.
const TIMES: std::ops::Range<i64> = 94_694_400..1_735_689_600;

const UNITS: [Unit; 8] = [
    Unit::Second,
    Unit::Minute,
    Unit::Hour,
    Unit::Day,
    Unit::Week,
    Unit::Month,
    Unit::Quarter,
    Unit::Year,
];

fn local(zone: Tz, at: i64) -> NaiveDateTime {
    let at = DateTime::from_timestamp(at, 0).expect("a time");
    at.with_timezone(&zone).naive_local()
}

/// The local time at which the segment of `reading` begins.
fn segment(granularity: Granularity, reading: NaiveDateTime) -> NaiveDateTime {
    let count = granularity.count();
    let floor = |value: u32| value / count * count;
    let (hour, minute, second) = match granularity.unit() {
        Unit::Second => (reading.hour(), reading.minute(), floor(reading.second())),
        Unit::Minute => (reading.hour(), floor(reading.minute()), 0),
        _ => (floor(reading.hour()), 0, 0),
    };
    reading
        .date()
        .and_hms_opt(hour, minute, second)
        .expect("a time")
}

/// Whether a bucket of the clock begins at `at`.
fn begins(zone: Tz, granularity: Granularity, at: i64) -> bool {
    let (before, now) = (local(zone, at - 1), local(zone, at));
    let from = segment(granularity, now);
    from != segment(granularity, before) || (now < before && now == from)
}

fn clock_bucket(zone: Tz, granularity: Granularity, at: i64) -> Bucket {
    let step = if granularity.unit() == Unit::Second {
        1
    } else {
        60
    };
    let mut start = at.div_euclid(step) * step;
    while !begins(zone, granularity, start) {
        start -= step;
    }
    let mut end = start + step;
    while !begins(zone, granularity, end) {
        end += step;
    }
    Bucket { start, end }
}

/// The first days of the buckets of a year.
fn first_days(granularity: Granularity, week_begins: usize, year: i32) -> Vec<NaiveDate> {
    let count = granularity.count();
    let new_year = NaiveDate::from_ymd_opt(year, 1, 1).expect("a date");
    let days = |from: NaiveDate, length: u32| {
        let days = from.iter_days().take_while(move |day| day.year() == year);
        days.step_by(length as usize).collect::<Vec<_>>()
    };
    let months = |length: u32| {
        let months = (1..=12).step_by(length as usize);
        months
            .map(|month| new_year.with_month(month).expect("a month"))
            .collect::<Vec<_>>()
    };
    match granularity.unit() {
        Unit::Day => days(new_year, count),
        Unit::Week => {
            let is_first =
                |day: &NaiveDate| day.weekday().num_days_from_monday() as usize == week_begins;
            let first = new_year.iter_days().find(is_first).expect("within a week");
            let mut all = days(first, 7 * count);
            if first != new_year {
                all.insert(0, new_year);
            }
            all
        }
        Unit::Month => months(count),
        Unit::Quarter => months(3 * count),
        _ if year % count as i32 == 0 => vec![new_year],
        _ => Vec::new(),
    }
}

/// The first minute whose date is `day` or later.
fn first_moment(zone: Tz, day: NaiveDate) -> i64 {
    let midnight = day
        .and_hms_opt(0, 0, 0)
        .expect("midnight")
        .and_utc()
        .timestamp();
    let around = (midnight - 26 * 3600..).step_by(60);
    around
        .into_iter()
        .find(|&at| local(zone, at).date() >= day)
        .expect("it comes")
}

fn date_bucket(zone: Tz, granularity: Granularity, week_begins: usize, at: i64) -> Bucket {
    let today = local(zone, at).date();
    let years = match granularity.unit() {
        Unit::Year => granularity.count() as i32 + 1,
        _ => 1,
    };
    let years = today.year() - years..=today.year() + years;
    let days: Vec<_> = years
        .flat_map(|year| first_days(granularity, week_begins, year))
        .collect();
    let tomorrow = today + Days::new(2);
    let next = days.partition_point(|&day| day <= tomorrow);
    let near = &days[next.saturating_sub(5)..(next + 2).min(days.len())];
    let starts: Vec<_> = near.iter().map(|&day| first_moment(zone, day)).collect();
    Bucket {
        start: *starts.iter().rfind(|&&start| start <= at).expect("a start"),
        end: *starts.iter().find(|&&start| start > at).expect("an end"),
    }
}

fn random_time(random: &mut StdRng, calendar: &Calendar) -> i64 {
    let at = random.random_range(TIMES);
    let near = random.random_range(-10_800..10_800) * [1, 8][random.random_range(0..2)];
    match random.random_range(0..3) {
        0 => at,
        1 => {
            let year = local(Tz::UTC, at).year();
            let new_year =
                NaiveDate::from_ymd_opt(year, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0));
            (new_year.expect("a date").and_utc().timestamp() + near).max(TIMES.start)
        }
        _ => {
            let from = Timestamp::from_second(at).expect("a time");
            let change = calendar.zone().following(from).next();
            let change = change.map_or(at, |change| change.timestamp().as_second());
            if TIMES.contains(&change) {
                (change + near).max(TIMES.start)
            } else {
                at
            }
        }
    }
}

fn random_granularity(random: &mut StdRng) -> Granularity {
    let count = if random.random_bool(0.5) {
        1
    } else {
        random.random_range(1..40)
    };
    Granularity::new(count, UNITS[random.random_range(0..UNITS.len())]).expect("a granularity")
}

fn random_calendar(random: &mut StdRng) -> (Tz, usize, Calendar) {
    let week_begins = random.random_range(0..7);
    loop {
        let zone = TZ_VARIANTS[random.random_range(0..TZ_VARIANTS.len())];
        if let Ok(calendar) = Calendar::new(zone.name(), Weekday::ALL[week_begins]) {
            return (zone, week_begins, calendar);
        }
    }
}

fn bucket(calendar: &Calendar, granularity: Granularity, at: i64) -> Bucket {
    let at = Timestamp::from_second(at).expect("a time");
    calendar.bucket(granularity, at).expect("a bucket")
}

/// Whether both time zone databases have the same offsets around a time: newer ones have more of the past
/// (Tijuana before 1976) and of the future. Before 1973 offsets are not whole minutes.
fn databases_agree(zone: Tz, calendar: &Calendar, at: i64) -> bool {
    let offset = |at| {
        let time = Timestamp::from_second(at).expect("a time");
        i64::from(calendar.zone().to_offset(time).seconds())
    };
    let agree = |at| local(zone, at).and_utc().timestamp() - at == offset(at);
    at > TIMES.start && agree(at) && agree(at - 1)
}

#[test]
fn buckets_are_those_of_a_second_calendar() {
    seed::run("buckets_are_those_of_a_second_calendar", |random| {
        let mut compared = 0;
        for _ in 0..1500 {
            let (zone, week_begins, calendar) = random_calendar(random);
            let granularity = random_granularity(random);
            let at = random_time(random, &calendar);
            let expected = match granularity.unit() {
                Unit::Second | Unit::Minute | Unit::Hour => clock_bucket(zone, granularity, at),
                _ => date_bucket(zone, granularity, week_begins, at),
            };
            let found = bucket(&calendar, granularity, at);
            let times = [at, found.start, found.end, expected.start, expected.end];
            if times.iter().all(|&at| databases_agree(zone, &calendar, at)) {
                let place = format!("{zone} {granularity} {at} {}", local(zone, at));
                assert_eq!(found, expected, "{place}");
                compared += 1;
            }
        }
        assert!(
            compared > 1000,
            "the databases agree on {compared} times only"
        );
    });
}

#[test]
fn a_reader_finds_the_bucket_of_a_writer() {
    seed::run("a_reader_finds_the_bucket_of_a_writer", |random| {
        for _ in 0..3000 {
            let (zone, _, calendar) = random_calendar(random);
            let granularity = random_granularity(random);
            let from = random_time(random, &calendar);
            let written = bucket(&calendar, granularity, from);
            let length = (written.end - written.start) * random.random_range(0..50);
            let to = from + length;
            let at = random.random_range(from..=to);
            let time = |at| Timestamp::from_second(at).expect("a time");
            let line = calendar
                .timeline(granularity, time(from), time(to))
                .expect("a range");
            let buckets: Vec<_> = line.map(|bucket| bucket.expect("a bucket")).collect();
            let place = format!("{zone} {granularity} {from} {at} {to}");
            for pair in buckets.windows(2) {
                assert_eq!(pair[0].end, pair[1].start, "{place}");
            }
            assert!(
                buckets.iter().all(|bucket| bucket.start < bucket.end),
                "{place}"
            );
            for one in &buckets {
                assert_eq!(*one, bucket(&calendar, granularity, one.start), "{place}");
            }
            let holds = |bucket: &&Bucket| (bucket.start..bucket.end).contains(&at);
            let found = buckets
                .iter()
                .find(holds)
                .expect("a bucket that holds the time");
            assert_eq!(*found, bucket(&calendar, granularity, at), "{place}");
            assert!(
                buckets[0].start <= from && buckets[buckets.len() - 1].end > to,
                "{place}"
            );
        }
    });
}

fn starts(zone: &str, granularity: &str, from: &str, to: &str) -> Vec<String> {
    let calendar = Calendar::new(zone, Weekday::Monday).expect("a zone");
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    let granularity = granularity.parse().expect("a granularity");
    let line = calendar
        .timeline(granularity, time(from), time(to))
        .expect("a range");
    line.map(|bucket| {
        let begins = bucket.expect("a bucket").begins();
        let local = begins.to_zoned(calendar.zone().clone());
        local.strftime("%m-%dT%H:%M%:z").to_string()
    })
    .collect()
}

#[test]
fn days_are_consecutive_when_clocks_are_put_forward() {
    assert_eq!(
        starts(
            "Europe/Bratislava",
            "1d",
            "2025-03-28T12:00:00Z",
            "2025-03-31T12:00:00Z"
        ),
        [
            "03-28T00:00+01:00",
            "03-29T00:00+01:00",
            "03-30T00:00+01:00",
            "03-31T00:00+02:00"
        ]
    );
    assert_eq!(
        starts(
            "Europe/Bratislava",
            "1h",
            "2025-03-30T00:00:00Z",
            "2025-03-30T02:00:00Z"
        ),
        [
            "03-30T01:00+01:00",
            "03-30T03:00+02:00",
            "03-30T04:00+02:00"
        ]
    );
}

#[test]
fn a_repeated_hour_has_two_buckets_and_six_hours_are_one_longer() {
    assert_eq!(
        starts(
            "Europe/Bratislava",
            "1h",
            "2025-10-26T00:00:00Z",
            "2025-10-26T02:00:00Z"
        ),
        [
            "10-26T02:00+02:00",
            "10-26T02:00+01:00",
            "10-26T03:00+01:00"
        ]
    );
    assert_eq!(
        starts(
            "Europe/Bratislava",
            "6h",
            "2025-10-25T22:00:00Z",
            "2025-10-26T11:00:00Z"
        ),
        [
            "10-26T00:00+02:00",
            "10-26T06:00+01:00",
            "10-26T12:00+01:00"
        ]
    );
}

#[test]
fn buckets_of_33_minutes_restart_with_the_hour() {
    assert_eq!(
        starts("UTC", "33m", "2025-03-05T11:00:00Z", "2025-03-05T12:40:00Z"),
        [
            "03-05T11:00+00:00",
            "03-05T11:33+00:00",
            "03-05T12:00+00:00",
            "03-05T12:33+00:00"
        ]
    );
}

#[test]
fn days_and_weeks_restart_with_the_year() {
    assert_eq!(
        starts("UTC", "7d", "2024-12-24T00:00:00Z", "2025-01-09T00:00:00Z"),
        [
            "12-23T00:00+00:00",
            "12-30T00:00+00:00",
            "01-01T00:00+00:00",
            "01-08T00:00+00:00"
        ]
    );
    assert_eq!(
        starts("UTC", "1w", "2024-12-30T00:00:00Z", "2025-01-13T00:00:00Z"),
        [
            "12-30T00:00+00:00",
            "01-01T00:00+00:00",
            "01-06T00:00+00:00",
            "01-13T00:00+00:00"
        ]
    );
}

#[test]
fn invalid_granularities_are_rejected() {
    for wrong in [
        "",
        "h",
        "0h",
        "-1h",
        "1x",
        "1 h",
        "10000d",
        "1mo2",
        "99999999999h",
        "1H",
    ] {
        assert!(wrong.parse::<Granularity>().is_err(), "{wrong}");
    }
    for right in ["1s", "15m", "12h", "7d", "2w", "3mo", "2q", "10y", "1mo"] {
        assert_eq!(
            right.parse::<Granularity>().expect("right").to_string(),
            right
        );
    }
}

#[test]
fn times_without_buckets_are_rejected_and_the_last_ones_work() {
    let calendar = Calendar::new("America/St_Johns", Weekday::Sunday).expect("a zone");
    for unit in UNITS {
        for count in [1, 7, 9999] {
            let granularity = Granularity::new(count, unit).expect("a granularity");
            for at in [Timestamp::MIN, Timestamp::MAX] {
                assert!(calendar.bucket(granularity, at).is_err());
            }
            for at in [
                espalier_stats::limits::TIME_MIN,
                espalier_stats::limits::TIME_MAX - 1,
            ] {
                let found = bucket(&calendar, granularity, at);
                assert!(
                    (found.start..found.end).contains(&at),
                    "{granularity} {at} {found:?}"
                );
            }
        }
    }
}

#[test]
fn a_time_zone_in_a_time_is_used() {
    let calendar = Calendar::new("Europe/Prague", Weekday::Monday).expect("a calendar");
    let read = |text: &str| calendar.read_time(text).map(|at| calendar.show_time(at));
    for (given, shown) in [
        (
            "2025-03-05T12:00[America/New_York]",
            "2025-03-05T18:00:00+01:00",
        ),
        (
            "2025-03-05T12:00:00-05:00[America/New_York]",
            "2025-03-05T18:00:00+01:00",
        ),
        ("2025-03-05T12:00", "2025-03-05T12:00:00+01:00"),
    ] {
        assert_eq!(read(given).expect(given), shown);
    }
    for wrong in [
        "2025-03-05T12:00:00-05:00[Europe/Prague]",
        "2025-03-05T12:00[Nowhere]",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn times_of_offsets_with_seconds_are_shown_as_they_are() {
    let calendar = Calendar::new("America/New_York", Weekday::Monday).expect("a calendar");
    let at = calendar.read_time("1880-06-01T12:00").expect("a time");
    let shown = calendar.show_time(at);
    assert_eq!(shown, "1880-06-01T16:56:02Z");
    assert_eq!(calendar.read_time(&shown).expect("a time"), at);
}

/// The error message contained the largest possible number instead of the one in the input.
#[test]
fn the_error_for_a_too_long_granularity_has_the_number_of_the_input() {
    for text in ["99999999999h", "18446744073709551616h", "10000d"] {
        let error = text.parse::<Granularity>().expect_err("too long");
        let number = text.trim_end_matches(char::is_alphabetic);
        assert!(
            error.to_string().contains(&format!("{number} exceeds")),
            "{error}"
        );
    }
}
