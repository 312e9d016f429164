//! Series: aggregates, slices, plot formats, expressions; queries over labels; quantiles.

mod fixture;

use std::collections::BTreeMap;

use espalier_stats::{
    Aggregate, Expression, Metric, Number, Path, PathValues, Pattern, Point, Query, Range, Request,
    Series, Sketch, Stats, Timestamp, Write,
};
use espalier_testkit::seed;
use fixture::{json, number, on_every_engine, packed, path, time};
use rand::Rng;

fn series(points: &[&str]) -> Series {
    let point = |(index, text): (usize, &&str)| Point {
        at: Timestamp::from_second(3600 * index as i64).expect("a time"),
        values: packed(text),
    };
    Series::new(points.iter().enumerate().map(point).collect())
}

fn aggregate(series: &Series, name: &str, slices: usize) -> Vec<Option<String>> {
    let aggregate: Aggregate = name.parse().expect("an aggregate");
    let numbers = series
        .aggregate(aggregate, &path("a"), slices)
        .expect("enough points");
    numbers
        .into_iter()
        .map(|number| number.map(|number| number.to_string()))
        .collect()
}

fn some(numbers: &[&str]) -> Vec<Option<String>> {
    numbers
        .iter()
        .map(|number| Some((*number).to_owned()))
        .collect()
}

