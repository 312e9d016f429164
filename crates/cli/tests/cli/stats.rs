//! Statistics from the command line, on every engine in a folder.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::Sandbox;

const ENGINES: [&str; 3] = ["embedded:counts", "file:files", "sqlite:counts.sqlite"];

/// Noon of a day on which clocks in Bratislava were put forward.
const NOON: &str = "2025-03-30T12:00:30+02:00";

struct StatsStore {
    sandbox: Sandbox,
    url: &'static str,
}

impl StatsStore {
    fn new(url: &'static str) -> Self {
        let store = Self {
            sandbox: Sandbox::new(),
            url,
        };
        store.ok(&["configure", "--time-zone", "Europe/Bratislava"]);
        store
    }

    fn arguments<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["stats"], arguments, &["--store", self.url]].concat()
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.sandbox.run(&self.arguments(arguments)).ok()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.sandbox
            .run(&self.arguments(&[arguments, &["--json"]].concat()))
            .json()
    }

    fn failed(&self, arguments: &[&str], status: i32) -> String {
        self.sandbox.run(&self.arguments(arguments)).failed(status)
    }

    fn track(&self, metric: &str, values: &[&str]) {
        self.ok(&[&["track", metric, "--at", NOON], values].concat());
    }

    /// The output of a command for the hour of noon.
    fn hour(&self, command: &[&str]) -> Value {
        self.json(&[command, &["-g", "1h", "--from", NOON, "--to", NOON]].concat())
    }
}

fn on_every_engine(check: impl Fn(&StatsStore)) {
    ENGINES
        .into_iter()
        .for_each(|url| check(&StatsStore::new(url)));
}

