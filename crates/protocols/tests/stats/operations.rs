//! Each operation, with its errors.

use std::sync::Arc;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::intake::Intake;
use espalier_protocols::stats::router;
use espalier_stats::{Stats, SystemClock};
use serde_json::{Value, json};

use crate::served::{HttpResponse, JSON, LINES, Server};

pub fn start() -> Server {
    let driver = Arc::new(Memory::new(Config::default()));
    let stats = Stats::open(driver, &[0x20], Arc::new(SystemClock)).expect("statistics");
    Server::start(router(Arc::new(stats), Intake::default()))
}

pub const AT: &str = "2025-03-05T12:00:30Z";
pub const HOUR: &str = "granularity=1h&from=2025-03-05T12:00:00Z&to=2025-03-05T12:59:59Z";

pub fn post(server: &Server, what: &str, body: &Value) -> HttpResponse {
    server.send("POST", &format!("/stats/{what}"), body)
}

/// The values of the single bucket of an hour.
fn values(server: &Server, metric: &str) -> Value {
    let response = server
        .get(&format!("/stats/values?metric={metric}&{HOUR}"))
        .with(200);
    response.json()["values"][0].clone()
}

#[test]
fn values_are_added_set_and_counted_by_class_exactly() {
    let server = start();
    let track = json!({"metric": "signup", "at": AT, "values": {"count": 2, "plan": {"pro": 1}}});
    for _ in 0..3 {
        let done = post(&server, "track", &track).with(200);
        assert_eq!(done.json(), json!({"outcome": "done"}));
    }
    assert_eq!(
        values(&server, "signup"),
        json!({"count": 6, "plan": {"pro": 3}})
    );
    let exact =
        r#"{"metric":"stock","at":"2025-03-05T12:00:30Z","values":{"a":9007199254740993,"b":0.1}}"#;
    let media = [("content-type", "application/json")];
    for _ in 0..3 {
        server
            .request("POST", "/stats/track", &media, Some(exact))
            .with(200);
    }
    let text = server
        .get(&format!("/stats/values?metric=stock&{HOUR}"))
        .with(200)
        .body;
    assert!(
        text.contains("27021597764222979") && text.contains("0.3"),
        "{text}"
    );
    let set = json!({"metric": "signup", "at": AT, "values": {"count": 1}});
    post(&server, "assert", &set).with(200);
    assert_eq!(
        values(&server, "signup"),
        json!({"count": 1, "plan": {"pro": 3}})
    );
    let sort = json!({"metric": "ms", "at": AT, "values": {"get": 15}, "classes": {"linear": [0, 100, 10]}});
    post(&server, "assort", &sort).with(200);
    assert_eq!(values(&server, "ms"), json!({"get": {"20": 1}}));
}

#[test]
fn several_writes_are_one_commit_and_applied_once_per_id() {
    let server = start();
    let one = |action: &str, metric: &str| json!({"action": action, "metric": metric, "at": AT, "values": {"n": 1}});
    let body = json!({"id": "batch-1", "writes": [one("track", "a"), one("track", "b"), one("track", "a")]});
    assert_eq!(
        post(&server, "writes", &body).with(200).json()["outcome"],
        "done"
    );
    assert_eq!(
        post(&server, "writes", &body).with(200).json()["outcome"],
        "repeated"
    );
    assert_eq!(
        (values(&server, "a"), values(&server, "b")),
        (json!({"n": 2}), json!({"n": 1}))
    );
    let bad = json!({"writes": [one("track", "c"), {"action": "track", "metric": "c", "values": {"n": "x"}}]});
    let problem = post(&server, "writes", &bad).with(400);
    let detail = problem.json()["detail"].as_str().expect("text").to_owned();
    assert!(detail.contains("writes[1]"), "{detail}");
    assert_eq!(values(&server, "c"), json!({}), "nothing was applied");
}

