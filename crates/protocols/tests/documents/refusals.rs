//! Requests that are rejected instead of being partly ignored: unsupported patches, conditions, parameters,
//! cursors.

use std::sync::Arc;

use espalier_documents::{Documents, Policy};
use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::documents::{DocumentsService, router};
use espalier_protocols::intake::Intake;
use serde_json::{Value, json};

use crate::served::{Server, problem};
use crate::support::with_cars;

fn with_documents(count: u64) -> Server {
    let server = with_cars("cached");
    for n in 0..count {
        let car = json!({"name": format!("c{n}"), "color": "red", "keywords": ["a", "b"]});
        server.send("POST", "/documents/cars/items", &car).with(201);
    }
    server
}

const ITEM: &str = "/documents/cars/items/0";

#[test]
fn a_json_patch_is_not_applied_as_a_merge_patch() {
    let server = with_documents(1);
    let patch = |media: &str, body: &str| {
        server.request("PATCH", ITEM, &[("content-type", media)], Some(body))
    };
    let json_patch = r#"[{"op":"remove","path":"/color"}]"#;
    for media in [
        "application/json-patch+json",
        "Application/JSON-Patch+JSON; v=1",
        "text/plain",
    ] {
        let refused = patch(media, json_patch);
        assert_eq!(
            refused.header("accept-patch"),
            "application/merge-patch+json"
        );
        problem(refused, 415, "application/merge-patch+json");
    }
    problem(patch("application/json", json_patch), 400, "PUT");
    assert_eq!(server.get(ITEM).json()["color"], "red");
    patch(
        "Application/Merge-Patch+JSON; charset=utf-8",
        r#"{"color":"blue"}"#,
    )
    .with(200);
    patch("application/json", r#"{"year":1}"#).with(200);
    assert_eq!(server.get(ITEM).json()["color"], "blue");
    assert_eq!(
        patch("application/merge-patch+json", "[1]")
            .with(200)
            .json(),
        json!([1])
    );
    let options = server.request("OPTIONS", ITEM, &[], None).with(204);
    assert_eq!(
        options.header("accept-patch"),
        "application/merge-patch+json"
    );
    let put = |media: &str| server.request("PUT", ITEM, &[("content-type", media)], Some("{}"));
    problem(put("application/merge-patch+json"), 415, "application/json");
    put("APPLICATION/JSON; charset=utf-8").with(204);
}

fn keys(page: &Value) -> Vec<u64> {
    let documents = page["documents"].as_array().expect("documents").iter();
    documents
        .map(|found| found["key"].as_u64().expect("a key"))
        .collect()
}

/// All pages of a list, by following their links.
fn pages(server: &Server, query: &str) -> Vec<u64> {
    let mut path = format!("/documents/cars/items?{query}");
    let mut all = Vec::new();
    loop {
        let page = server.get(&path).with(200);
        all.extend(keys(&page.json()));
        match page.header("link").split_once('>') {
            Some((next, _)) => path = next.trim_start_matches('<').to_owned(),
            None => return all,
        }
    }
}

#[test]
fn pages_after_an_offset_lose_nothing() {
    let server = with_documents(9);
    let rest: Vec<u64> = (3..9).collect();
    let before: Vec<u64> = (0..6).rev().collect();
    for query in [
        "",
        "&index=color&value=red",
        "&index=keyword&all=a&all=b",
        "&index=keyword&any=a",
    ] {
        assert_eq!(
            pages(&server, &format!("limit=2&offset=3{query}")),
            rest,
            "{query}"
        );
        let back = format!("limit=2&offset=3&order=desc{query}");
        assert_eq!(pages(&server, &back), before, "{back}");
    }
    let next = server.get("/documents/cars/items?limit=2").json()["next"].clone();
    let next = next.as_str().expect("a cursor");
    let both = format!("/documents/cars/items?limit=2&offset=1&cursor={next}");
    problem(server.get(&both), 400, "cursor and offset");
}

#[test]
fn a_cursor_belongs_to_its_query() {
    let server = with_documents(5);
    server.send("PUT", "/documents/other", &json!({})).with(201);
    let cursor = |path: &str| {
        let page = server.get(path).with(200).json();
        page["next"].as_str().expect("a cursor").to_owned()
    };
    let by_color = cursor("/documents/cars/items?limit=2&index=color&value=red");
    let by_key = cursor("/documents/cars/items?limit=2");
    let values = cursor("/documents/cars/indexes/name?limit=2");
    for path in [
        format!("/documents/cars/items?cursor={by_color}"),
        format!("/documents/cars/items?index=color&value=blue&cursor={by_color}"),
        format!("/documents/cars/items?index=name&cursor={by_color}"),
        format!("/documents/cars/items?order=desc&cursor={by_key}"),
        format!("/documents/other/items?cursor={by_key}"),
        format!("/documents/cars/indexes/name?cursor={by_color}"),
        format!("/documents/cars/indexes/color?cursor={values}"),
    ] {
        problem(server.get(&path), 400, "belongs to another query");
    }
    server
        .get(&format!("/documents/cars/items?limit=1&cursor={by_key}"))
        .with(200);
    server
        .get(&format!("/documents/cars/indexes/name?cursor={values}"))
        .with(200);
}

#[test]
fn conditions_are_checked_or_rejected_and_never_ignored() {
    let server = with_documents(1);
    let media = ("content-type", "application/json");
    let other = ("if-match", "\"0123\"");
    let body = r#"{"name":"x"}"#;
    for (method, path, sent) in [
        (
            "DELETE",
            "/documents/cars/items?index=color&value=red",
            None,
        ),
        ("PUT", "/documents/cars/indexes/name", Some(body)),
        ("PUT", "/documents/cars", Some("{}")),
        ("DELETE", "/documents/cars", None),
        ("POST", "/documents/cars/items", Some(body)),
    ] {
        problem(
            server.request(method, path, &[media, other], sent),
            400,
            "not supported by this operation",
        );
    }
    let tag = server.get(ITEM).header("etag").to_owned();
    let get = |name: &str, value: &str| server.request("GET", ITEM, &[(name, value)], None);
    problem(
        get("if-match", "\"0123\""),
        412,
        "does not match the current state",
    );
    problem(
        get("if-match", &format!("W/{tag}")),
        412,
        "does not match the current state",
    );
    get("if-match", &format!("\"0123\", {tag}")).with(200);
    get("if-match", "*").with(200);
    get("if-none-match", &format!("W/{tag}")).with(304);
    let weak = format!("W/{tag}");
    let weak = [media, ("if-match", weak.as_str())];
    problem(
        server.request("PUT", ITEM, &weak, Some(body)),
        412,
        "changed",
    );
    problem(server.request("DELETE", ITEM, &weak, None), 412, "changed");
}

#[test]
fn an_unmodified_list_has_its_tag_and_is_validated() {
    let server = with_documents(1);
    let tag = server
        .get("/documents/cars/items")
        .header("etag")
        .to_owned();
    let list = |query: &str| {
        let path = format!("/documents/cars/items{query}");
        server.request("GET", &path, &[("if-none-match", &tag)], None)
    };
    assert_eq!(list("").with(304).header("etag"), tag);
    problem(list("?limit=x"), 400, "limit");
    problem(list("?cursor=zz"), 400, "cursor");
    problem(list("?index=color&value=red&from=a"), 400, "value and from");
}

#[test]
fn errors_of_a_transaction_name_the_operation() {
    let server = with_documents(1);
    let send =
        |operations: Value| server.send("POST", "/documents", &json!({"operations": operations}));
    let put = |key: u64| json!({"op": "put", "collection": "cars", "key": key, "document": {"year": key}, "if-match": "*"});
    problem(
        send(json!([put(0), put(7)])),
        412,
        "operations[1]: there is no document 7",
    );
    send(json!([put(0)])).with(200);
    let insert =
        |name: &str| json!({"op": "insert", "collection": name, "document": {"name": "same"}});
    problem(
        send(json!([insert("cars"), insert("cars")])),
        409,
        "operations[1]: ",
    );
    problem(
        send(json!([insert("cars"), insert("boats")])),
        404,
        "operations[1]: ",
    );
    let unclear = json!({"op": "insert", "collection": "cars"});
    problem(send(json!([unclear])), 400, "operations[0]: ");
    problem(
        send(json!([[1]])),
        400,
        "operations[0]: it is not a JSON object",
    );
    assert_eq!(server.get("/documents/cars").json()["documents"], 1);
}

#[test]
fn parameters_that_would_be_ignored_are_rejected() {
    let server = with_documents(1);
    for (query, words) in [
        ("limit=1&limit=2", "limit is given several times"),
        ("order=asc&order=desc", "order is given"),
        ("index=color&value=a&value=b", "value is given"),
        ("index=keyword&all=a&any=b", "all and any"),
        ("index=keyword&any=a&value=b", "any and value"),
        ("index=keyword&all=a&from=b", "all and from"),
        ("index=color&from=a&after=b", "from and after"),
        ("index=color&to=a&before=b", "to and before"),
        ("all=a", "all requires index"),
        ("lmit=1", "unknown parameter"),
    ] {
        problem(
            server.get(&format!("/documents/cars/items?{query}")),
            400,
            words,
        );
    }
}

#[test]
fn a_policy_alone_leaves_the_indexes() {
    let server = with_documents(1);
    let before = server.get("/documents/cars").json()["indexes"].clone();
    let changed = server
        .send("PUT", "/documents/cars", &json!({"policy": "uncached"}))
        .with(200);
    assert_eq!(
        (&changed.json()["indexes"], &changed.json()["policy"]),
        (&before, &json!("uncached"))
    );
    let changed = server
        .send("PUT", "/documents/cars", &json!({"indexes": []}))
        .with(200);
    assert_eq!(changed.json()["indexes"], json!([]));
    let wrong = json!({"indexes": [{"name": "n", "kind": "unique", "fields": [1]}]});
    problem(
        server.send("PUT", "/documents/cars", &wrong),
        400,
        "indexes[0].fields[0]: ",
    );
}

#[test]
fn a_document_has_one_path() {
    let server = with_documents(2);
    for key in ["+1", "%2B1", "01", "-0", "1.0", " 1", "1e0", "0x1"] {
        let path = format!("/documents/cars/items/{}", key.replace(' ', "%20"));
        problem(
            server.get(&path),
            404,
            "is not a key; keys are integers from 0",
        );
        let json = [("content-type", "application/json")];
        let put = server.request("PUT", &path, &json, Some("{}"));
        problem(put, 404, "is not a key; keys are integers from 0");
    }
    server.get("/documents/cars/items/1").with(200);
}

#[test]
fn unknown_paths_are_problems() {
    let server = with_documents(1);
    for path in [
        "/documents/",
        "/documents/cars/nothing",
        "/documents/cars/",
        "/documents//items",
        "/documents/cars/items/0/1",
    ] {
        problem(server.get(path), 404, &format!("no resource at {path}"));
    }
    server.get("/documents").with(200);
}

#[test]
fn a_stored_collection_with_the_name_of_an_in_memory_one_is_a_conflict() {
    let driver = Arc::new(Memory::new(Config::default()));
    let served = Documents::new(driver.clone(), &[0x30]);
    let server = Server::start(router(
        Arc::new(DocumentsService::new(served)),
        Intake::default(),
    ));
    server
        .send("PUT", "/documents/c", &json!({"policy": "ram"}))
        .with(201);
    server
        .send("POST", "/documents/c/items", &json!({"n": 1}))
        .with(201);
    let another = Documents::new(driver, &[0x30]);
    another
        .configure("c", Policy::Uncached, Vec::new())
        .expect("stored");
    let listed = server.get("/documents").with(200).json();
    let [one] = listed["collections"].as_array().expect("a list").as_slice() else {
        panic!("one collection of a name: {listed}");
    };
    assert_eq!((&one["name"], &one["policy"]), (&json!("c"), &json!("ram")));
    let detail = one["problem"].as_str().expect("a problem");
    assert!(
        detail.contains("another program stored a collection with this name"),
        "{detail}"
    );
    problem(
        server.get("/documents/c"),
        409,
        "an in-memory collection of this server",
    );
    problem(
        server.send("PUT", "/documents/c", &json!({})),
        409,
        "an in-memory collection",
    );
    problem(
        server.request("DELETE", "/documents/c", &[], None),
        409,
        "an in-memory collection",
    );
    another.remove("c").expect("removed");
    assert_eq!(server.get("/documents/c").with(200).json()["documents"], 1);
}

#[test]
fn the_description_has_required_parameters_and_headers() {
    let server = with_cars("uncached");
    let description = server.get("/openapi/documents.json").json();
    let list = &description["paths"]["/documents/{collection}/items"];
    let parameter = |method: &str, name: &str| {
        let all = list[method]["parameters"]
            .as_array()
            .expect("parameters")
            .iter();
        let mut found = all.filter(|one| one["name"] == name);
        found.next().cloned().unwrap_or_default()
    };
    assert_eq!(
        parameter("get", "limit")["schema"],
        json!({"type": "integer", "minimum": 1, "maximum": 10_000})
    );
    assert_eq!(parameter("delete", "index")["required"], true);
    assert_eq!(parameter("get", "If-None-Match")["in"], "header");
    assert!(parameter("post", "If-Match").is_null());
    assert!(list["post"]["responses"]["201"]["headers"]["Location"].is_object());
    assert!(list["get"]["responses"]["200"]["headers"]["Link"].is_object());
    let declared = &description["components"]["schemas"]["DeclaredIndex"];
    assert_eq!(declared["required"], json!(["name", "kind", "fields"]));
}

#[test]
fn documents_that_cannot_be_stored_exactly_are_rejected() {
    let server = with_documents(1);
    let big = r#"{"name":"x","id":12345678901234567890123}"#;
    let twice = r#"{"name":"x","name":"y"}"#;
    for document in [big, twice] {
        let json = [("content-type", "application/json")];
        let send = |method, path, body: &str| server.request(method, path, &json, Some(body));
        let items = "/documents/cars/items";
        problem(send("POST", items, document), 400, "the body: ");
        problem(send("PUT", ITEM, document), 400, "the body: ");
        problem(send("PATCH", ITEM, document), 400, "the body: ");
        let several = format!(
            r#"{{"operations":[{{"op":"insert","collection":"cars","document":{document}}}]}}"#
        );
        problem(send("POST", "/documents", &several), 400, "the body: ");
    }
}
