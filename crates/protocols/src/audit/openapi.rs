//! The OpenAPI description of the audit log.

use serde_json::{Value as Json, json};

use crate::api::{Api, object, reference};

/// The general part of the description.
pub(super) fn api() -> Api {
    Api {
        root: "/audit",
        path: "/openapi/audit.json",
        title: "Espalier audit log",
        description: "Who did what, from where, with which result. Only users that a rule permits it can read it. Errors are application/problem+json (RFC 9457), with a machine-readable `kind`.",
        schemas: schemas(),
    }
}

fn schemas() -> Json {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let flag = json!({"type": "boolean"});
    let record = json!({
        "sequence": text, "time": {"type": "string", "format": "date-time"}, "operation": text,
        "session": text, "user": text, "transport": text, "peer": text, "target": {"type": "object"},
        "paths": {"type": "array", "items": text}, "paths-omitted": number, "version": number,
        "result": {"type": "string", "description": "ok or an error-tag"}, "message": text,
    });
    let filter = json!({
        "reads": flag, "writes": flag, "logins": flag, "denials": flag, "operations": flag,
    });
    let settings = json!({
        "format": number, "mode": {"type": "string", "enum": ["off", "relaxed", "strict"]},
        "filter": object(filter, &[]), "records-max": number, "age-seconds-max": number,
    });
    json!({
        "Record": object(record, &["sequence", "time", "operation", "result"]),
        "Records": object(
            json!({"records": {"type": "array", "items": reference("Record")}, "next": {"type": ["string", "null"]}}),
            &["records", "next"],
        ),
        "Settings": object(settings, &[]),
    })
}