#[test]
fn aggregates_skip_absent_values() {
    let series = series(&[r#"{"a":1}"#, "{}", r#"{"a":2.5,"b":7}"#]);
    for (name, expected) in [
        ("sum", "3.5"),
        ("mean", "1.75"),
        ("min", "1"),
        ("max", "2.5"),
        ("count", "2"),
    ] {
        assert_eq!(aggregate(&series, name, 1), some(&[expected]), "{name}");
    }
    let none = self::series(&["{}"]);
    assert_eq!(aggregate(&none, "sum", 1), some(&["0"]));
    assert_eq!(aggregate(&none, "mean", 1), some(&["0"]));
    assert_eq!(aggregate(&none, "min", 1), [None]);
    assert_eq!(aggregate(&Series::default(), "max", 1), [None]);
    assert!("median".parse::<Aggregate>().is_err());
}

#[test]
fn slices_leave_out_the_oldest() {
    let texts: Vec<_> = (1..=7).map(|value| format!(r#"{{"a":{value}}}"#)).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let series = series(&texts);
    assert_eq!(aggregate(&series, "sum", 3), some(&["5", "9", "13"]));
    assert_eq!(aggregate(&series, "sum", 7).len(), 7);
    assert!(series.aggregate(Aggregate::Sum, &path("a"), 8).is_err());
    assert!(series.aggregate(Aggregate::Sum, &path("a"), 0).is_err());
}

#[test]
fn timelines_and_categories_expand_groups_and_wildcards() {
    let series = series(&[
        r#"{"s":{"200":3,"404":1},"n":4}"#,
        r#"{"s":{"200":2},"n":2}"#,
    ]);
    let paths = |pattern: &str| {
        let paths = series.paths(&Pattern::parse(pattern).expect("a pattern"));
        paths.iter().map(Path::to_string).collect::<Vec<_>>()
    };
    assert_eq!(paths("s"), ["s.200", "s.404"]);
    assert_eq!(paths("s.*"), ["s.200", "s.404"]);
    assert_eq!(paths("*"), ["n", "s.200", "s.404"]);
    assert_eq!(paths("*.404"), ["s.404"]);
    let pattern = Pattern::parse("s.*").expect("a pattern");
    let timeline = series.timeline(&pattern, 1).expect("one slice");
    let second = &timeline[&path("s.404")][0];
    assert_eq!(
        second.iter().map(|(_, number)| *number).collect::<Vec<_>>(),
        [Some(Number::ONE), None]
    );
    let categories = series.category(&pattern, 1).expect("one slice");
    assert_eq!(
        categories[0],
        BTreeMap::from([
            ("s.200".to_owned(), number("5")),
            ("s.404".to_owned(), number("1"))
        ])
    );
    let renamed = series
        .category_by(&pattern, 2, |_, number| ("all".to_owned(), number))
        .expect("two slices");
    assert_eq!(
        renamed.iter().map(|slice| slice["all"]).collect::<Vec<_>>(),
        [number("4"), number("2")]
    );
    assert_eq!(
        series.top(&pattern, 1).expect("totals"),
        [("s.200".to_owned(), number("5"))]
    );
}

fn value(expression: &str, values: &str) -> Option<String> {
    let paths = [path("x"), path("y")];
    let expression = Expression::parse(&paths, expression)
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    expression
        .value(&packed(values))
        .map(|number| number.to_string())
}

#[test]
fn expressions_are_evaluated_exactly() {
    for (expression, expected) in [
        ("a + b * 2", "7"),
        ("(a + b) * 2", "8"),
        ("-a - -b", "2"),
        ("b / 4", "0.75"),
        ("1 - 2 - 3", "-4"),
        ("sum(a, b, 1.5)", "5.5"),
        ("mean(a,b)", "2"),
        ("avg(a, b, 2)", "2"),
        ("min(a, b)", "1"),
        ("max(a, b)", "3"),
        ("sqrt(b * 3)", "3"),
        ("12 / 3 / 2", "2"),
        ("+a", "1"),
        ("1e2 * .5", "50"),
        ("a*0.1+a*0.2", "0.3"),
    ] {
        assert_eq!(
            value(expression, r#"{"x":1,"y":3}"#).as_deref(),
            Some(expected),
            "{expression}"
        );
    }
    for nothing in ["a / 0", "sqrt(0 - a)", "1e300 * 1e300"] {
        assert_eq!(value(nothing, r#"{"x":1,"y":3}"#), None, "{nothing}");
    }
    assert_eq!(value("a + b", r#"{"x":1}"#), None);
}

#[test]
fn errors_in_expressions_have_their_column() {
    for (expression, column) in [
        ("a +", 4),
        ("c", 1),
        ("a b", 3),
        ("(a", 3),
        ("a ? b", 3),
        ("median(a)", 1),
        ("sqrt(a, b)", 1),
        ("", 1),
        (")", 1),
        ("sum()", 5),
        ("A", 1),
        ("1.2.3", 1),
        ("a ** b", 4),
    ] {
        let error = Expression::parse(&[path("x"), path("y")], expression)
            .expect_err(expression)
            .to_string();
        assert!(
            error.starts_with(&format!("column {column}: ")),
            "{expression}: {error}"
        );
    }
    assert!(Expression::parse(&[], &"(".repeat(100)).is_err());
    assert!(Expression::parse(&vec![path("x"); 27], "1").is_err());
}

#[test]
fn random_text_does_not_panic() {
    seed::run("random_text_does_not_panic", |random| {
        let letters: Vec<char> = "ab+-*/(),. 1e9sumxq\\é".chars().collect();
        for _ in 0..5000 {
            let length = random.random_range(0..20);
            let text: String = (0..length)
                .map(|_| letters[random.random_range(0..letters.len())])
                .collect();
            if let Ok(expression) = Expression::parse(&[path("x"), path("y")], &text) {
                let _ = expression.value(&packed(r#"{"x":3,"y":-2.5}"#));
            }
            let _ = (
                Path::parse(&text),
                Pattern::parse(&text),
                text.parse::<Number>(),
            );
        }
    });
}

#[test]
fn transponding_adds_a_value_where_there_is_one() {
    let mut series = series(&[r#"{"sum":10,"count":4}"#, r#"{"sum":10,"count":0}"#, "{}"]);
    let expression =
        Expression::parse(&[path("sum"), path("count")], "a / b").expect("an expression");
    series.transpond(&expression, &path("stats.average"));
    let values: Vec<_> = series
        .points()
        .iter()
        .map(|point| json(&point.values))
        .collect();
    assert_eq!(
        values,
        [
            r#"{"count":4,"stats":{"average":2.5},"sum":10}"#,
            r#"{"count":0,"sum":10}"#,
            "{}"
        ]
    );
}

const NOON: &str = "2025-03-05T12:00:30Z";

#[test]
fn a_path_without_any_result_is_kept() {
    let mut series = series(&[r#"{"a":1}"#, "{}"]);
    let expression = Expression::parse(&[path("a")], "a / 0").expect("an expression");
    series.transpond(&expression, &path("b"));
    let pattern: Pattern = "b".parse().expect("a pattern");
    let lines = series.timeline(&pattern, 1).expect("a timeline");
    let numbers =
        |path: &Path| -> Vec<_> { lines[path][0].iter().map(|(_, number)| *number).collect() };
    assert_eq!(numbers(&path("b")), [None, None]);
    assert_eq!(lines.len(), 1);
    assert!(series.category(&pattern, 1).expect("totals")[0].is_empty());
    let all: Pattern = "*".parse().expect("a pattern");
    assert_eq!(series.timeline(&all, 1).expect("a timeline").len(), 2);
}

fn day() -> Range {
    let granularity = "1h".parse().expect("a granularity");
    Range::new(
        granularity,
        time("2025-03-05T00:00:00Z"),
        time("2025-03-05T23:59:59Z"),
    )
    .skip_blanks()
}

fn labelled(stats: &Stats) {
    for (host, status, count) in [
        ("a", "200", 5),
        ("b", "200", 7),
        ("a", "404", 1),
        ("b", "500", 20),
    ] {
        let metric = Metric::new("http")
            .label("host", host)
            .label("status", status);
        let values = PathValues::one(path("count"), Number::from(count));
        stats.track(metric, time(NOON), values).expect("tracked");
    }
    stats
        .track("http", time(NOON), packed(r#"{"count":100}"#))
        .expect("tracked");
}

fn totals(stats: &Stats, query: &Query) -> Vec<String> {
    let groups = stats.query(query).expect("groups");
    let total = |group: &espalier_stats::Group| {
        let labels: Vec<_> = group.labels.values().map(String::as_str).collect();
        labels.join(",") + &json(&group.series.points()[0].values)
    };
    groups.iter().map(total).collect()
}

#[test]
fn metrics_are_read_together_and_in_groups_by_labels() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        labelled(&stats);
        let all = Query::new("http", day());
        assert_eq!(totals(&stats, &all), [r#"{"count":133}"#]);
        let by_host = all.clone().group_by("host");
        assert_eq!(
            totals(&stats, &by_host),
            [r#"{"count":100}"#, r#"a{"count":6}"#, r#"b{"count":27}"#]
        );
        let good = all.clone().label("status", "200").group_by("host");
        assert_eq!(
            totals(&stats, &good),
            [r#"a{"count":5}"#, r#"b{"count":7}"#]
        );
        assert_eq!(
            totals(&stats, &all.clone().label("status", "")),
            [r#"{"count":100}"#]
        );
        assert!(totals(&stats, &Query::new("none", day())).is_empty());
    });
}

#[test]
fn the_largest_groups_come_first() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        labelled(&stats);
        let query = Query::new("http", day()).group_by("status");
        let top = stats.top(&query, &path("count"), 2).expect("ranked");
        let top: Vec<_> = top
            .iter()
            .map(|(group, total)| format!("{}={total}", group.labels["status"]))
            .collect();
        assert_eq!(top, ["=100", "500=20"]);
        let many = [(Metric::new("http"), day()), (Metric::new("none"), day())];
        let many: Vec<_> = stats
            .values_of_metrics(&many)
            .expect("read")
            .iter()
            .map(Vec::len)
            .collect();
        assert_eq!(many, [1, 0]);
    });
}

#[test]
fn no_quantile_is_outside_the_range_of_the_values() {
    let mut sketch = Sketch::default();
    for value in [-5.0, 7.0, -5.0] {
        sketch.observe(Number::from_f64(value).expect("finite"));
    }
    for quantile in [0.0, 0.1, 0.5, 0.9, 1.0] {
        let value = sketch
            .quantile(quantile)
            .expect("in range")
            .expect("observed");
        assert!((-5.0..=7.0).contains(&value), "{quantile}: {value}");
    }
}

/// If values spanned more than 17.8 powers of ten, the smallest were combined, and the median 1e-5 was
/// reported as 0.2.
#[test]
fn quantiles_of_values_of_all_sizes_are_close() {
    on_every_engine(|fixture| {
        let stats = fixture.stats();
        let at = time(NOON);
        let mut all: Vec<f64> = (-100..=100)
            .flat_map(|tens| [1.5, -2.5].map(|digits| digits * 10_f64.powi(3 * tens)))
            .collect();
        all.extend([0.0, 3e-10, 1e18, f64::MAX, f64::MIN, f64::MIN_POSITIVE]);
        let writes = all.iter().map(|&value| {
            let values = PathValues::one(path("v"), Number::from_f64(value).expect("finite"));
            Write::observe("sizes", at, values)
        });
        stats.submit(Request::new(writes)).expect("observed");
        all.sort_by(f64::total_cmp);
        let sketch = stats.sketch("sizes", day(), &path("v")).expect("a sketch");
        for (rank, exact) in all.iter().enumerate() {
            let part = (rank as f64 + 0.01) / (all.len() as f64 - 1.0);
            let estimate = sketch.quantile(part.min(1.0)).expect("in range");
            let estimate = estimate.expect("observed");
            let close = (estimate - exact).abs() <= 0.0101 * exact.abs();
            assert!(close, "{rank}: {estimate}, not {exact}");
        }
    });
}

#[test]
fn quantiles_of_several_buckets_are_those_of_all_values() {
    on_every_engine(|fixture| {
        let mut stats =
            fixture.stats_with(|settings| settings.system = espalier_stats::SystemMetric::Off);
        let from = time("2025-03-05T00:00:00Z").as_second();
        let mut all = Vec::new();
        seed::run(
            "quantiles_of_several_buckets_are_those_of_all_values",
            |random| {
                for _ in 0..40 {
                    let value: f64 = random.random_range(0.0..1.0_f64).powi(4) * 1000.0;
                    let at = Timestamp::from_second(from + random.random_range(0..86_400))
                        .expect("a time");
                    let values =
                        PathValues::one(path("ms"), Number::from_f64(value).expect("finite"));
                    stats
                        .submit(Write::observe("latency", at, values))
                        .expect("observed");
                    all.push(value);
                }
            },
        );
        all.sort_by(f64::total_cmp);
        fixture.restart(&mut stats);
        let sketch = stats
            .sketch("latency", day(), &path("ms"))
            .expect("a sketch");
        assert_eq!(sketch.count(), 40);
        for quantile in [0.0, 0.5, 0.9, 0.99, 1.0] {
            let exact = all[(quantile * 39.0) as usize];
            let found = sketch
                .quantile(quantile)
                .expect("in range")
                .expect("observed");
            assert!(
                (found - exact).abs() <= 0.02 * exact.abs() + 1e-9,
                "{quantile}: {found}, not {exact}"
            );
        }
        let yearly = Range::new("1y".parse().expect("a granularity"), time(NOON), time(NOON));
        assert_eq!(
            stats
                .sketch("latency", yearly, &path("ms"))
                .expect("a sketch")
                .count(),
            40
        );
        assert!(sketch.quantile(1.5).is_err());
        assert_eq!(
            stats
                .sketch("none", day(), &path("ms"))
                .expect("empty")
                .quantile(0.5)
                .expect("in range"),
            None
        );
    });
}
