//! Pages of lists (draft-ietf-netconf-list-pagination-rc).

use serde_json::{Value, json};

use crate::support::{HttpResponse, Server, check_error, check_json};

fn server() -> Server {
    let server = Server::start();
    let body = r#"{"garden:garden":{"title":"Mine","bed":[
        {"name":"a","area":4,"row":[{"number":1,"side":"north","crop":"leek"},{"number":2,"side":"north","crop":"kale"}]},
        {"name":"b"},{"name":"c","area":3},{"name":"d","area":9}],
        "wish":["rain","sun","wind"],"visit":[{"who":"x"},{"who":"k"},{"who":"m"}]}}"#;
    server.put("/garden:garden", body);
    server
}

fn json_of(response: &HttpResponse) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_str(&response.body).expect("JSON")
}

/// The names of the beds of a page, and the metadata.
fn beds(server: &Server, query: &str) -> (String, Value) {
    let document = json_of(&server.get(&format!("/garden:garden/bed?{query}")));
    let beds = document["garden:bed"].as_array().expect("beds").clone();
    let names = beds.iter().map(|bed| bed["name"].as_str().expect("a name"));
    let metadata = beds.first().map_or(Value::Null, |bed| bed["@"].clone());
    (names.collect(), metadata)
}

fn text<'a>(metadata: &'a Value, name: &str) -> &'a str {
    let value = metadata[format!("ietf-list-pagination:{name}")].as_str();
    value.unwrap_or_else(|| panic!("{name} in {metadata}"))
}

#[test]
fn pages_select_sort_and_cut() {
    let server = server();
    for (query, names) in [
        ("limit=2", "ab"),
        ("limit=2&offset=1", "bc"),
        ("offset=1", "bcd"),
        ("offset=4", ""),
        ("limit=unbounded", "abcd"),
        ("direction=backwards&limit=3", "dcb"),
        ("where=area%3E3", "ad"),
        ("where=garden%3Aarea%3E3", "ad"),
        ("where=name%3D'c'", "c"),
        ("where=unfiltered", "abcd"),
        ("where=nothing%3D1", ""),
        ("where=not(nothing)", ""),
        ("where=no-module%3Aarea", ""),
        ("where=row", "a"),
        ("where=../title%3D'Mine'&limit=1", "a"),
        // The default of `area` is 1.
        ("sort-by=area", "bcad"),
        ("sort-by=garden%3Aarea&direction=backwards&limit=2", "da"),
        ("sort-by=area&locale=C.UTF-8&offset=3", "d"),
        ("sort-by=none&limit=1", "a"),
    ] {
        assert_eq!(beds(&server, query).0, names, "{query}");
    }
}

#[test]
fn metadata_is_on_the_first_entry() {
    let server = server();
    let (_, first) = beds(&server, "limit=2");
    assert_eq!(text(&first, "remaining"), "unknown");
    assert_eq!(first.get("ietf-list-pagination:previous"), None);
    let next = encode_cursor(text(&first, "next"));
    let (names, second) = beds(&server, &format!("limit=2&cursor={next}"));
    assert_eq!(names, "cd");
    assert_eq!(second.get("ietf-list-pagination:next"), None);
    assert_eq!(second.get("ietf-list-pagination:remaining"), None);
    let previous = encode_cursor(text(&second, "previous"));
    assert_eq!(beds(&server, &format!("limit=2&cursor={previous}")).0, "ab");
    let (names, sorted) = beds(&server, "limit=1&sort-by=area");
    assert_eq!((&*names, text(&sorted, "locale")), ("b", "C"));
    assert_eq!(sorted["ietf-list-pagination:remaining"], json!(3));
    let values = json_of(&server.get("/garden:garden/wish?limit=2"));
    let metadata = json!([{"ietf-list-pagination:remaining": "unknown"}]);
    let expected = json!({"garden:wish": ["rain", "sun"], "@garden:wish": metadata});
    assert_eq!(values, expected);
    assert_eq!(beds(&server, "").1, Value::Null);
}

