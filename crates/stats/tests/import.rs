//! Imports of formats of other programs, and output for them.

mod fixture;

use std::io;

use espalier_stats::{
    Action, Calendar, Number, PathValues, Point, Range, Request, Stats, Timestamp, Weekday, Write,
    import, output,
};
use espalier_testkit::seed;
use fixture::{Fixture, json, packed, path, time};
use rand::Rng;

const NOON: &str = "2025-03-05T12:00:30Z";

fn shown(imported: &import::Imported) -> Vec<String> {
    let action = |action| match action {
        Action::Track => "+",
        Action::Assert => "=",
        Action::Observe => "~",
        Action::Adjust => "+=",
    };
    let writes = imported.writes.iter();
    writes
        .map(|write| {
            format!(
                "{} {} {}",
                write.metric,
                action(write.action),
                json(&write.values)
            )
        })
        .collect()
}

#[test]
fn invalid_lines_are_reported_and_the_others_imported() {
    let lines: &[&[u8]] = &[
        b"\xef\xbb\xbfk:1|c",
        b"k:99999999999999999999999999999999999999|c",
        b"x\xff:1|c",
        b"k:2|c|T1741168800",
        b"k:1|c|foo",
        b"k:1|c|#a:1,a:2",
        b"k:3|c|c:9f3e",
        b"k:99999999999999999999999999999999999999|c",
        b"",
        b"k:4|c",
    ];
    let long = vec![b'k'; 100_000];
    let text = [lines.join(&b"\n"[..]), long, b"k:5|c".to_vec()].join(&b"\n"[..]);
    let fixture = Fixture::new("memory:");
    let stats = fixture.stats();
    let report = stats.import(import::Format::Statsd, time(NOON), &mut &text[..]);
    let report = report.expect("imported");
    // The sum of two is out of range: the first is valid, and leaves no room for any other.
    let skipped_lines: Vec<_> = report.lines.iter().map(|skipped| skipped.line).collect();
    assert_eq!(report.skipped as usize, skipped_lines.len());
    for line in [3, 5, 6, 11] {
        assert!(skipped_lines.contains(&line), "{line} of {skipped_lines:?}");
    }
    assert_eq!(report.writes + report.skipped, 11, "{skipped_lines:?}");
    assert!(report.writes >= 5, "{skipped_lines:?}");
    let range = |at| Range::new("1m".parse().expect("1m"), time(at), time(at));
    let timed = stats
        .values("k", range("2025-03-05T10:00:00Z"))
        .expect("values");
    assert_eq!(json(&timed[0].values), r#"{"count":2}"#);
}

/// Input that fails after some bytes, in the middle of a line.
struct CutOff<'a>(&'a [u8]);

impl io::Read for CutOff<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.is_empty() {
            true => Err(io::Error::other("cut off")),
            false => self.0.read(buffer),
        }
    }
}

const STATSD: import::Format = import::Format::Statsd;

/// The total count of `k`, in the hour of [`NOON`].
fn counted(stats: &Stats) -> String {
    let range = Range::new("1h".parse().expect("1h"), time(NOON), time(NOON));
    json(&stats.values("k", range).expect("values")[0].values)
}

