//! The OpenAPI description of the statistics API.

use espalier_stats::limits::PATH_NAMES_MAX;
use serde_json::{Value as Json, json};

use crate::api::{Api, list_of, object, reference};

/// The path of the description.
pub const PATH: &str = "/openapi/stats.json";

/// The general part of the description.
pub(super) fn api() -> Api {
    Api {
        root: "/stats",
        path: PATH,
        title: "Espalier statistics",
        description: "Numbers in time buckets. A write goes to one bucket of each granularity, in one atomic commit; a request with an `id` is applied once within a day. Times are RFC 3339, or local times in the time zone of the settings. Errors are application/problem+json (RFC 9457), with a machine-readable `kind`.",
        schemas: schemas(),
    }
}

/// The schema of histogram classes.
fn classes() -> Json {
    let bound = json!({"type": "number"});
    let linear = json!({
        "type": "array", "minItems": 3, "maxItems": 3,
        "prefixItems": [bound, bound, {"type": "integer", "minimum": 1}],
    });
    let geometric = json!({"type": "array", "items": bound, "minItems": 2, "maxItems": 2});
    json!({
        "type": "object",
        "description": "for assort, one of: linear (smallest, largest, width), geometric (smallest, largest), custom (upper bounds)",
        "properties": {"linear": linear, "geometric": geometric, "custom": {"type": "array", "items": bound}},
        "additionalProperties": false,
        "minProperties": 1, "maxProperties": 1,
    })
}

fn schemas() -> Json {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer", "minimum": 0});
    let labels = json!({"type": "object", "additionalProperties": text});
    let classes = classes();
    let write = json!({
        "metric": text, "labels": labels, "at": text, "untracked": {"type": "boolean"}, "classes": classes,
        "values": {"type": "object", "description": format!("numbers, in objects up to {PATH_NAMES_MAX} deep")},
        "paths": {
            "type": "object", "additionalProperties": {"type": "number"},
            "description": "numbers by path (`a.b` for b within a), instead of `values`",
        },
        "id": {"type": "string", "description": "a name for this request: of the requests with the same id, only the first within a day is applied"},
    });
    let mut one = write.clone();
    one["action"] = json!({"type": "string", "enum": ["track", "assert", "assort", "observe"]});
    let metric = object(
        json!({"metric": text, "labels": labels}),
        &["metric", "labels"],
    );
    json!({
        "Write": object(write, &["metric"]),
        "Writes": object(
            json!({"id": text, "writes": {"type": "array", "items": object(one, &["action", "metric"])}}),
            &["writes"],
        ),
        "Outcome": object(json!({
            "outcome": {"type": "string", "enum": ["done", "repeated", "too-old", "latest", "outdated"]},
            "too-old": {"type": "integer", "minimum": 1, "description": "The number of writes that were dropped because no granularity retains their times any more."},
        }), &["outcome"]),
        "Imported": imported(),
        "Said": object(json!({"metric": text, "labels": labels, "at": text, "status": {}}), &["metric", "status"]),
        "Status": {
            "description": "a status; with prefix, a list of statuses",
            "oneOf": [reference("OneStatus"), list_of("statuses", reference("OneStatus"))],
        },
        "OneStatus": object(json!({"metric": text, "labels": labels, "at": text, "status": {}}), &["metric", "at", "status"]),
        "Metrics": list_of("metrics", metric),
        "Values": object(
            json!({"at": {"type": "array", "items": text}, "values": {"type": "array", "items": {"type": "object"}}}),
            &["at", "values"],
        ),
        "Series": {
            "description": "a list of series, each with its labels, or quantiles",
            "type": "object",
            "properties": {"series": {"type": "array", "items": {"type": "object"}}, "count": number, "quantiles": {"type": "object"}},
        },
        "Settings": {
            "type": "object",
            "properties": {
                "time-zone": text, "week-begins": text, "list-active": {"type": "boolean"},
                "granularities": {"type": "array", "items": text},
                "retention": {
                    "type": ["object", "null"], "additionalProperties": {"type": ["integer", "null"], "minimum": 0},
                    "description": "seconds by granularity; in a change, absent members are kept, null removes one, and null instead of the object removes all",
                },
            },
            "additionalProperties": false,
        },
    })
}

/// The schema of the result of an import.
fn imported() -> Json {
    let number = json!({"type": "integer", "minimum": 0});
    let reason = json!({"type": "string"});
    let skipped = object(
        json!({"line": number, "reason": reason}),
        &["line", "reason"],
    );
    let mut repeated = number.clone();
    repeated["description"] = json!("the lines up to this one were applied before with this id");
    object(
        json!({
            "writes": number, "repeated": repeated, "skipped": number,
            "lines": {"type": "array", "items": skipped},
        }),
        &["writes", "repeated", "skipped", "lines"],
    )
}
