//! Documents that are rejected by every method, in JSON and in XML.

use crate::semantics::{
    Case, DATASTORES, NAMESPACE, RESTCONF, check_rejected, send, server, tag, xml_c,
};
use crate::support::{JSON, XML, check_json};

/// A value over a limit of the store or of a document is 413, and the error has its path.
#[test]
fn values_that_are_too_large_are_413() {
    let server = server();
    let long = "x".repeat(5 << 20);
    let c = |content: &str| format!(r#"{{"plot:c":{{{content}}}}}"#);
    let json_long = format!("\"{long}\"");
    let leaf = format!(r#"{{"plot:text":{json_long}}}"#);
    let any = c(&format!(r#""any":{{"a":[1,{json_long}]}}"#));
    let data = c(&format!(r#""data":{{"plot:c":{{"text":{json_long}}}}}"#));
    let table = [
        ("PUT", "/plot:c/text", leaf.clone(), "/plot:c/text"),
        (
            "PATCH",
            "/plot:c",
            c(&format!(r#""text":{json_long}"#)),
            "/plot:c/text",
        ),
        ("POST", "/plot:c", leaf, "/plot:c/text"),
        (
            "PUT",
            "/plot:c",
            c(&format!(r#""w":[{json_long}]"#)),
            "/plot:c/w",
        ),
        ("PUT", "/plot:c", any, "/plot:c/any"),
        ("PATCH", "/plot:c", data, "/plot:c/data"),
        (
            "PUT",
            "/plot:c",
            c(&format!(r#""e":[{{"k":"a","l":1,"o":{json_long}}}]"#)),
            "/plot:c/e[k='a'][l='1']/o",
        ),
        (
            "PUT",
            "",
            format!(
                r#"{{"ietf-restconf:data":{}}}"#,
                c(&format!(r#""text":{json_long}"#))
            ),
            "/plot:c/text",
        ),
    ];
    for (method, path, body, place) in &table {
        let response = server.json(method, path, body);
        let error_path = format!(r#""error-path":"{place}""#);
        assert_eq!(
            (response.status, tag(&response)),
            (413, "too-big"),
            "{method} {path}"
        );
        assert!(
            response.body.contains(&error_path),
            "{place}: {}",
            response.body
        );
    }
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

/// The same in XML, and over the token limit, which is larger than the one of the store.
#[test]
fn values_that_are_too_large_are_413_in_every_format() {
    let server = server();
    let long = "x".repeat(5 << 20);
    let xml = [
        (
            "PUT",
            "/plot:c/text",
            format!(r#"<text xmlns="{NAMESPACE}">{long}</text>"#),
        ),
        (
            "PATCH",
            "/plot:c",
            xml_c(&format!("<any><a>{long}</a></any>")),
        ),
        (
            "PUT",
            "",
            format!(
                r#"<data xmlns="{RESTCONF}">{}</data>"#,
                xml_c(&format!("<w>{long}</w>"))
            ),
        ),
    ];
    for (method, path, body) in &xml {
        let response = server.xml(method, path, body);
        assert_eq!(
            (response.status, tag(&response)),
            (413, "too-big"),
            "{method} {path}"
        );
    }
    let longer = "y".repeat((16 << 20) + 1);
    let body = format!(r#"{{"ietf-restconf:data":{{"plot:c":{{"text":"{longer}"}}}}}}"#);
    let response = server.json("PUT", "", &body);
    assert_eq!((response.status, tag(&response)), (413, "too-big"));
    assert!(
        response.body.contains(r#""error-path":"/plot:c/text""#),
        "{}",
        response.body
    );
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

/// RFC 7950 §7.9: creating data of two cases would delete one of them.
#[test]
fn data_of_two_cases_is_rejected_unless_one_is_deleted() {
    let case = |method, json, xml| Case {
        method,
        path: "/plot:c",
        json,
        xml,
        status: 400,
        tag: "bad-element",
    };
    let leaves = xml_c("<prefix>A</prefix><table>T</table>");
    let deep = xml_c("<pc><x>1</x></pc><tl><k>1</k></tl>");
    let empty = xml_c("<table>T</table><pc/>");
    let leaves_json = r#"{"plot:c":{"prefix":"A","table":"T"}}"#;
    let deep_json = r#"{"plot:c":{"pc":{"x":"1"},"tl":[{"k":"1"}]}}"#;
    let empty_json = r#"{"plot:c":{"table":"T","pc":{}}}"#;
    check_rejected(&[
        case("PATCH", leaves_json, &leaves),
        case("PUT", leaves_json, &leaves),
        case("PATCH", deep_json, &deep),
        case("PUT", deep_json, &deep),
        case("PATCH", empty_json, &empty),
    ]);
    // Deleted nodes may belong to the other case, in any position.
    let delete = r#"{"ietf-netconf:operation":"delete"}"#;
    let patches = [
        (
            JSON,
            format!(r#"{{"plot:c":{{"prefix":"A","@prefix":{delete},"table":"T"}}}}"#),
        ),
        (
            JSON,
            format!(r#"{{"plot:c":{{"table":"T","prefix":"A","@prefix":{delete}}}}}"#),
        ),
        (
            XML,
            xml_c(r#"<table>T</table><prefix nc:operation="delete"/>"#),
        ),
        (
            XML,
            xml_c(r#"<table>T</table><prefix nc:operation="remove"/><pc nc:operation="remove"/>"#),
        ),
    ];
    for (media, body) in patches {
        let server = server();
        server.put("/plot:c", r#"{"plot:c":{"prefix":"A"}}"#);
        let response = send(&server, DATASTORES[0], ("PATCH", "/plot:c"), media, &body);
        assert_eq!(response.status, 204, "{body}: {response:?}");
        check_json(&server.get("/plot:c"), r#"{"plot:c":{"table":"T"}}"#);
    }
}

/// Members of a container with invalid metadata, and the error-tag.
const WRONG_METADATA: &[(&str, &str)] = &[
    (r#""text":"x","@text":[{}]"#, "bad-attribute"),
    (r#""text":"x","@text":5"#, "bad-attribute"),
    (r#""text":"x","@text":null"#, "bad-attribute"),
    (r#""text":"x","@text":{"no-module":1}"#, "bad-attribute"),
    (
        r#""text":"x","@text":{"operation":"merge"}"#,
        "bad-attribute",
    ),
    (
        r#""text":"x","@text":{"ietf-origin:origin":{}}"#,
        "bad-attribute",
    ),
    (
        r#""text":"x","@text":{"ietf-netconf-with-defaults:default":"true"}"#,
        "bad-attribute",
    ),
    (r#""text":"x","@text":{},"@text":{}"#, "bad-attribute"),
    (
        r#""text":"x","@text":{"plot:nothing":1}"#,
        "unknown-attribute",
    ),
    (r#""text":"x","@text":{"nowhere:x":1}"#, "unknown-attribute"),
    (r#""@text":{}"#, "missing-element"),
    (r#""@nothing":{}"#, "unknown-element"),
    (r#""@":[]"#, "bad-attribute"),
    (r#""@":null"#, "bad-attribute"),
    (r#""@":{},"@":{}"#, "bad-attribute"),
    (r#""w":["9"],"@w":{}"#, "bad-attribute"),
    (r#""w":["9"],"@w":[{},{}]"#, "missing-element"),
    (r#""w":["9"],"@w":[5]"#, "bad-attribute"),
    (r#""u":[{"k":"9"}],"@u":[{}]"#, "bad-attribute"),
    (r#""pc":{},"@pc":{}"#, "bad-attribute"),
    (r#""data":{},"@data":{}"#, "bad-attribute"),
    (r#""data":{"@":5}"#, "bad-attribute"),
    (r#""any":5,"@any":[]"#, "bad-attribute"),
];

/// RFC 7952 §5.2, for every method; XML gives the same result if it can express the same.
#[test]
fn invalid_metadata_is_rejected() {
    let server = server();
    for (members, expected) in WRONG_METADATA {
        let c = format!(r#"{{"plot:c":{{{members}}}}}"#);
        for (method, path, body) in [
            ("PATCH", "/plot:c", c.clone()),
            ("PUT", "/plot:c", c.clone()),
            ("POST", "", c.clone()),
            ("PUT", "", format!(r#"{{"ietf-restconf:data":{c}}}"#)),
        ] {
            let response = server.json(method, path, &body);
            let found = (response.status, tag(&response));
            assert_eq!(
                found,
                (400, *expected),
                "{method} {path} {body}: {response:?}"
            );
        }
    }
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
    for attribute in [
        r#"xmlns:p="urn:espalier:test:plot" p:nothing="1""#,
        r#"x="1""#,
    ] {
        let body = format!(r#"<c xmlns="{NAMESPACE}"><text {attribute}>x</text></c>"#);
        for method in ["PATCH", "PUT"] {
            let response = server.xml(method, "/plot:c", &body);
            assert_eq!(
                (response.status, tag(&response)),
                (400, "unknown-attribute"),
                "{body}"
            );
        }
    }
    let right = [
        r#""text":"x","@text":{"ietf-netconf-with-defaults:default":true}"#,
        r#""text":"x","@text":{"ietf-origin:origin":"ietf-origin:intended"}"#,
        r#""w":["9","8"],"@w":[null,{"ietf-origin:origin":"ietf-origin:system"}]"#,
        r#""@":{"ietf-origin:origin":"ietf-origin:intended"},"data":{"@":{},"plot:c":{}}"#,
        r#""any":5,"@any":{}"#,
    ];
    for members in right {
        let response = server.json("PUT", "/plot:c", &format!(r#"{{"plot:c":{{{members}}}}}"#));
        assert!(
            matches!(response.status, 201 | 204),
            "{members}: {response:?}"
        );
    }
}
