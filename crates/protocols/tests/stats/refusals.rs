//! Requests that are rejected instead of being partly ignored, and their errors.

use serde_json::json;

use crate::operations::{AT, HOUR, post, start};
use crate::served::{LINES, Server, problem};

#[test]
fn parameters_that_would_be_ignored_are_rejected() {
    let server = start();
    for (path, words) in [
        ("values?metric=a&metric=b", "metric is given several times"),
        (
            "values?metric=a&granularity=1h&granularity=1d",
            "granularity is given",
        ),
        (
            "values?metric=a&label=h%3D1&label=h%3D2",
            "\"h\" is given twice",
        ),
        (
            "series?metric=a&aggregate=sum&aggregate=max&path=n",
            "aggregate is given",
        ),
        ("series?metric=a&of=n", "of requires expression"),
        ("series?metric=a&as=n", "as requires expression"),
        (
            "series?metric=a&quantile=0.5&path=n&slices=2",
            "quantile and slices",
        ),
        (
            "series?metric=a&quantile=0.5&path=n&group-by=h",
            "quantile and group-by",
        ),
        ("series?metric=a&top=1&slices=2", "top and slices"),
        ("scan?metric=a&prefix=a", "prefix and metric"),
        ("series", "metric is missing"),
    ] {
        problem(server.get(&format!("/stats/{path}")), 400, words);
    }
    let lines = server.request("POST", "/stats/import", LINES, Some("a:1|c"));
    problem(lines, 400, "format is missing");
    problem(
        server.request("DELETE", "/stats/keys", &[], None),
        400,
        "metric is missing",
    );
    let condition = [("if-match", "*")];
    let delete = server.request("DELETE", "/stats/keys?metric=a", &condition, None);
    problem(delete, 400, "not supported by this operation");
    server
        .get(&format!(
            "/stats/series?metric=a&{HOUR}&group-by=a&group-by=b"
        ))
        .with(200);
}

#[test]
fn unknown_paths_are_problems() {
    let server = start();
    for path in ["/stats", "/stats/", "/stats/nosuch", "/stats/keys/"] {
        problem(server.get(path), 404, &format!("no resource at {path}"));
    }
}