fn encode_cursor(cursor: &str) -> String {
    assert!(
        cursor
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
    cursor.to_owned()
}

/// A cursor names a place, so that edits between two pages neither repeat nor skip other entries.
#[test]
fn cursors_survive_edits() {
    let server = server();
    let (_, first) = beds(&server, "limit=2");
    let next = text(&first, "next").to_owned();
    assert_eq!(
        server.json("DELETE", "/garden:garden/bed=b", "").status,
        204
    );
    assert_eq!(
        server.json("DELETE", "/garden:garden/bed=a", "").status,
        204
    );
    server.put("/garden:garden/bed=bb", r#"{"garden:bed":[{"name":"bb"}]}"#);
    assert_eq!(beds(&server, &format!("limit=2&cursor={next}")).0, "bbc");
}

#[test]
fn errors_have_the_statuses_of_the_draft() {
    let server = server();
    let (_, metadata) = beds(&server, "limit=1");
    let cursor = text(&metadata, "next").to_owned();
    let bed = "/garden:garden/bed";
    let unsupported = "operation-not-supported";
    for (path, status, tag) in [
        (format!("{bed}?limit=0"), 400, "invalid-value"),
        (format!("{bed}?limit=4294967296"), 400, "invalid-value"),
        (format!("{bed}?limit=1&limit=1"), 400, "invalid-value"),
        (format!("{bed}?offset=-1"), 400, "invalid-value"),
        (format!("{bed}?direction=down"), 400, "invalid-value"),
        (format!("{bed}?sort-by=nothing"), 400, "invalid-value"),
        (format!("{bed}?sort-by=row"), 400, "invalid-value"),
        (format!("{bed}?locale=C"), 400, "invalid-value"),
        (format!("{bed}?where=area%3E"), 400, "invalid-value"),
        (format!("{bed}?sublist-limit=0"), 400, "invalid-value"),
        (
            format!("{bed}?offset=1&cursor={cursor}"),
            400,
            "invalid-value",
        ),
        (format!("{bed}?offset=5"), 416, "invalid-value"),
        (
            format!("{bed}?offset=1&where=name%3D'none'"),
            416,
            "invalid-value",
        ),
        (format!("{bed}?cursor=x"), 404, "invalid-value"),
        (
            format!("{bed}?cursor={cursor}&direction=backwards"),
            404,
            "invalid-value",
        ),
        (
            format!("/garden:garden/visit?cursor={cursor}"),
            404,
            "invalid-value",
        ),
        (
            format!("{bed}?sort-by=area&locale=sv_SE"),
            501,
            "invalid-value",
        ),
        (
            format!("{bed}?sort-by=area&locale=sv_SE.UTF-8"),
            501,
            "invalid-value",
        ),
        (
            format!("/garden:garden/wish?cursor={cursor}"),
            501,
            unsupported,
        ),
        ("/garden:garden?limit=1".to_owned(), 400, unsupported),
        (format!("{bed}=a?where=area"), 400, unsupported),
        ("?offset=1".to_owned(), 400, unsupported),
        (format!("{bed}=none/row?limit=1"), 404, "invalid-value"),
    ] {
        check_error(&server.get(&path), status, tag);
    }
}

#[test]
fn errors_have_the_app_tags_of_the_draft() {
    let (server, bed) = (server(), "/garden:garden/bed");
    let put = server.json(
        "PUT",
        "/garden:garden/bed=a?limit=1",
        r#"{"garden:bed":[{"name":"a"}]}"#,
    );
    check_error(&put, 400, "operation-not-supported");
    for (path, app_tag) in [
        (format!("{bed}?offset=5"), "offset-out-of-range"),
        (format!("{bed}?cursor=x"), "cursor-not-found"),
        (
            format!("{bed}?sort-by=area&locale=sv_SE"),
            "locale-unavailable",
        ),
    ] {
        let body = server.get(&path).body;
        let expected = format!(r#""error-app-tag":"ietf-list-pagination:{app_tag}""#);
        assert!(
            body.contains(&expected) && body.contains(r#""error-type":"application""#),
            "{body}"
        );
    }
}

#[test]
fn lists_in_xml_have_a_media_type() {
    const LIST: &str = "application/yang-data+xml-list";
    let server = server();
    let get = |path: &str, accept: &str| {
        let path = format!("/restconf/data{path}");
        server.send("GET", &path, &[("Accept", accept)], "")
    };
    let found = get("/garden:garden/bed?limit=2&fields=name", LIST);
    assert_eq!((found.status, found.header("content-type")), (200, LIST));
    let lp = "xmlns:lp=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\"";
    assert!(
        found.body.starts_with("<xml-list><bed xmlns=\"") && found.body.contains(lp),
        "{}",
        found.body
    );
    assert!(found.body.contains("lp:remaining=\"unknown\"") && found.body.contains("lp:next=\""));
    assert!(
        found.body.ends_with("<name>b</name></bed></xml-list>"),
        "{}",
        found.body
    );
    let all = get("/garden:garden/wish", LIST);
    assert_eq!(all.body.matches("<wish ").count(), 3, "{}", all.body);
    assert_eq!(get("/garden:garden/bed?offset=4", LIST).body, "<xml-list/>");
    assert_eq!(
        get("/garden:garden/bed", "application/yang-data+xml").status,
        400
    );
    assert_eq!(
        get("/garden:garden/bed?limit=1", "application/yang-data+xml").status,
        200
    );
    assert_eq!(get("/garden:garden", LIST).status, 406);
    let error = get("/garden:garden/bed?offset=9", LIST);
    assert_eq!(
        (error.status, error.header("content-type")),
        (416, "application/yang-data+xml")
    );
    let head = server.send(
        "HEAD",
        "/restconf/data/garden:garden/bed?limit=1",
        &[("Accept", LIST)],
        "",
    );
    assert_eq!(
        (head.status, head.header("content-type"), &*head.body),
        (200, LIST, "")
    );
}

#[test]
fn sublists_of_any_target_are_limited() {
    let server = server();
    let metadata = r#""@":{"ietf-list-pagination:remaining":"unknown"}"#;
    let row = format!(r#""row":[{{{metadata},"number":1,"side":"north","crop":"leek"}}]"#);
    let bed = format!(r#"{{"garden:bed":[{{"name":"a","area":4,{row}}}]}}"#);
    check_json(&server.get("/garden:garden/bed=a?sublist-limit=1"), &bed);
    let all = json_of(&server.get("?sublist-limit=1"));
    let garden = &all["ietf-restconf:data"]["garden:garden"];
    assert_eq!(garden["bed"].as_array().map(Vec::len), Some(1));
    assert_eq!(garden["wish"], json!(["rain"]));
    let uncut = json_of(&server.get("/garden:garden/bed?sublist-limit=2"));
    assert_eq!(uncut["garden:bed"].as_array().map(Vec::len), Some(4));
    assert!(!uncut.to_string().contains("remaining"));
}

/// An empty list is a page without entries.
#[test]
fn lists_without_entries_are_pages() {
    let server = server();
    check_json(
        &server.get("/garden:garden/bed=b/row?limit=1"),
        r#"{"garden:row":[]}"#,
    );
    check_error(
        &server.get("/garden:garden/bed=b/row?offset=1"),
        416,
        "invalid-value",
    );
    check_json(
        &server.get("/garden:garden/tag?limit=1"),
        r#"{"garden:tag":[]}"#,
    );
}

/// State has pages too.
#[test]
fn operational_state_has_pages() {
    let server = server();
    let path = "/restconf/ds/ietf-datastores:operational/ietf-yang-library:yang-library/module-set=server-state/module";
    let get = |query: &str| {
        let response = server.send("GET", &format!("{path}?{query}"), &[], "");
        json_of(&response)["ietf-yang-library:module"].clone()
    };
    let first = get("limit=2&fields=name&sort-by=name");
    assert_eq!(first.as_array().map(Vec::len), Some(2));
    let next = text(&first[0]["@"], "next");
    let second = get(&format!("limit=2&fields=name&sort-by=name&cursor={next}"));
    assert!(second[0]["name"].as_str() > first[1]["name"].as_str());
}