#[test]
fn a_named_import_counts_once() {
    fixture::on_every_engine(|fixture| {
        fixture.clock.set(time(NOON).as_second());
        let stats = fixture.stats();
        let import =
            |text: &str| stats.import_once("friday", STATSD, time(NOON), &mut text.as_bytes());
        let text = "# no line\nk:1|c\n\nk:2|c\n";
        let first = import(text).expect("imported");
        assert_eq!((first.writes, first.repeated, first.skipped), (2, 0, 1));
        let second = import(text).expect("imported again");
        assert_eq!((second.writes, second.repeated, second.skipped), (0, 4, 0));
        let more = import(&format!("{text}k:4|c")).expect("what was added");
        assert_eq!((more.writes, more.repeated), (1, 4));
        assert_eq!(counted(&stats), r#"{"count":7}"#);

        for other in ["# no line\nk:1|c\n\nk:3|c\n", "k:1|c", ""] {
            let error = import(other).expect_err("another import").to_string();
            let expected = "the lines up to 5 differ from those that were imported: the name \"friday\" was used by another request";
            assert!(error.starts_with(expected), "{error}");
        }
        let track = |id: &str| {
            let write = Write::track("k", time(NOON), packed(r#"{"count":1}"#));
            stats.submit(Request::from(write).with_id(id))
        };
        assert!(track("friday").is_err(), "the name is that of an import");
        track("one").expect("a request");
        let taken = stats.import_once("one", STATSD, time(NOON), &mut &b"k:1|c"[..]);
        taken.expect_err("the name is that of no import");
        assert_eq!(counted(&stats), r#"{"count":8}"#);

        fixture.clock.set(time(NOON).as_second() + 2 * 86_400);
        assert_eq!(import("k:9|c").expect("forgotten").writes, 1);
    });
}

#[test]
fn an_interrupted_named_import_resumes() {
    let fixture = Fixture::new("memory:");
    fixture.clock.set(time(NOON).as_second());
    let stats = fixture.stats();
    let too_large = "9".repeat(38);
    // Two full commits and more; rejected lines cause halving.
    let mut text = String::new();
    for line in 1..=250_000 {
        let value = if line % 70_000 == 1 { &too_large } else { "1" };
        text.push_str(&format!(
            "{}:{value}|c\n",
            if value == "1" { "k" } else { "large" }
        ));
    }
    let whole = text.len();
    let mut done = 0;
    for end in [0, 3, whole / 3, whole / 2, whole * 9 / 10] {
        let mut input = io::BufReader::new(CutOff(&text.as_bytes()[..end]));
        let error = stats.import_once("long", STATSD, time(NOON), &mut input);
        let error = error.expect_err("cut off").to_string();
        assert!(
            error.contains("repeat the import under its name"),
            "{error}"
        );
        done += 1;
    }
    let report = stats.import_once("long", STATSD, time(NOON), &mut text.as_bytes());
    let report = report.expect("imported");
    assert!(
        done == 5 && report.repeated > 100_000,
        "{}",
        report.repeated
    );
    let refused = text
        .lines()
        .filter(|line| line.starts_with("large"))
        .count();
    let expected = format!(r#"{{"count":{}}}"#, 250_000 - refused);
    assert_eq!(counted(&stats), expected);
    let again = stats.import_once("long", STATSD, time(NOON), &mut text.as_bytes());
    assert_eq!(again.expect("again").writes, 0);
    assert_eq!(counted(&stats), expected);
}

#[test]
fn concurrent_imports_with_one_name_count_once() {
    fixture::on_every_engine(|fixture| {
        fixture.clock.set(time(NOON).as_second());
        let lines = 2000;
        let text = "k:1|c\n".repeat(lines);
        let importers = [fixture.stats(), fixture.stats(), fixture.stats()];
        std::thread::scope(|scope| {
            for stats in &importers {
                let import =
                    || stats.import_once("at-once", STATSD, time(NOON), &mut text.as_bytes());
                scope.spawn(move || import().expect("imported"));
            }
        });
        assert_eq!(counted(&importers[0]), format!(r#"{{"count":{lines}}}"#));
    });
}

#[test]
fn statsd_lines() {
    for (line, expected) in [
        ("hits:1|c", &[r#"hits + {"count":1}"#][..]),
        (
            "hits:3|c|@0.1|#host:a,canary",
            &[r#"hits{canary="",host="a"} + {"count":30}"#],
        ),
        (
            "hits:1:2|c",
            &[r#"hits + {"count":1}"#, r#"hits + {"count":2}"#],
        ),
        (
            "mm:1|c:2:3|c|@0.5:40|ms|#host:a|T1741168800",
            &[
                r#"mm{host="a"} + {"count":1}"#,
                r#"mm{host="a"} + {"count":4}"#,
                r#"mm{host="a"} + {"count":6}"#,
                r#"mm{host="a"} + {"count":1,"sum":40}"#,
                r#"mm{host="a"} ~ {"value":40}"#,
            ],
        ),
        ("hits:1|c|c:9f3e", &[r#"hits + {"count":1}"#]),
        ("heap:12.5|g", &[r#"heap = {"value":12.5}"#]),
        ("heap:-2|g", &[r#"heap += {"value":-2}"#]),
        (
            "took:320|ms|@0.5",
            &[r#"took + {"count":2,"sum":640}"#, r#"took ~ {"value":320}"#],
        ),
        ("users:a.b|s", &[r#"users = {"members":{"a.b":1}}"#]),
    ] {
        let imported = import::statsd(line, time(NOON));
        assert_eq!(shown(&imported), expected, "{line}");
        assert!(imported.skipped.is_empty());
    }
    let wrong = "nothing\n\nx:1\nx:a|c\nx:1|q\nx:1|c|@2\nx:1|c|@0\n:1|c\nok:1|c\nx:|s\nx:1|c:2\nx:1|c:2|q\nx:1|@0.1|c\n";
    let imported = import::statsd(wrong, time(NOON));
    assert_eq!(
        imported
            .skipped
            .iter()
            .map(|line| line.line)
            .collect::<Vec<_>>(),
        [1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    );
    assert_eq!(imported.writes.len(), 1);
}

/// A gauge continues from its previous value, in every granularity; also within one import, and if the bucket
/// with the value is spread over rows.
#[test]
fn a_relative_gauge_starts_from_the_latest_value() {
    fixture::on_every_engine(|fixture| {
        fixture.clock.set(time(NOON).as_second());
        let stats = fixture.stats();
        let import = |text: &str| {
            let report = stats.import(STATSD, time(NOON), &mut text.as_bytes());
            assert_eq!(report.expect("imported").skipped, 0);
        };
        let at = time(NOON).as_second();
        let ago = |seconds: i64| at - seconds;
        import(&format!("g:10|g|T{}\ng:+1|g|T{}\n", ago(7200), ago(7190)));
        // Rows with other values are in between.
        import(&format!("g:1|c|T{}\ng:3|c|T{}\n", ago(600), ago(60)));
        import(&format!(
            "g:-3|g|T{}\ng:+0.5|g|T{}\ng:+1|g\n",
            ago(300),
            ago(120)
        ));
        let value = |granularity: &str, seconds: i64| {
            let at = Timestamp::from_second(ago(seconds)).expect("a time");
            let range = Range::new(granularity.parse().expect(granularity), at, at);
            let points = stats.values("g", range).expect("values");
            points[0]
                .values
                .get(&path("value"))
                .map(|number| number.to_string())
        };
        let some = |number: &str| Some(number.to_owned());
        assert_eq!(value("1m", 7200), some("11"));
        assert_eq!(value("1m", 600), None);
        assert_eq!(value("1m", 300), some("8"));
        assert_eq!(value("1m", 120), some("8.5"));
        assert_eq!(value("1m", 0), some("9.5"));
        assert_eq!((value("1h", 0), value("1d", 0)), (some("9.5"), some("9.5")));
        import("new:+2|g\nnew:-5|g\n");
        let range = Range::new("1d".parse().expect("1d"), time(NOON), time(NOON));
        let new = stats.values("new", range).expect("values");
        assert_eq!(json(&new[0].values), r#"{"value":-3}"#);

        let many: PathValues = (0..2000)
            .map(|number| (path(&format!("p{number:04}.x")), Number::ONE))
            .collect();
        let hour_ago = Timestamp::from_second(ago(3600)).expect("a time");
        stats
            .submit(Write::assert("wide", hour_ago, many))
            .expect("asserted");
        let more = packed(r#"{"p1234":{"x":4},"p0007":{"x":-1}}"#);
        stats
            .submit(Write::adjust("wide", time(NOON), more))
            .expect("adjusted");
        let range = Range::new("1m".parse().expect("1m"), time(NOON), time(NOON));
        let wide = stats.values("wide", range).expect("values");
        assert_eq!(
            json(&wide[0].values),
            r#"{"p0007":{"x":0},"p1234":{"x":5}}"#
        );
    });
}

#[test]
fn prometheus_text() {
    let text = concat!(
        "# HELP http_requests_total The total.\n# TYPE http_requests_total counter\n",
        "http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n",
        "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"no \\\"x\\\"\\nfile\",} 1.458255915e9\n",
        "metric_without_timestamp_and_labels 12.47\n",
        "spaced { a = \"b\" } 1\n",
        "http_bucket{le=\"+Inf\"} 144320\n",
    );
    let imported = import::prometheus(text, time(NOON));
    assert!(imported.skipped.is_empty(), "{:?}", imported.skipped);
    assert_eq!(
        shown(&imported),
        [
            r#"http_requests_total{code="200",method="post"} = {"value":1027}"#,
            r#"msdos_file_access_time_seconds{error="no \"x\"\nfile",path="C:\\DIR\\FILE.TXT"} = {"value":1458255915}"#,
            r#"metric_without_timestamp_and_labels = {"value":12.47}"#,
            r#"spaced{a="b"} = {"value":1}"#,
            r#"http_bucket{le="+Inf"} = {"value":144320}"#,
        ]
    );
    assert_eq!(imported.writes[0].at, time("2014-03-17T14:26:03Z"));
    assert_eq!(imported.writes[2].at, time(NOON));
    let wrong = "a NaN\na +Inf\na\na{b} 1\na{b=\"c 1\na 1 2 3\na 1 x\na{b=c} 1\n{a=\"b\"} 1\n";
    assert_eq!(import::prometheus(wrong, time(NOON)).skipped.len(), 9);
}

#[test]
fn any_text_is_parsed_without_panic() {
    seed::run("any_text_is_parsed_without_panic", |random| {
        let letters: Vec<char> = "ab:|@#,cgms{}=\"\\ 0159.-é\n".chars().collect();
        for _ in 0..3000 {
            let length = random.random_range(0..40);
            let text: String = (0..length)
                .map(|_| letters[random.random_range(0..letters.len())])
                .collect();
            let _ = (
                import::statsd(&text, time(NOON)),
                import::prometheus(&text, time(NOON)),
            );
        }
    });
}

/// Valid lines, as a start for random ones.
const LINES: [&str; 7] = [
    "hits:3:-4.5e3|c|@0.1|#host:a,canary",
    "mm:1|c:2|c|@0.5:40|ms",
    "heap:+12.5|g",
    "took:320|ms|@0.5|T1700000000",
    "users:a.b|s",
    r#"http_requests_total{method="post",code="2\"00\\"} 1027 1395066363000"#,
    "# TYPE http_requests_total counter",
];

#[test]
fn nearly_valid_lines_are_parsed_without_panic_and_their_writes_can_be_stored() {
    seed::run("lines_that_are_nearly_right", |random| {
        let fixture = Fixture::new("memory:");
        let stats = fixture.stats();
        let letters: Vec<char> = "ab:|@#,cgmsT{}=\"\\ 0159.+-eé\n\u{0}\u{10ffff}"
            .chars()
            .collect();
        let mut stored = 0;
        for _ in 0..4000 {
            let mut text: Vec<char> = LINES[random.random_range(0..LINES.len())].chars().collect();
            for _ in 0..random.random_range(0..4) {
                let at = random.random_range(0..text.len().max(1)).min(text.len());
                let letter = letters[random.random_range(0..letters.len())];
                match random.random_range(0..4) {
                    0 if at < text.len() => drop(text.remove(at)),
                    1 if at < text.len() => text[at] = letter,
                    2 => text.extend_from_within(at..),
                    _ => text.insert(at, letter),
                }
            }
            let text: String = text.into_iter().collect();
            for read in [import::statsd, import::prometheus] {
                for write in read(&text, time(NOON)).writes {
                    // A sum out of range is rejected; nothing else is.
                    stored += usize::from(stats.submit(write).is_ok());
                }
            }
        }
        assert!(stored > 1000, "{stored} writes were stored");
    });
}

#[test]
fn json_lines_are_writes() {
    let fixture = Fixture::new("memory:");
    let stats = fixture.stats();
    let lines = r#"
        {"metric":"orders","at":"2025-03-05T12:00:30Z","values":{"count":1,"of":{"a.b":0.1}}}
        {"metric":"orders","at":"2025-03-05T12:00:31Z","values":{"count":2,"of":{"a.b":0.2}},"action":"track"}
        {"metric":"orders","at":"2025-03-05T12:00:32Z","values":{"stock":7},"action":"assert","labels":{}}
        {"metric":"orders","at":"2025-03-05T12:00:33Z","values":{"ms":15},"action":"assort","classes":{"linear":[0,100,10]},"untracked":true}
        {"metric":"orders","at":"2025-03-05T12:00:34Z","paths":{"of.a\\.b":0.4,"of.c":1}}
        {"metric":"orders","values":{"count":1},"action":"forget"}
        {"metric":"orders","values":{"count":"x"}}
        {"metric":"orders","values":{"count":1},"at":"noon"}
        {"metric":"orders","values":{"count":1},"id":"mine"}
        ["orders"]
        {"metric":"","values":{"count":1}}
        {"metric":"orders","paths":{"a":{"b":1}}}
        {"metric":"orders","paths":{"a":1,"a":2}}
        {"metric":"orders","paths":{"a":1},"values":{"a":1}}
        {"metric":"orders"}
    "#;
    let report = stats
        .import(import::Format::Jsonl, time(NOON), &mut lines.as_bytes())
        .unwrap();
    assert_eq!((report.writes, report.skipped), (5, 10), "{report:?}");
    let skipped_lines: Vec<usize> = report.lines.iter().map(|line| line.line).collect();
    assert_eq!(skipped_lines, Vec::from_iter(7..=16));
    let granularity = "1m".parse().unwrap();
    let at = time("2025-03-05T12:00:00Z");
    let values = stats
        .values("orders", Range::new(granularity, at, at))
        .unwrap();
    let expected = r#"{"count":3,"of":{"a.b":0.7,"c":1},"stock":7,"ms":{"20":1}}"#;
    assert_eq!(values[0].values, packed(expected));
}

#[test]
fn json_and_csv() {
    let point = |at: &str, values: &str| Point {
        at: time(at),
        values: packed(values),
    };
    let points = [
        point(
            "2025-03-30T00:00:00Z",
            r#"{"a":1.50,"b":{"x,\"y":18446744073709551615}}"#,
        ),
        point("2025-03-30T01:00:00Z", "{}"),
    ];
    let calendar = Calendar::new("Europe/Bratislava", Weekday::Monday).expect("a zone");
    assert_eq!(
        output::json(&points, &calendar).expect("JSON"),
        r#"{"at":["2025-03-30T01:00:00+01:00","2025-03-30T03:00:00+02:00"],"values":[{"a":1.5,"b":{"x,\"y":18446744073709551615}},{}]}"#
    );
    assert_eq!(
        output::csv(&points, &calendar),
        "at,a,\"b.x,\"\"y\"\r\n2025-03-30T01:00:00+01:00,1.5,18446744073709551615\r\n2025-03-30T03:00:00+02:00,,\r\n"
    );
    assert_eq!(output::csv(&[], &calendar), "at\r\n");
}

#[test]
fn times_are_parsed_in_local_time() {
    let calendar = Calendar::new("Europe/Bratislava", Weekday::Monday).expect("a zone");
    for (text, expected) in [
        ("2025-03-05T12:00:30Z", "2025-03-05T13:00:30+01:00"),
        ("2025-07-05T12:00:30.5+05:30", "2025-07-05T08:30:30.5+02:00"),
        ("2025-07-05", "2025-07-05T00:00:00+02:00"),
        ("2025-10-26T02:30", "2025-10-26T02:30:00+02:00"),
    ] {
        let at = calendar.read_time(text).expect(text);
        assert_eq!(calendar.show_time(at), expected, "{text}");
    }
    for wrong in ["", "noon", "2025-13-01", "12:00", "2025-03-05T25:00"] {
        assert!(calendar.read_time(wrong).is_err(), "{wrong}");
    }
}