#[test]
fn errors_in_bodies_use_the_terms_of_the_api() {
    let server = start();
    let body =
        |classes: &str| format!(r#"{{"metric":"a","values":{{"n":1}},"classes":{classes}}}"#);
    let media = [("content-type", "application/json")];
    let send = |path: &str, body: &str| server.request("POST", path, &media, Some(body));
    for classes in [
        "{}",
        "[]",
        "1",
        r#"{"linear":[0,1]}"#,
        r#"{"linear":[0,100,0.5]}"#,
        r#"{"linear":5}"#,
        r#"{"custom":[1],"linear":[0,1,1]}"#,
        r#"{"quadratic":[1]}"#,
    ] {
        problem(
            send("/stats/assort", &body(classes)),
            400,
            r#"classes: write {"linear":"#,
        );
    }
    problem(
        send("/stats/assort", &body(r#"{"linear":["x",1,1]}"#)),
        400,
        "classes: ",
    );
    problem(
        send("/stats/track", "[1]"),
        400,
        "the body: it is not a JSON object",
    );
    problem(
        send("/stats/writes", r#"{"writes":[[1]]}"#),
        400,
        "writes[0]: it is not a JSON object",
    );
    let labels = r#"{"metric":"a","values":{"n":1},"labels":{"host":5}}"#;
    problem(send("/stats/track", labels), 400, "labels.host: ");
    problem(
        send("/stats/track", r#"{"metric":5,"values":{}}"#),
        400,
        "metric: ",
    );
    problem(
        send("/stats/track", r#"{"metric":"a","values":{"n":"x"}}"#),
        400,
        "values: ",
    );
    problem(send("/stats/track", r#"{"values":{"n":1}}"#), 400, "metric");
}

#[test]
fn a_status_is_returned_as_it_was_written() {
    let server = start();
    let media = [("content-type", "application/json")];
    let deep = format!("{}{}", "[".repeat(3000), "]".repeat(3000));
    for (metric, status) in [
        ("beyond", r#"{"n":1e400}"#),
        ("deep", &deep),
        ("plain", r#"{"b": 1.50, "a":null}"#),
    ] {
        let body = format!(r#"{{"metric":"{metric}","at":"{AT}","status":{status}}}"#);
        server
            .request("POST", "/stats/beam", &media, Some(&body))
            .with(200);
        let shown = server
            .get(&format!("/stats/scan?metric={metric}"))
            .with(200);
        assert!(shown.body.contains(status), "{shown:?}");
    }
    let all = server.get("/stats/scan?prefix=").with(200).body;
    assert!(
        all.contains("1e400") && all.contains(r#""status":{"b": 1.50, "a":null}"#),
        "{all}"
    );
}

fn retention(server: &Server, change: &str) -> serde_json::Value {
    let media = [("content-type", "application/merge-patch+json")];
    let changed = server.request("PATCH", "/stats/settings", &media, Some(change));
    changed.with(200).json()["retention"].clone()
}

/// Regression: among several writes, those that were too old were dropped silently.
#[test]
fn the_number_of_too_old_writes_is_reported() {
    let server = start();
    let settings = server.get("/stats/settings").with(200).json();
    let granularities = settings["granularities"].as_array().expect("granularities");
    let names = granularities.iter().filter_map(|name| name.as_str());
    let short: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), json!(3600))).collect();
    retention(&server, &json!({ "retention": short }).to_string());
    let write = |at: &str| json!({"action": "track", "metric": "m", "values": {"v": 1}, "at": at});
    let several = |times: &[&str]| {
        let writes: Vec<_> = times.iter().map(|at| write(at)).collect();
        let done = server.send("POST", "/stats/writes", &json!({ "writes": writes }));
        done.with(200).json()
    };
    let old = "1999-01-01T00:00:00Z";
    assert_eq!(
        several(&[old, "now", old]),
        json!({"outcome": "done", "too-old": 2})
    );
    assert_eq!(several(&[old, old]), json!({"outcome": "too-old"}));
    assert_eq!(several(&["now"]), json!({"outcome": "done"}));
    let description = server.get("/openapi/stats.json").with(200).json();
    let outcome = &description["components"]["schemas"]["Outcome"]["properties"]["outcome"];
    let outcomes = outcome["enum"].as_array().expect("what there is");
    assert!(outcomes.contains(&json!("too-old")), "{outcomes:?}");
}

#[test]
fn a_range_from_now_to_now_is_valid() {
    let server = start();
    let range = "metric=m&granularity=1m&from=now";
    server.get(&format!("/stats/values?{range}")).with(200);
    server
        .get(&format!("/stats/values?{range}&to=now"))
        .with(200);
}

#[test]
fn settings_are_merged() {
    let server = start();
    retention(&server, r#"{"retention":{"1m":60,"1h":3600}}"#);
    let kept = retention(&server, r#"{"retention":{"1d":86400,"1m":null}}"#);
    assert_eq!(kept, json!({"1h": 3600, "1d": 86_400}));
    assert_eq!(retention(&server, r#"{"list-active":true}"#), kept);
    assert_eq!(retention(&server, r#"{"retention":null}"#), json!({}));
    let media = [("content-type", "application/json")];
    let refused = |change: &str| server.request("PATCH", "/stats/settings", &media, Some(change));
    problem(
        refused(r#"{"time-zone":null}"#),
        400,
        "time-zone cannot be removed",
    );
    problem(refused(r#"{"retention":{"1h":"x"}}"#), 400, "retention");
    problem(refused("[]"), 400, "not an object");
    let patch = [("content-type", "application/json-patch+json")];
    let refused = server.request("PATCH", "/stats/settings", &patch, Some("[]"));
    problem(refused, 415, "application/merge-patch+json");
}

/// The declared content type is trusted, as below `/documents`.
#[test]
fn writes_require_their_media_type() {
    let server = start();
    let write = json!({"metric": "n", "at": AT, "values": {"a": 1}}).to_string();
    let several = json!({"writes": []}).to_string();
    let status = json!({"metric": "n", "status": 1}).to_string();
    let send = |path: &str, media: &str, body: &str| {
        server.request("POST", path, &[("content-type", media)], Some(body))
    };
    let form = "application/x-www-form-urlencoded";
    for (path, body) in [
        ("/stats/track", &write),
        ("/stats/assert", &write),
        ("/stats/observe", &write),
        ("/stats/assort", &write),
        ("/stats/writes", &several),
        ("/stats/beam", &status),
    ] {
        for media in [
            form,
            "text/plain",
            "application/merge-patch+json",
            "text/json",
        ] {
            problem(send(path, media, body), 415, "application/json");
        }
    }
    let lines = "/stats/import?format=statsd";
    // A form of any page can send the last four without a preflight.
    for media in [
        "application/json",
        form,
        "text/plain",
        "text/plain; charset=utf-8",
        "multipart/form-data; boundary=x",
    ] {
        problem(send(lines, media, "n:1|c"), 415, "application/octet-stream");
    }
    let nothing = server.request("POST", "/stats/track", &[], Some(&write));
    problem(nothing, 415, "no Content-Type");
    let keys = || server.get("/stats/keys?prefix=n").with(200).json();
    assert_eq!(keys(), json!({"metrics": []}), "nothing was written");
    for media in [
        "Application/JSON; charset=utf-8",
        "application/vnd.counts+json",
    ] {
        send("/stats/track", media, &write).with(200);
    }
    for media in [
        "application/octet-stream",
        "text/plain; version=0.0.4",
        "application/openmetrics-text",
    ] {
        send(lines, media, "n:1|c").with(200);
    }
}

#[test]
fn the_description_has_required_parameters() {
    let server = start();
    let description = server.get("/openapi/stats.json").json();
    let is_required = |method: &str, path: &str, name: &str| {
        let parameters = description["paths"][path][method]["parameters"].as_array();
        let mut parameters = parameters.expect("parameters").iter();
        parameters.any(|one| one["name"] == name && one["required"] == true)
    };
    assert!(is_required("get", "/stats/values", "metric"));
    assert!(is_required("get", "/stats/series", "metric"));
    assert!(is_required("delete", "/stats/keys", "metric"));
    assert!(is_required("post", "/stats/import", "format"));
    assert!(!is_required("get", "/stats/scan", "metric"));
    let classes = &description["components"]["schemas"]["Write"]["properties"]["classes"];
    assert_eq!(
        classes["properties"]["linear"]["prefixItems"][2],
        json!({"type": "integer", "minimum": 1})
    );
    post(
        &server,
        "assert",
        &json!({"metric": "a", "at": AT, "values": {"n": 1}}),
    )
    .with(200);
}
