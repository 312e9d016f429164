//! The OpenAPI description (3.1), made of the table of operations.

use http::StatusCode;
use serde_json::{Map, Value as Json, json};

use super::operations::{Content, Operation};

/// Where it is served.
pub const PATH: &str = "/openapi/documents.json";

/// The description.
pub(super) fn description(operations: &[Operation]) -> Json {
    let mut paths = Map::new();
    for operation in operations {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method.as_str().to_lowercase()] = described(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Espalier document collections",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Documents under numbers, found by the values of indexes. A document has an ETag; `If-Match` and `If-None-Match` are honoured. Failures are application/problem+json (RFC 9457), whose `kind` is for programs.",
        },
        "paths": paths,
        "components": {"schemas": schemas()},
    })
}

fn described(operation: &Operation) -> Json {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses(operation),
    });
    if operation.request != Content::Nothing {
        described["requestBody"] = json!({"required": true, "content": content(operation.request)});
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Json> {
    let names = operation.path.split('/').filter_map(|part| {
        part.strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'))
    });
    let in_path = names.map(|name| {
        let kind = if name == "key" { "integer" } else { "string" };
        json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}})
    });
    let in_query = operation.query.iter().map(|(name, about)| {
        let schema = match *name {
            "limit" | "offset" => json!({"type": "integer", "minimum": 0}),
            "order" => json!({"type": "string", "enum": ["asc", "desc"]}),
            "all" | "any" => json!({"type": "array", "items": {"type": "string"}}),
            _ => json!({"type": "string"}),
        };
        json!({"name": name, "in": "query", "description": about, "schema": schema})
    });
    in_path.chain(in_query).collect()
}

fn responses(operation: &Operation) -> Json {
    let mut responses = Map::new();
    for (status, body) in operation.answers {
        let reason = StatusCode::from_u16(*status)
            .ok()
            .and_then(|status| status.canonical_reason());
        let mut response = json!({"description": reason.unwrap_or("done")});
        if *body != Content::Nothing {
            response["content"] = content(*body);
        }
        responses.insert(status.to_string(), response);
    }
    let problem = json!({
        "description": "what is wrong",
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    });
    responses.insert("default".to_owned(), problem);
    Json::Object(responses)
}

fn content(content: Content) -> Json {
    match content {
        Content::Nothing => json!({}),
        Content::Schema(name) => json!({"application/json": {"schema": reference(name)}}),
        Content::Lines => json!({"application/jsonl": {"schema": {"type": "string"}}}),
        Content::Patch => json!({"application/merge-patch+json": {"schema": {}}}),
    }
}

fn reference(name: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list_of(name: &str, items: Json) -> Json {
    json!({"type": "object", "properties": {name: {"type": "array", "items": items}}, "required": [name]})
}

fn object(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required})
}

fn schemas() -> Json {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer", "minimum": 0});
    let index = object(
        json!({
            "name": text(),
            "kind": {"type": "string", "enum": ["unique", "partition", "tags"]},
            "fields": {"type": ["array", "null"], "items": text(), "description": "JSON pointers; null where a program declares the index"},
            "is-built": {"type": "boolean"},
        }),
        &["name", "kind"],
    );
    let policy =
        json!({"type": "string", "enum": ["uncached", "indexed", "recent", "cached", "ram"]});
    let indexes = json!({"type": "array", "items": reference("Index")});
    let finding = object(
        json!({"place": text(), "problem": text()}),
        &["place", "problem"],
    );
    let next = json!({"type": ["string", "null"], "description": "the cursor of the next page"});
    let item = object(
        json!({"key": number(), "document": {}}),
        &["key", "document"],
    );
    let value = object(
        json!({"value": {"type": "array"}, "documents": number()}),
        &["value", "documents"],
    );
    json!({
        "Document": {"description": "any JSON"},
        "Index": index,
        "Definition": {"type": "object", "properties": {"policy": policy, "indexes": indexes}, "additionalProperties": false},
        "Collection": object(json!({"name": text(), "policy": policy, "schema-version": number(), "indexes": indexes, "documents": number()}), &["name", "policy", "indexes"]),
        "Collections": list_of("collections", reference("Collection")),
        "Page": object(json!({"documents": {"type": "array", "items": item}, "next": next}), &["documents", "next"]),
        "Values": object(json!({"values": {"type": "array", "items": value}, "next": next}), &["values", "next"]),
        "Key": object(json!({"key": number()}), &["key"]),
        "Keys": list_of("keys", number()),
        "Deleted": object(json!({"deleted": number()}), &["deleted"]),
        "Imported": object(json!({"documents": number()}), &["documents"]),
        "Findings": list_of("findings", finding.clone()),
        "Repaired": object(json!({"mended": {"type": "array", "items": finding}, "left": {"type": "array", "items": finding}}), &["mended", "left"]),
        "Transaction": list_of("operations", object(
            json!({
                "op": {"type": "string", "enum": ["insert", "put", "patch", "delete"]},
                "collection": text(), "key": number(), "document": {}, "patch": {}, "if-match": text(),
            }),
            &["op", "collection"],
        )),
        "Problem": object(
            json!({
                "type": text(), "title": text(), "status": number(), "detail": text(), "kind": text(),
                "clash": {"type": ["object", "null"], "properties": {"index": text(), "value": text(), "key": number()}},
            }),
            &["status", "detail", "kind"],
        ),
    })
}