#[test]
fn tracked_and_asserted_values_are_read() {
    on_every_engine(|store| {
        store.track("order", &["count=1", "amount=19.90", "by.day\\.name=1"]);
        store.track("order", &[r#"{"count":1,"amount":0.10}"#]);
        store.ok(&[
            "assert",
            "order",
            "stock=9007199254740993",
            "--at",
            NOON,
            "--untracked",
        ]);
        let document = store.ok(&[
            "values", "order", "-g", "1h", "--from", NOON, "--to", NOON, "--json",
        ]);
        assert_eq!(
            document.trim(),
            r#"{"at":["2025-03-30T12:00:00+02:00"],"values":[{"amount":20,"by":{"day.name":1},"count":2,"stock":9007199254740993}]}"#
        );
        let csv = store.ok(&[
            "values",
            "order",
            "-g",
            "1d",
            "--from",
            "2025-03-29",
            "--to",
            "2025-03-31",
            "--format",
            "csv",
        ]);
        let days: Vec<_> = csv
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap_or_default())
            .collect();
        assert_eq!(
            days,
            [
                "2025-03-29T00:00:00+01:00",
                "2025-03-30T00:00:00+01:00",
                "2025-03-31T00:00:00+02:00"
            ]
        );
        let table = store.ok(&["values", "order", "-g", "1y", "--from", NOON, "--to", NOON]);
        assert!(
            table.starts_with("at ") && table.lines().count() == 2,
            "{table}"
        );
        let active = store.hour(&["values", "__system__key__"]);
        assert_eq!(
            active["values"],
            json!([{"count": 3, "keys": {"__untracked__": 1, "order": 2}}])
        );
    });
}

#[test]
fn histograms_and_quantiles() {
    on_every_engine(|store| {
        for value in ["ms=15", "ms=20", "ms=250"] {
            store.ok(&[
                "assort", "latency", value, "--linear", "0,100,10", "--at", NOON,
            ]);
            store.ok(&["observe", "latency", value, "--at", NOON]);
        }
        let values = store.hour(&["values", "latency"]);
        assert_eq!(values["values"], json!([{"ms": {"20": 2, "100+": 1}}]));
        let found = store.hour(&["series", "latency", "--path", "ms", "--quantiles", "0,1"]);
        assert_eq!(found["count"], json!(3));
        let most = found["quantiles"]["1"].as_f64().unwrap();
        assert!((most - 250.0).abs() < 5.0, "{found}");
        store.failed(&["assort", "latency", "ms=1"], 2);
        let output = store.failed(&["observe", "latency", "ms=1", "ms=2"], 2);
        assert!(output.contains("ms is given twice"), "{output}");
        let twice = ["track", "n", "a=1", "--label", "x=1", "--label", "x=2"];
        store.failed(&twice, 2);
        store.failed(&["assort", "latency", "ms=1", "--linear", "0,100"], 2);
    });
}

fn track_hosts(store: &StatsStore) {
    for (host, count) in [("a", "count=6"), ("b", "count=2")] {
        store.ok(&[
            "track",
            "http",
            count,
            "errors=1",
            "--label",
            &format!("host={host}"),
            "--at",
            NOON,
        ]);
    }
}

#[test]
fn series_are_summed_and_computed_with() {
    on_every_engine(|store| {
        track_hosts(store);
        let sum = store.hour(&["series", "http", "--path", "count", "--aggregate", "sum"]);
        assert_eq!(sum, json!({"labels": {}, "sum": [8]}));
        let some = store.hour(&[
            "series",
            "http",
            "--label",
            "host=b",
            "--path",
            "count",
            "--aggregate",
            "max",
        ]);
        assert_eq!(some["max"], json!([2]));
        let rate = [
            "--of",
            "errors",
            "--of",
            "count",
            "--expression",
            "a / b",
            "--as",
            "rate",
            "--path",
            "rate",
        ];
        let rate = store.hour(&[&["series", "http"], &rate[..]].concat());
        assert_eq!(
            rate["timeline"]["rate"],
            json!([[["2025-03-30T12:00:00+02:00", 0.25]]])
        );
        let wrong = ["--of", "a", "--expression", "a +", "--as", "x"];
        let wrong = store.failed(&[&["series", "http"], &wrong[..]].concat(), 2);
        assert!(wrong.contains("column 4"), "{wrong}");
    });
}

#[test]
fn totals_largest_groups_and_plots() {
    on_every_engine(|store| {
        track_hosts(store);
        let category = store.hour(&["series", "http", "--category"]);
        assert_eq!(category["category"], json!([[["count", 8], ["errors", 2]]]));
        let range = ["-g", "1h", "--from", NOON, "--to", NOON];
        let top = store.ok(&[
            &[
                "series",
                "http",
                "--group-by",
                "host",
                "--path",
                "count",
                "--top",
                "2",
            ],
            &range[..],
        ]
        .concat());
        assert_eq!(top, "host=a  6\nhost=b  2\n");
        let plot = store.ok(&[&["series", "http"], &range[..]].concat());
        assert!(
            plot.starts_with("count  █") && plot.contains("sum 8"),
            "{plot}"
        );
    });
}

#[test]
fn the_largest_groups_of_no_metric_are_an_error() {
    on_every_engine(|store| {
        let top = ["--group-by", "host", "--path", "count", "--top", "2"];
        let output = store.failed(&[&["series", "nope"], &top[..]].concat(), 1);
        assert!(output.contains("there is no metric nope"), "{output}");
        // A range from now to now has a bucket.
        store.ok(&["values", "nope", "-g", "1m", "--from", "now"]);
    });
}

#[test]
fn statuses_keys_and_deletion() {
    on_every_engine(|store| {
        let status = r#"{"state":"up","big":12345678901234567890123}"#;
        store.ok(&["beam", "worker::1", status, "--at", NOON]);
        store.ok(&["beam", "worker::1", "{}", "--at", "2025-03-01"]);
        let scanned = store.ok(&["scan", "worker::1", "--json"]);
        assert!(
            scanned.contains(&format!("\"status\":{status}")),
            "{scanned}"
        );
        assert!(
            store
                .ok(&["scan", "worker::", "--prefix"])
                .starts_with("worker::1  2025-03-30")
        );
        store.track("event::a", &["n=1", "--label", "k=v"]);
        assert_eq!(store.ok(&["keys", "event::"]), "event::a{k=\"v\"}\n");
        store.failed(&["delete", "event::a"], 1);
        store.ok(&["delete", "event::a", "--label", "k=v"]);
        assert_eq!(store.ok(&["keys", "event::"]), "");
        store.failed(&["scan", "nobody"], 1);
    });
}

#[test]
fn statsd_prometheus_and_json_lines_are_imported() {
    on_every_engine(|store| {
        store
            .sandbox
            .write("lines.txt", "hits:3|c|#host:a\nnonsense\n");
        let done = store.json(&["import", "--format", "statsd", "lines.txt", "--at", NOON]);
        assert_eq!(
            (&done["writes"], &done["skipped"], &done["lines"][0]["line"]),
            (&json!(1), &json!(1), &json!(2))
        );
        let hits = store.hour(&["values", "hits", "--label", "host=a"]);
        assert_eq!(hits["values"], json!([{"count": 3}]));
        let metrics = b"# TYPE up gauge\nup{job=\"x\"} 1\n";
        let arguments = store.arguments(&["import", "--format", "prometheus", "-"]);
        store.sandbox.run_with(&arguments, metrics, &[]).ok();
        assert_eq!(store.ok(&["keys", "up"]), "up{job=\"x\"}\n");
        let line = format!(r#"{{"metric":"orders","at":"{NOON}","values":{{"count":4}}}}"#);
        store.sandbox.write("writes.jsonl", &line);
        store.ok(&["import", "--format", "jsonl", "writes.jsonl"]);
        let orders = store.hour(&["values", "orders"]);
        assert_eq!(orders["values"], json!([{"count": 4}]));
    });
}

#[test]
fn import_with_request_id_is_done_once() {
    on_every_engine(|store| {
        store.sandbox.write("lines.txt", "n:3|c\nnonsense\nn:4|c\n");
        let import = ["import", "--format", "statsd", "lines.txt", "--at", NOON];
        let import = [&import[..], &["--request-id", "i1"]].concat();
        let done = store.json(&import);
        assert_eq!((&done["writes"], &done["repeated"]), (&json!(2), &json!(0)));
        let again = store.json(&import);
        assert_eq!(
            (&again["writes"], &again["repeated"]),
            (&json!(0), &json!(3))
        );
        let text = store.ok(&import);
        assert!(
            text.contains("the lines up to 3 were done before"),
            "{text}"
        );
        let counted = store.hour(&["values", "n"])["values"].clone();
        assert_eq!(counted, json!([{"count": 7}]));

        store.sandbox.write("lines.txt", "n:3|c\nnonsense\nn:5|c\n");
        let text = store.failed(&import, 1);
        assert!(text.contains("use a different name for this one"), "{text}");
    });
}

/// Several commits, interrupted by SIGKILL at any point, also within a commit.
#[test]
fn killed_and_repeated_import_with_request_id_is_exact() {
    on_every_engine(|store| {
        let lines = 250_000;
        let refused = format!("large:{}|c\n", "9".repeat(38));
        let text: String = (0..lines)
            .map(|line| {
                if line % 50_000 == 0 {
                    &refused
                } else {
                    "n:1|c\n"
                }
            })
            .collect();
        store.sandbox.write("lines.txt", text);
        let import = ["import", "--format", "statsd", "lines.txt", "--at", NOON];
        let import = [&import[..], &["--request-id", "killed"]].concat();
        for milliseconds in [50, 150, 300, 450, 600, 900] {
            let arguments = store.arguments(&import);
            let mut child = store.sandbox.command(&arguments);
            let child = child.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = child.spawn().expect("the binary");
            std::thread::sleep(Duration::from_millis(milliseconds));
            child.kill().expect("killed, or ended");
            child.wait().expect("an end");
        }
        store.json(&import);
        let counted = store.hour(&["values", "n"])["values"].clone();
        assert_eq!(counted, json!([{"count": lines - lines / 50_000}]));
    });
}

#[test]
fn request_with_id_is_done_once() {
    on_every_engine(|store| {
        let track = ["track", "n", "a=1", "--at", NOON, "--request-id", "r1"];
        assert_eq!(store.json(&track), json!({"outcome": "done"}));
        assert_eq!(store.json(&track), json!({"outcome": "repeated"}));
        assert_eq!(store.hour(&["values", "n"])["values"], json!([{"a": 1}]));
    });
}

#[test]
fn settings_are_stored_and_mistakes_are_reported() {
    on_every_engine(|store| {
        let kept = store.json(&[
            "configure",
            "--granularities",
            "1h,1d",
            "--retention",
            "1h=7d",
        ]);
        assert_eq!(kept["granularities"], json!(["1h", "1d"]));
        assert_eq!(kept["retention"], json!({"1h": 604_800}));
        assert_eq!(store.json(&["configure"]), kept);
        assert!(
            store
                .failed(&["configure", "--time-zone", "UTC"], 1)
                .contains("Europe/Bratislava")
        );
        assert!(
            store
                .failed(&["values", "n", "-g", "1m"], 2)
                .contains("1h 1d")
        );
        for wrong in [
            &["track", "n", "a"][..],
            &["track", "n", "a=x"],
            &["track", "n", "a=1", "--at", "noon"],
            &["track", "n", "a=1", "--label", "x"],
            &["track", "n"],
        ] {
            store.failed(wrong, 2);
        }
        store.failed(&["track", "n", "a=1", "--at", "-009000-01-01T00:00Z"], 2);
    });
    let sandbox = Sandbox::new();
    let missing = sandbox
        .run(&["stats", "track", "n", "a=1", "--store", "embedded:nowhere"])
        .failed(2);
    assert!(missing.contains("stats configure"), "{missing}");
    let nothing = sandbox.run(&["stats", "keys", "--json"]);
    assert_eq!(nothing.status, 2);
    let error: Value = serde_json::from_str(&nothing.stdout).expect("JSON");
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("store"),
        "{error}"
    );
}
