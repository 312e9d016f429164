//! The OpenAPI description of the document API.

use serde_json::{Value as Json, json};

use crate::api::{Api, list_of, object, reference};

/// The path of the description.
pub const PATH: &str = "/openapi/documents.json";

/// The general part of the description.
pub(super) fn api() -> Api {
    Api {
        root: "/documents",
        path: PATH,
        title: "Espalier document collections",
        description: "Documents with numeric keys, found by the values of indexes. Each document has an ETag; `If-Match` and `If-None-Match` are supported where listed, and rejected by other write operations. Errors are application/problem+json (RFC 9457), with a machine-readable `kind`.",
        schemas: schemas(),
    }
}

fn schemas() -> Json {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer", "minimum": 0});
    let index = object(
        json!({
            "name": text(),
            "kind": {"type": "string", "enum": ["unique", "partition", "tags"]},
            "fields": {"type": ["array", "null"], "items": text(), "description": "JSON pointers; null if a program declares the index"},
            "is-built": {"type": "boolean", "description": "false while the index is being built: queries fail until it is built. An interrupted build is resumed by the server"},
            "built-before": {"type": "integer", "minimum": 0, "description": "of an index that is being built, when a single collection is read: documents with smaller keys are indexed"},
        }),
        &["name", "kind", "fields", "is-built"],
    );
    // Indexes that a program declares have no fields and cannot be declared here.
    let mut declared = index.clone();
    declared["properties"]["fields"]["type"] = json!("array");
    declared["required"] = json!(["name", "kind", "fields"]);
    if let Some(properties) = declared["properties"].as_object_mut() {
        properties.remove("is-built");
        properties.remove("built-before");
    }
    let policy =
        json!({"type": "string", "enum": ["uncached", "indexed", "recent", "cached", "ram"]});
    let indexes = json!({"type": "array", "items": reference("Index")});
    let finding = object(
        json!({"place": text(), "problem": text()}),
        &["place", "problem"],
    );
    let next = json!({"type": ["string", "null"], "description": "the cursor of the next page, at most some hundred characters. If the page ends at a longer value and its document is changed afterwards, the next page is rejected (410)"});
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
        "DeclaredIndex": declared,
        "Definition": {"type": "object", "properties": {"policy": policy, "indexes": {"type": "array", "items": reference("DeclaredIndex")}}, "additionalProperties": false},
        "Collection": object(json!({"name": text(), "policy": policy, "schema-version": number(), "indexes": indexes, "documents": number(), "problem": {"type": "string", "description": "in the list of collections: why requests for this collection are rejected"}}), &["name", "policy", "indexes"]),
        "Collections": list_of("collections", reference("Collection")),
        "Change": object(
            json!({
                "version": number(), "detail": text(),
                "changes": {"type": "array", "items": object(json!({"key": number(), "document": {"description": "the new document"}, "deleted": {"type": "boolean", "description": "true, instead of `document`, if it was deleted"}}), &["key"])},
            }),
            &[],
        ),
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
                "collection": text(), "key": number(), "document": {}, "patch": {},
                "if-match": {"type": "string", "description": "the required entity tag, or * if the document only has to exist"},
            }),
            &["op", "collection"],
        )),
    })
}