#[test]
fn series_aggregate_group_compute_and_return_quantiles() {
    let server = start();
    for (host, count) in [("one", 3), ("two", 5)] {
        let body = json!({"metric": "http", "labels": {"host": host}, "at": AT, "values": {"count": count, "ms": 10 * count}});
        post(&server, "track", &body).with(200);
    }
    let series = |rest: &str| {
        server
            .get(&format!("/stats/series?metric=http&{HOUR}&{rest}"))
            .with(200)
            .json()
    };
    assert_eq!(
        series("aggregate=sum&path=count"),
        json!({"series": [{"labels": {}, "sum": [8]}]})
    );
    let grouped = series("aggregate=sum&path=count&group-by=host");
    assert_eq!(
        grouped["series"][0],
        json!({"labels": {"host": "one"}, "sum": [3]})
    );
    let top = series("top=1&path=count&group-by=host");
    assert_eq!(
        top,
        json!({"series": [{"labels": {"host": "two"}, "total": 5}]})
    );
    let computed = series("expression=a%20/%20b&of=ms&of=count&as=each&path=each&aggregate=mean");
    assert_eq!(computed["series"][0]["mean"], json!([10]));
    let nothing = series("expression=a%20/%200&of=ms&as=each&path=each");
    let line = nothing["series"][0]["timeline"]["each"][0].as_array();
    assert!(line.is_some_and(|points| points.iter().all(|point| point[1].is_null())));
    let line = series("path=count");
    assert_eq!(line["series"][0]["timeline"]["count"][0][0][1], 8);
    for ms in 1..=100 {
        post(
            &server,
            "observe",
            &json!({"metric": "took", "at": AT, "values": {"ms": ms}}),
        )
        .with(200);
    }
    let found = server.get(&format!(
        "/stats/series?metric=took&{HOUR}&path=ms&quantile=0.5&quantile=0.99"
    ));
    let found = found.with(200).json();
    let median = found["quantiles"]["0.5"].as_f64().expect("a number");
    assert!(
        found["count"] == 100 && (49.0..=52.0).contains(&median),
        "{found}"
    );
    let both = server.get(&format!(
        "/stats/series?metric=http&{HOUR}&top=1&aggregate=sum&path=count"
    ));
    assert_eq!(both.with(400).json()["kind"], "request");
}

#[test]
fn an_import_with_an_id_is_applied_once() {
    let server = start();
    let named = |lines| {
        let path = "/stats/import?format=statsd&id=of-others";
        server.request("POST", path, LINES, Some(lines))
    };
    for (lines, writes, repeated) in [("n:1|c", 1, 0), ("n:1|c", 0, 1), ("n:1|c\nn:1|c", 1, 1)] {
        let imported = named(lines).with(200).json();
        let counted = (&imported["writes"], &imported["repeated"]);
        assert_eq!(counted, (&json!(writes), &json!(repeated)), "{lines}");
    }
    named("n:2|c").with(400);
}

