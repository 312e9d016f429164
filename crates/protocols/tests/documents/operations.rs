//! Each operation, with its conditions and errors.

use serde_json::{Value, json};

use crate::served::{HttpResponse, JSON, LINES, Server};
use crate::support::with_cars;

const POLICIES: [&str; 5] = ["uncached", "indexed", "recent", "cached", "ram"];

#[test]
fn documents_are_inserted_read_changed_and_deleted_under_every_policy() {
    for policy in POLICIES {
        let server = with_cars(policy);
        insert_and_patch(&server);
        put_and_delete(&server);
    }
}

fn insert_and_patch(server: &Server) {
    let made = server.send(
        "POST",
        "/documents/cars/items",
        &json!({"name": "a", "color": "red"}),
    );
    let made = made.with(201);
    assert_eq!(made.json(), json!({"key": 0}));
    assert_eq!(made.header("location"), "/documents/cars/items/0");
    let got = server.get("/documents/cars/items/0").with(200);
    assert_eq!(got.json(), json!({"name": "a", "color": "red"}));
    assert_eq!(got.header("etag"), made.header("etag"));
    let tag = got.header("etag").to_owned();
    let not_modified = server.request(
        "GET",
        "/documents/cars/items/0",
        &[("if-none-match", &tag)],
        None,
    );
    assert!(not_modified.with(304).body.is_empty());

    let patch = |tag: &str, body: &str| {
        let headers = [
            ("content-type", "application/merge-patch+json"),
            ("if-match", tag),
        ];
        server.request("PATCH", "/documents/cars/items/0", &headers, Some(body))
    };
    let patched = patch(&tag, r#"{"color":null,"year":7}"#).with(200);
    assert_eq!(patched.json(), json!({"name": "a", "year": 7}));
    let late = patch(&tag, "{}").with(412);
    assert_eq!(late.json()["kind"], "changed");
    assert_eq!(late.header("content-type"), "application/problem+json");
}

fn put_and_delete(server: &Server) {
    let tag = "\"0123\"";
    let none = [("if-none-match", "*"), ("content-type", "application/json")];
    server
        .request("PUT", "/documents/cars/items/0", &none, Some("{}"))
        .with(412);
    let made = server.request(
        "PUT",
        "/documents/cars/items/5",
        &none,
        Some(r#"{"name":"five"}"#),
    );
    assert_eq!(made.with(201).header("location"), "/documents/cars/items/5");
    server
        .send("PUT", "/documents/cars/items/5", &json!({"name": "cinq"}))
        .with(204);
    let clash = server
        .send("POST", "/documents/cars/items", &json!({"name": "cinq"}))
        .with(409);
    assert_eq!(
        clash.json()["clash"],
        json!({"index": "name", "value": "\"cinq\"", "key": 5})
    );

    let upserted = server.send(
        "PUT",
        "/documents/cars/indexes/name",
        &json!({"name": "cinq", "year": 1}),
    );
    assert_eq!(upserted.with(200).json()["key"], 5);
    server
        .request(
            "DELETE",
            "/documents/cars/items/5",
            &[("if-match", tag)],
            None,
        )
        .with(412);
    server
        .request("DELETE", "/documents/cars/items/5", &[], None)
        .with(204);
    server
        .request("DELETE", "/documents/cars/items/5", &[], None)
        .with(404);
    assert_eq!(server.get("/documents/cars").json()["documents"], 1);
    assert_eq!(
        server.get("/documents/cars/check").json(),
        json!({"findings": []})
    );
    assert_eq!(
        server
            .send("POST", "/documents/cars/repair", &json!({}))
            .with(200)
            .json()["left"],
        json!([])
    );
    server
        .request("DELETE", "/documents/cars", &[], None)
        .with(204);
    server.get("/documents/cars/items/0").with(404);
    assert_eq!(server.get("/documents").json(), json!({"collections": []}));
}

#[test]
fn several_changes_are_one_commit() {
    let server = with_cars("cached");
    server
        .send("PUT", "/documents/notes%2F1", &json!({}))
        .with(201);
    let operations = json!({"operations": [
        {"op": "insert", "collection": "cars", "document": {"name": "a"}},
        {"op": "put", "collection": "notes/1", "key": 3, "document": "text"},
        {"op": "patch", "collection": "cars", "key": 0, "patch": {"color": "red"}},
    ]});
    let done = server.send("POST", "/documents", &operations).with(200);
    assert_eq!(done.json(), json!({"keys": [0, 3, 0]}));
    assert_eq!(
        server.get("/documents/notes%2F1/items/3").json(),
        json!("text")
    );
    let refused = json!({"operations": [
        {"op": "delete", "collection": "notes/1", "key": 3},
        {"op": "insert", "collection": "cars", "document": {"name": "a"}},
    ]});
    server.send("POST", "/documents", &refused).with(409);
    server.get("/documents/notes%2F1/items/3").with(200);
    let stale = json!({"operations": [
        {"op": "delete", "collection": "notes/1", "key": 3, "if-match": "\"0123\""},
    ]});
    server.send("POST", "/documents", &stale).with(412);
}

#[test]
fn collections_are_exported_and_imported() {
    let server = with_cars("indexed");
    let lines: String = (0..2500)
        .map(|n| {
            format!(
                "{}\n",
                json!({"key": n, "document": {"name": format!("n{n}")}})
            )
        })
        .collect();
    let done = server
        .request("POST", "/documents/cars/import", LINES, Some(&lines))
        .with(200);
    assert_eq!(done.json(), json!({"documents": 2500}));
    assert_eq!(server.get("/documents/cars/export").with(200).body, lines);
    let bad = server
        .request(
            "POST",
            "/documents/cars/import",
            LINES,
            Some("{\"document\":{}}\n{"),
        )
        .with(400);
    assert!(
        bad.json()["detail"]
            .as_str()
            .expect("text")
            .contains("line 2"),
        "{bad:?}"
    );
}

/// Asserts a problem document with this status and text.
fn problem(response: HttpResponse, status: u16, words: &str) {
    let response = response.with(status);
    assert_eq!(response.header("content-type"), "application/problem+json");
    let problem = response.json();
    assert_eq!(problem["status"], status);
    let detail = problem["detail"].as_str().expect("text");
    assert!(detail.contains(words), "{problem}");
}

#[test]
fn failed_operations_are_problems() {
    let server = with_cars("uncached");
    problem(
        server.get("/documents/boats/items"),
        404,
        "no collection \"boats\"",
    );
    problem(
        server.get("/documents/cars/items/x"),
        404,
        "keys are integers",
    );
    problem(
        server.get("/documents/cars/items?limit=0"),
        400,
        "1 to 10000",
    );
    problem(server.get("/documents/cars/items?cursor=zz"), 400, "next");
    problem(
        server.get("/documents/cars/items?index=wheels&value=4"),
        404,
        "no index",
    );
    problem(
        server.get("/documents/cars/items?index=color&value=red&from=a"),
        400,
        "value and from cannot be combined",
    );
    problem(
        server.request("POST", "/documents/cars/items", JSON, Some("{")),
        400,
        "not JSON",
    );
}

#[test]
fn values_of_a_wrong_type_are_problems() {
    let server = with_cars("uncached");
    let xml = [("content-type", "text/xml")];
    problem(
        server.request("POST", "/documents/cars/items", &xml, Some("<a/>")),
        415,
        "text/xml",
    );
    let refused = server.request("PATCH", "/documents/cars", &[], Some("{}"));
    assert_eq!(refused.header("allow"), "GET, PUT, DELETE, HEAD, OPTIONS");
    problem(refused, 405, "method PATCH is not supported here");
    problem(
        server.send("PUT", "/documents/cars", &json!({"policy": "fast"})),
        400,
        "not a policy",
    );
    problem(
        server.send("PUT", "/documents/cars", &json!({"indices": []})),
        400,
        "indices",
    );
    problem(
        server.send("POST", "/documents/cars/items", &json!({"name": {}})),
        422,
        "an object cannot be indexed",
    );
    problem(
        server.request("DELETE", "/documents/cars/items", &[], None),
        400,
        "the parameter index is missing",
    );
}

#[test]
fn the_description_has_every_route_and_its_references_exist() {
    let server = with_cars("uncached");
    let description = server.get("/openapi/documents.json").with(200).json();
    assert_eq!(description["openapi"], "3.1.0");
    let mut references = Vec::new();
    collect(&description, &mut references);
    for reference in references {
        let pointer = reference.trim_start_matches('#');
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
    let mut ids = std::collections::BTreeSet::new();
    let mut checked = 0;
    for (path, methods) in description["paths"].as_object().expect("paths") {
        let path = path
            .replace("{collection}", "cars")
            .replace("{key}", "0")
            .replace("{index}", "name");
        let allow = server.request("OPTIONS", &path, &[], None).with(204);
        let allowed: Vec<_> = allow
            .header("allow")
            .split(", ")
            .map(str::to_lowercase)
            .collect();
        let described = methods.as_object().expect("methods");
        for (method, operation) in described {
            assert!(allowed.contains(method), "{method} {path}");
            assert!(
                ids.insert(operation["operationId"].to_string()),
                "{operation}"
            );
            checked += 1;
        }
        assert_eq!(
            allowed.len(),
            described.len() + 1 + usize::from(described.contains_key("get"))
        );
    }
    assert_eq!(checked, 19);
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "$ref" => references.push(text.clone()),
                    value => collect(value, references),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}
