//! Query parameters (RFC 8040 §4.8).

use crate::support::{Server, check_error, check_json};

fn server() -> Server {
    let server = Server::start();
    let body = r#"{"garden:garden":{"title":"Mine","watered":false,"soil":{"ph":"6.5"},"bed":[
        {"name":"a","area":4,"row":[{"number":1,"side":"north","crop":"leek"}]},
        {"name":"b"},{"name":"c","area":1}]}}"#;
    server.put("/garden:garden", body);
    server
}

#[test]
fn depth_limits_levels() {
    let server = server();
    let table = [
        ("/garden:garden?depth=1", r#"{"garden:garden":{}}"#),
        (
            "/garden:garden/bed=a?depth=2",
            r#"{"garden:bed":[{"name":"a","area":4}]}"#,
        ),
        (
            "/garden:garden/bed=a?depth=unbounded",
            r#"{"garden:bed":[{"name":"a","area":4,"row":[{"number":1,"side":"north","crop":"leek"}]}]}"#,
        ),
    ];
    for (path, expected) in table {
        let response = server.get(path);
        assert_eq!(response.status, 200, "{path}");
        if path.ends_with("depth=1") || path.ends_with("unbounded") {
            check_json(&response, expected);
        } else {
            assert!(!response.body.contains("leek"), "{}", response.body);
        }
    }
}

#[test]
fn fields_select() {
    let server = server();
    let table = [
        (
            "/garden:garden?fields=title;soil%2Fph",
            r#"{"garden:garden":{"title":"Mine","soil":{"ph":"6.5"}}}"#,
        ),
        (
            "/garden:garden?fields=bed(name;row(crop))",
            r#"{"garden:garden":{"bed":[{"name":"a","row":[{"number":1,"side":"north","crop":"leek"}]},{"name":"b"},{"name":"c"}]}}"#,
        ),
        (
            "/garden:garden/bed=a?fields=area",
            r#"{"garden:bed":[{"name":"a","area":4}]}"#,
        ),
        (
            "?fields=garden:garden/title",
            r#"{"ietf-restconf:data":{"garden:garden":{"title":"Mine"}}}"#,
        ),
    ];
    for (path, expected) in table {
        check_json(&server.get(path), expected);
    }
    assert_eq!(server.get("/garden:garden?fields=nothing").status, 400);
    assert_eq!(server.get("/garden:garden?fields=bed(").status, 400);
}

#[test]
fn defaults_are_reported_as_requested() {
    let server = server();
    let table = [
        ("explicit", r#"{"garden:bed":[{"name":"c","area":1}]}"#),
        ("trim", r#"{"garden:bed":[{"name":"c"}]}"#),
        ("report-all", r#"{"garden:bed":[{"name":"c","area":1}]}"#),
    ];
    for (mode, expected) in table {
        check_json(
            &server.get(&format!("/garden:garden/bed=c?with-defaults={mode}")),
            expected,
        );
    }
    let all = server.get("/garden:garden/bed=b?with-defaults=report-all");
    check_json(&all, r#"{"garden:bed":[{"name":"b","area":1}]}"#);
    let tagged = server.get("/garden:garden/bed=b?with-defaults=report-all-tagged");
    check_json(
        &tagged,
        r#"{"garden:bed":[{"name":"b","area":1,"@area":{"ietf-netconf-with-defaults:default":true}}]}"#,
    );
}

#[test]
fn invalid_parameters_are_rejected() {
    let server = server();
    let queries = [
        "depth=0",
        "depth=x",
        "content=x",
        "with-defaults=x",
        "depth=1&depth=1",
        "unknown=1",
        "filter=x",
        "start-time=x",
        "stop-time=x",
        "insert=first",
        "point=%2Fa",
    ];
    for query in queries {
        check_error(
            &server.get(&format!("/garden:garden?{query}")),
            400,
            "invalid-value",
        );
    }
    let body = r#"{"garden:garden":{}}"#;
    for (method, query) in [
        ("PATCH", "depth=1"),
        ("PUT", "content=all"),
        ("PATCH", "insert=first"),
    ] {
        let response = server.json(method, &format!("/garden:garden?{query}"), body);
        check_error(&response, 400, "invalid-value");
    }
    check_error(
        &server.json("DELETE", "/garden:garden?depth=1", ""),
        400,
        "invalid-value",
    );
}

#[test]
fn entries_ordered_by_user_are_placed() {
    let server = server();
    let post = |query: &str, who: &str| {
        let body = format!(r#"{{"garden:visit":[{{"who":"{who}"}}]}}"#);
        let response = server.json("POST", &format!("/garden:garden{query}"), &body);
        assert_eq!(response.status, 201, "{query}: {response:?}");
    };
    post("", "c");
    post("?insert=first", "a");
    post("?insert=last", "e");
    post("?insert=before&point=%2Fgarden%3Agarden%2Fvisit%3Dc", "b");
    post("?insert=after&point=/garden:garden/visit=c", "d's");
    post("?insert=after&point=/garden:garden/visit=d%2527s", "d2");
    let order = |expected: &str| {
        let response = server.get("/garden:garden/visit?fields=who");
        let list: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        let names = list["garden:visit"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|entry| entry["who"].as_str().unwrap()).collect();
        assert_eq!(names.join(" "), expected);
    };
    order("a b c d's d2 e");
    let body = r#"{"garden:visit":[{"who":"a"}]}"#;
    let moved = server.json("PUT", "/garden:garden/visit=a?insert=last", body);
    assert_eq!(moved.status, 204, "{moved:?}");
    order("b c d's d2 e a");
    for (who, query) in [
        ("1", ""),
        ("3", ""),
        ("2", "?insert=before&point=/garden:garden/wish=3"),
    ] {
        let body = format!(r#"{{"garden:wish":["{who}"]}}"#);
        assert_eq!(
            server
                .json("POST", &format!("/garden:garden{query}"), &body)
                .status,
            201
        );
    }
    check_json(
        &server.get("/garden:garden/wish"),
        r#"{"garden:wish":["1","2","3"]}"#,
    );
}

#[test]
fn invalid_positions_are_rejected() {
    let server = server();
    let visit = r#"{"garden:visit":[{"who":"x"}]}"#;
    let bed = r#"{"garden:bed":[{"name":"x"}]}"#;
    let table = [
        ("?insert=first", bed),
        ("?insert=before", visit),
        ("?insert=sideways", visit),
        ("?insert=first&point=/garden:garden/visit=x", visit),
        ("?insert=before&point=/garden:garden/bed=a", visit),
        ("?insert=before&point=/garden:garden/visit=none", visit),
    ];
    for (query, body) in table {
        let response = server.json("POST", &format!("/garden:garden{query}"), body);
        assert_eq!(response.status, 400, "{query}: {response:?}");
        // RFC 7950 §15.7.
        let has_error = response
            .body
            .contains(r#""error-app-tag":"missing-instance""#);
        assert_eq!(has_error, query.ends_with("none"), "{response:?}");
    }
}