#[test]
fn statuses_metrics_settings_and_imports() {
    let server = start();
    let beam = |at: &str, up: bool| json!({"metric": "worker", "at": at, "status": {"up": up}});
    assert_eq!(
        post(&server, "beam", &beam(AT, true)).with(200).json()["outcome"],
        "latest"
    );
    let older = post(&server, "beam", &beam("2025-03-05T11:00:00Z", false)).with(200);
    assert_eq!(older.json()["outcome"], "outdated");
    let found = server.get("/stats/scan?metric=worker").with(200).json();
    assert_eq!(found["status"], json!({"up": true}));
    assert_eq!(
        server.get("/stats/scan?prefix=wor").with(200).json()["statuses"][0],
        found
    );
    server.get("/stats/scan?metric=nobody").with(404);

    let lines = "hits:3|c|#host:a\nnonsense\nload:0.5|g";
    let imported = server
        .request("POST", "/stats/import?format=statsd", LINES, Some(lines))
        .with(200)
        .json();
    assert_eq!(
        (&imported["writes"], &imported["skipped"]),
        (&json!(2), &json!(1)),
        "{imported}"
    );
    assert_eq!(imported["lines"][0]["line"], 2);

    let metrics = server.get("/stats/keys?prefix=hi").with(200).json();
    assert_eq!(
        metrics,
        json!({"metrics": [{"metric": "hits", "labels": {"host": "a"}}]})
    );
    server
        .request("DELETE", "/stats/keys?metric=hits", &[], None)
        .with(404);
    server
        .request(
            "DELETE",
            "/stats/keys?metric=hits&label=host%3Da",
            &[],
            None,
        )
        .with(204);
    assert_eq!(
        server.get("/stats/keys?prefix=hi").with(200).json(),
        json!({"metrics": []})
    );

    let media = [("content-type", "application/json")];
    let change = |body: &str| server.request("PATCH", "/stats/settings", &media, Some(body));
    let kept = change(r#"{"retention":{"1m":604800},"list-active":false}"#)
        .with(200)
        .json();
    assert_eq!(kept["retention"], json!({"1m": 604_800}));
    assert_eq!(server.get("/stats/settings").with(200).json(), kept);
    assert_eq!(
        change(r#"{"time-zone":"Europe/Prague"}"#).with(409).json()["kind"],
        "settings"
    );
    change(r#"{"time-zone":"Nowhere/Land"}"#).with(400);
    change(r#"{"unknown":1}"#).with(400);
}

#[test]
fn errors_name_the_cause() {
    let server = start();
    for (path, word) in [
        ("/stats/values", "metric"),
        ("/stats/values?metric=a&granularity=7x", "7x"),
        ("/stats/values?metric=a&granularity=2h", "1h"),
        ("/stats/values?metric=a&from=yesterday", "yesterday"),
        ("/stats/values?metric=a&label=host", "NAME=VALUE"),
        ("/stats/values?metric=a&format=xml", "csv"),
        ("/stats/series?metric=a&aggregate=median&path=b", "median"),
        (
            "/stats/series?metric=a&expression=a%2B&of=b&as=c",
            "expression",
        ),
    ] {
        let problem = server.get(path).with(400);
        assert_eq!(problem.header("content-type"), "application/problem+json");
        let detail = problem.json()["detail"].as_str().expect("text").to_owned();
        assert!(detail.contains(word), "{path}: {detail}");
    }
    let problem = post(
        &server,
        "assort",
        &json!({"metric": "a", "values": {"b": 1}}),
    )
    .with(400);
    assert!(problem.body.contains("classes"), "{problem:?}");
    let problem = post(
        &server,
        "track",
        &json!({"metric": "a", "values": {"b": 1}, "valeus": 1}),
    )
    .with(400);
    assert!(problem.body.contains("valeus"), "{problem:?}");
    let not = server.get("/stats/track").with(405);
    assert!(not.header("allow").contains("POST"), "{not:?}");
}

#[test]
fn values_are_csv_on_request() {
    let server = start();
    post(
        &server,
        "track",
        &json!({"metric": "a", "at": AT, "values": {"b": 1}}),
    )
    .with(200);
    let path = format!("/stats/values?metric=a&{HOUR}");
    let csv = server
        .request("GET", &path, &[("accept", "text/csv")], None)
        .with(200);
    assert_eq!(csv.header("content-type"), "text/csv");
    assert!(csv.body.starts_with("at,b"), "{}", csv.body);
    assert_eq!(
        server.get(&format!("{path}&format=csv")).with(200).body,
        csv.body
    );
}

#[test]
fn the_description_has_every_operation_and_no_undefined_schemas() {
    let server = start();
    let description = server.get("/openapi/stats.json").with(200).json();
    assert_eq!(description["openapi"], "3.1.0");
    let schemas = description["components"]["schemas"]
        .as_object()
        .expect("schemas");
    let text = description.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().expect("a name");
        assert!(schemas.contains_key(name), "{name}");
    }
    let paths = description["paths"].as_object().expect("paths");
    let operations = paths
        .values()
        .map(|path| path.as_object().expect("methods").len());
    assert_eq!(operations.sum::<usize>(), 14);
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            // Every described operation is routed: never 404 of the router, never 405.
            let response = server.request(
                &method.to_uppercase(),
                path,
                JSON,
                (method != "get" && method != "delete").then_some("{}"),
            );
            assert!(
                ![404, 405].contains(&response.status),
                "{method} {path}: {response:?}"
            );
        }
    }
}
