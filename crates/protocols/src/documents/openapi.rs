//! What the OpenAPI description says of documents.

use serde_json::{Value as Json, json};

use crate::api::{Api, list_of, object, reference};

/// Where the description is served.
pub const PATH: &str = "/openapi/documents.json";

/// What there is to say of the whole.
pub(super) fn api() -> Api {
    Api {
        root: "/documents",
        path: PATH,
        title: "Espalier document collections",
        description: "Documents under numbers, found by the values of indexes. A document has an ETag; `If-Match` and `If-None-Match` are honoured where they are named, and refused by other operations that write. Failures are application/problem+json (RFC 9457), whose `kind` is for programs.",
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
            "fields": {"type": ["array", "null"], "items": text(), "description": "JSON pointers; null where a program declares the index"},
            "is-built": {"type": "boolean", "description": "an index that is not built is being built, and answers when it is; where that was cut off, the server goes on with it"},
            "built-before": {"type": "integer", "minimum": 0, "description": "of one that is not built, where one collection is asked for: documents with smaller keys are in it"},
        }),
        &["name", "kind", "fields", "is-built"],
    );
    // What a program declares has no fields, and cannot be declared here.
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
    let next = json!({"type": ["string", "null"], "description": "the cursor of the next page, of some hundred characters; where the page ended at a value that is longer and the document that has it was changed since, the next page is refused (410)"});
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
        "Collection": object(json!({"name": text(), "policy": policy, "schema-version": number(), "indexes": indexes, "documents": number(), "problem": {"type": "string", "description": "in the list of collections: why requests for this one are refused"}}), &["name", "policy", "indexes"]),
        "Collections": list_of("collections", reference("Collection")),
        "Change": object(
            json!({
                "version": number(), "detail": text(),
                "changes": {"type": "array", "items": object(json!({"key": number(), "document": {"description": "what it is now"}, "deleted": {"type": "boolean", "description": "true, in place of a document, where there is none any more"}}), &["key"])},
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
                "if-match": {"type": "string", "description": "the entity tag that the document must have, or *: there must be one"},
            }),
            &["op", "collection"],
        )),
    })
}
