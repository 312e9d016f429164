//! Corner cases of RFC 8040, in JSON and in XML, on each datastore.

use std::time::{Duration, SystemTime};

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{Datastore, Store, SystemClock};
use espalier_yang::schema::{ModuleSource, SchemaSource};

use crate::support::{HttpResponse, JSON, Server, XML, check_json};

pub const NAMESPACE: &str = "urn:espalier:test:plot";
pub const NC: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
pub const RESTCONF: &str = "urn:ietf:params:xml:ns:yang:ietf-restconf";

/// A server with the module `plot` and an empty datastore.
pub fn server() -> Server {
    let driver = std::sync::Arc::new(Memory::new(Config::default()));
    let store = Store::open(driver, std::sync::Arc::new(SystemClock)).unwrap();
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(include_str!("../models/plot.yang")).unwrap()],
        ..SchemaSource::default()
    };
    store.create_dataspace("test").unwrap();
    store.create_schema_set("test", "plot", &source).unwrap();
    store.create_anchor("test", "plot", "plot").unwrap();
    let tree = store.tree("test", "plot", Datastore::Running).unwrap();
    Server::of((tree, source), RestconfConfig::default(), None)
}

/// The URLs of the writable datastores, and the header that they need.
pub const DATASTORES: [(&str, &str); 4] = [
    ("/restconf/data", ""),
    ("/restconf/ds/ietf-datastores:running", ""),
    ("/restconf/ds/ietf-datastores:candidate", ""),
    ("/restconf/ds/espalier-datastores:private-candidate", "me"),
];

/// Sends a request in a format to a datastore.
pub fn send(
    server: &Server,
    (base, session): (&str, &str),
    (method, path): (&str, &str),
    media: &str,
    body: &str,
) -> HttpResponse {
    let mut headers = vec![("accept", media), ("espalier-session", session)];
    if !body.is_empty() {
        headers.push(("content-type", media));
    }
    server.send(method, &format!("{base}{path}"), &headers, body)
}

/// The tag of the first error, in either format.
pub fn tag(response: &HttpResponse) -> &str {
    let rest = match response.body.split_once("\"error-tag\":\"") {
        Some((_, rest)) => rest,
        None => response
            .body
            .split_once("<error-tag>")
            .map_or("", |(_, rest)| rest),
    };
    rest.split(['"', '<']).next().unwrap_or_default()
}

/// A request in both formats, with the expected status and error-tag.
pub struct Case<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub json: &'a str,
    pub xml: &'a str,
    pub status: u16,
    pub tag: &'a str,
}

/// Sends each request in both formats to each datastore; each must fail without changes.
pub fn check_rejected(cases: &[Case<'_>]) {
    for datastore in DATASTORES {
        let server = server();
        let before = send(&server, datastore, ("PATCH", ""), JSON, SOME);
        assert_eq!(before.status, 204, "{before:?}");
        let before = send(&server, datastore, ("GET", ""), JSON, "").body;
        for case in cases {
            for (media, body) in [(JSON, case.json), (XML, case.xml)] {
                let response = send(&server, datastore, (case.method, case.path), media, body);
                let found = (response.status, tag(&response));
                let request = format!("{} {}{} {body}", case.method, datastore.0, case.path);
                assert_eq!(found, (case.status, case.tag), "{request}: {response:?}");
                let after = send(&server, datastore, ("GET", ""), JSON, "").body;
                assert_eq!(after, before, "{request}");
            }
        }
    }
}

const SOME: &str = r#"{"plot:c":{"prefix":"A","e":[{"k":"a","l":1,"box":{"v":"1","inner":{"w":"2"}}}],
    "u":[{"k":"1"},{"k":"2"}],"w":["1","2"],"q":[{"k":"1","a":"s"}]}}"#;

pub fn xml_c(content: &str) -> String {
    format!(r#"<c xmlns="{NAMESPACE}" xmlns:nc="{NC}">{content}</c>"#)
}

/// RFC 8040 §3.5.4.
#[test]
fn the_default_of_a_target_is_its_value() {
    let server = server();
    for datastore in DATASTORES {
        let get = |method: &str, path: &str, media: &str| {
            send(&server, datastore, (method, path), media, "")
        };
        check_json(&get("GET", "/plot:c/weight", JSON), r#"{"plot:weight":5}"#);
        let xml = get("GET", "/plot:c/weight", XML);
        assert_eq!(
            xml.body,
            format!(r#"<weight xmlns="{NAMESPACE}">5</weight>"#)
        );
        let colours = r#"{"plot:colour":["red","blue"]}"#;
        check_json(&get("GET", "/plot:c/colour", JSON), colours);
        // RFC 8040 §4.3: XML has a single top element.
        assert_eq!(get("GET", "/plot:c/colour", XML).status, 400);
        let one = get("GET", "/plot:c/colour?limit=1&offset=1", XML);
        assert_eq!(
            one.body,
            format!(r#"<colour xmlns="{NAMESPACE}">blue</colour>"#)
        );
        check_json(
            &get("GET", "/plot:c/colour=red", JSON),
            r#"{"plot:colour":["red"]}"#,
        );
        let table = [
            ("GET", "/plot:c/colour=green", 404),
            ("GET", "/plot:c/text", 404),
            ("GET", "/plot:c/e=x,1/d", 404),
            ("HEAD", "/plot:c/weight", 200),
            ("HEAD", "/plot:c/colour=blue", 200),
            ("GET", "/plot:c/weight?with-defaults=report-all", 200),
            ("GET", "/plot:c/weight?with-defaults=explicit", 404),
            ("GET", "/plot:c/weight?with-defaults=trim", 404),
            // A default is not an instance and cannot be deleted.
            ("DELETE", "/plot:c/weight", 404),
        ];
        for (method, path, status) in table {
            let response = get(method, path, JSON);
            assert_eq!(response.status, status, "{method} {path}: {response:?}");
        }
        // Its parent does not report it.
        assert!(!get("GET", "", JSON).body.contains("weight"));
    }
    let tag = server.get("/plot:c/weight").header("etag").to_owned();
    let path = "/restconf/data/plot:c/weight";
    for (name, value, status) in [
        ("if-none-match", tag.as_str(), 304),
        ("if-match", tag.as_str(), 200),
        ("if-match", "\"other\"", 412),
    ] {
        assert_eq!(
            server.send("GET", path, &[(name, value)], "").status,
            status
        );
    }
    server.put("/plot:c/colour=green", r#"{"plot:colour":["green"]}"#);
    check_json(
        &server.get("/plot:c/colour"),
        r#"{"plot:colour":["green"]}"#,
    );
    assert_eq!(server.get("/plot:c/colour=red").status, 404);
}

/// RFC 8040 §5.5, RFC 9110 §12.5.5.
#[test]
fn every_response_has_caching_headers() {
    let server = server();
    let json = [("content-type", JSON)];
    let body = r#"{"plot:text":"x"}"#;
    type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16);
    let table: &[Row<'_>] = &[
        ("PUT", "/restconf/data/plot:c/text", &json, body, 201),
        ("PUT", "/restconf/data/plot:c/text", &json, body, 204),
        ("PATCH", "/restconf/data/plot:c/text", &json, body, 204),
        ("POST", "/restconf/data/plot:c", &json, body, 409),
        (
            "POST",
            "/restconf/data/plot:c",
            &json,
            r#"{"plot:prefix":"x"}"#,
            201,
        ),
        ("GET", "/restconf/data", &[], "", 200),
        ("HEAD", "/restconf/data", &[], "", 200),
        ("GET", "/restconf/data", &[("if-none-match", "*")], "", 304),
        ("GET", "/restconf/data", &[("if-match", "\"x\"")], "", 412),
        ("GET", "/restconf/data/plot:c/table", &[], "", 404),
        ("GET", "/restconf/data", &[("accept", "image/png")], "", 406),
        ("OPTIONS", "/restconf/data", &[], "", 200),
        ("DELETE", "/restconf/data", &[], "", 405),
        ("DELETE", "/restconf/data/plot:c/text", &[], "", 204),
        (
            "PUT",
            "/restconf/data/plot:c/text",
            &[("content-type", "text/plain")],
            "x",
            415,
        ),
        ("POST", "/restconf/operations/plot:known", &json, "{}", 501),
        ("GET", "/restconf", &[], "", 200),
        ("GET", "/restconf/yang-library-version", &[], "", 200),
        ("GET", "/restconf/schema/plot.yang", &[], "", 200),
        ("GET", "/restconf/nothing", &[], "", 404),
        (
            "GET",
            "/restconf/ds/ietf-datastores:operational",
            &[],
            "",
            200,
        ),
        ("GET", "/.well-known/host-meta", &[], "", 200),
        ("OPTIONS", "/.well-known/host-meta", &[], "", 200),
        ("PUT", "/.well-known/host-meta", &[], "", 405),
    ];
    for (method, path, headers, body, status) in table {
        let response = server.send(method, path, headers, body);
        assert_eq!(response.status, *status, "{method} {path}: {response:?}");
        let found = (response.header("cache-control"), response.header("vary"));
        assert_eq!(found, ("no-cache", "Accept"), "{method} {path}");
    }
}

/// RFC 8040 §4.5: the body of PUT is the target resource.
#[test]
fn put_of_a_datastore_accepts_the_datastore_resource_or_its_nodes() {
    let put = |json, xml, tag| Case {
        method: "PUT",
        path: "",
        json,
        xml,
        status: 400,
        tag,
    };
    let bare_xml = xml_c("<text>x</text>");
    let config = format!(r#"<config xmlns="{NC}"/>"#);
    let beside_xml = format!(r#"<data xmlns="{RESTCONF}"/>{bare_xml}"#);
    let twice_xml = format!(r#"<data xmlns="{RESTCONF}"/><data xmlns="{RESTCONF}"/>"#);
    let attribute_xml =
        format!(r#"<data xmlns="{RESTCONF}" xmlns:nc="{NC}" nc:operation="delete"/>"#);
    let attribute_json = r#"{"ietf-restconf:data":{"@":{"ietf-netconf:operation":"delete"}}}"#;
    check_rejected(&[
        put("{}", "<!-- nothing -->", "missing-element"),
        put(
            r#"{"ietf-netconf:config":{}}"#,
            &config,
            "unknown-namespace",
        ),
        put(
            r#"{"ietf-restconf:data":{},"plot:c":{}}"#,
            &beside_xml,
            "bad-element",
        ),
        put(
            r#"{"ietf-restconf:data":{},"ietf-restconf:data":{}}"#,
            &twice_xml,
            "bad-element",
        ),
        Case {
            method: "PATCH",
            ..put("{}", "<!-- nothing -->", "missing-element")
        },
        Case {
            method: "PUT",
            path: "/plot:c",
            ..put("{}", "<!-- nothing -->", "missing-element")
        },
    ]);
    let server = server();
    assert_eq!(server.json("PUT", "", attribute_json).status, 400);
    assert_eq!(server.xml("PUT", "", &attribute_xml).status, 400);
    let bare = r#"{"plot:c":{"text":"x"}}"#;
    let made = server.json("PUT", "", bare);
    assert_eq!(
        (made.status, made.header("location")),
        (201, "/restconf/data")
    );
    assert_eq!(server.xml("PUT", "", &bare_xml).status, 204);
    assert_eq!(
        server
            .json("PUT", "", r#"{"ietf-restconf:data":{}}"#)
            .status,
        204
    );
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

/// The request of `espalier load --replace`.
#[test]
fn a_bare_document_replaces_a_datastore_even_if_it_is_empty() {
    let server = server();
    server.put("/plot:c", r#"{"plot:c":{"text":"x"}}"#);
    let headers = [("content-type", JSON), ("espalier-document", "bare")];
    let response = server.send(
        "PUT",
        "/restconf/data",
        &headers,
        r#"{"plot:c":{"text":"x"}}"#,
    );
    assert_eq!(response.status, 204, "{response:?}");
    assert_eq!(
        server.send("PUT", "/restconf/data", &headers, "{}").status,
        204
    );
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

/// RFC 8040 §4.8.5, §4.8.6.
#[test]
fn insert_and_point_require_new_entries_ordered_by_user() {
    let entry = |method, path| Case {
        method,
        path,
        json: r#"{"plot:u":[{"k":"9"}]}"#,
        xml: "<u xmlns=\"urn:espalier:test:plot\"><k>9</k></u>",
        status: 400,
        tag: "invalid-value",
    };
    let c = |method, path| Case {
        json: r#"{"plot:c":{}}"#,
        xml: "<c xmlns=\"urn:espalier:test:plot\"/>",
        ..entry(method, path)
    };
    let leaf = |method, path| Case {
        json: r#"{"plot:text":"x"}"#,
        xml: "<text xmlns=\"urn:espalier:test:plot\">x</text>",
        ..entry(method, path)
    };
    let whole = Case {
        json: r#"{"ietf-restconf:data":{}}"#,
        xml: "<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\"/>",
        ..entry("PUT", "?insert=first")
    };
    let none = |method, path| Case {
        json: "",
        xml: "",
        ..entry(method, path)
    };
    let other_point = Case {
        tag: "bad-attribute",
        ..entry("POST", "/plot:c?insert=before&point=%2Fplot%3Ac%2Fu%3D7")
    };
    check_rejected(&[
        whole,
        c("PUT", "/plot:c?insert=first"),
        leaf("PUT", "/plot:c/text?insert=last"),
        leaf("POST", "/plot:c?insert=last"),
        leaf("PATCH", "/plot:c/text?insert=last"),
        entry("PATCH", "/plot:c/u=9?insert=first"),
        entry("POST", "/plot:c?insert=before"),
        entry("POST", "/plot:c?insert=first&point=%2Fplot%3Ac%2Fu%3D1"),
        entry("POST", "/plot:c?point=%2Fplot%3Ac%2Fu%3D1"),
        entry("POST", "/plot:c?insert=before&point=%2Fplot%3Ac%2Fw%3D1"),
        entry("POST", "/plot:c?insert=first&insert=first"),
        none("DELETE", "/plot:c/u=1?insert=first"),
        none("GET", "/plot:c/u=1?insert=first"),
        other_point,
    ]);
}

/// RFC 8040 §4.8.2: the depth starts at the nodes that `fields` selects.
#[test]
fn depth_starts_at_the_selected_fields() {
    let server = server();
    server.put("/plot:c", r#"{"plot:c":{"text":"x","e":[{"k":"a","l":1,"box":{"v":"1","inner":{"w":"2"}}},{"k":"b","l":1,"o":"o"}]}}"#);
    let table = [
        (
            "/plot:c?fields=e/box&depth=1",
            r#"{"plot:c":{"e":[{"k":"a","l":1,"box":{}},{"k":"b","l":1}]}}"#,
        ),
        (
            "/plot:c?fields=e/box&depth=2",
            r#"{"plot:c":{"e":[{"k":"a","l":1,"box":{"v":"1","inner":{}}},{"k":"b","l":1}]}}"#,
        ),
        (
            "/plot:c?fields=e(box/inner)&depth=1",
            r#"{"plot:c":{"e":[{"k":"a","l":1,"box":{"inner":{}}},{"k":"b","l":1}]}}"#,
        ),
        (
            "/plot:c/e=a,1?fields=box&depth=1",
            r#"{"plot:e":[{"k":"a","l":1,"box":{}}]}"#,
        ),
        ("/plot:c?fields=pc&depth=1", r#"{"plot:c":{}}"#),
        (
            "?fields=plot:c&depth=1",
            r#"{"ietf-restconf:data":{"plot:c":{}}}"#,
        ),
    ];
    for (path, expected) in table {
        let response = server.get(path);
        assert_eq!(response.status, 200, "{path}");
        let found: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!(found, expected, "{path}");
    }
    let xml = server.get_xml("/plot:c/e=a,1?fields=box&depth=1").body;
    assert!(
        xml.contains("<box></box>") || xml.contains("<box/>"),
        "{xml}"
    );
    let library = server.get("/ietf-yang-library:yang-library?fields=module-set/module&depth=1");
    assert!(library.body.contains(r#""module":[{}"#), "{library:?}");
    // An XML document has a single top entry, also if the server generates it.
    assert_eq!(
        server
            .get_xml("/ietf-restconf-monitoring:restconf-state/capabilities/capability")
            .status,
        400
    );
}

/// RFC 8040 §4.6.1: a plain patch does not delete, replace or create its target.
#[test]
fn an_operation_on_the_target_of_a_patch_is_rejected() {
    for operation in ["delete", "remove", "replace", "create", "merge", "none"] {
        let own = format!(r#"{{"plot:c":{{"@":{{"ietf-netconf:operation":"{operation}"}}}}}}"#);
        let own_xml =
            format!(r#"<c xmlns="{NAMESPACE}" xmlns:nc="{NC}" nc:operation="{operation}"/>"#);
        let leaf = format!(
            r#"{{"plot:prefix":"A","@plot:prefix":{{"ietf-netconf:operation":"{operation}"}}}}"#
        );
        let leaf_xml = format!(
            r#"<prefix xmlns="{NAMESPACE}" xmlns:nc="{NC}" nc:operation="{operation}">A</prefix>"#
        );
        let entry =
            format!(r#"{{"plot:w":["1"],"@plot:w":[{{"ietf-netconf:operation":"{operation}"}}]}}"#);
        let entry_xml =
            format!(r#"<w xmlns="{NAMESPACE}" xmlns:nc="{NC}" nc:operation="{operation}">1</w>"#);
        let case = |path, json, xml| Case {
            method: "PATCH",
            path,
            json,
            xml,
            status: 400,
            tag: "bad-attribute",
        };
        check_rejected(&[
            case("/plot:c", &own, &own_xml),
            case("/plot:c/prefix", &leaf, &leaf_xml),
            case("/plot:c/w=1", &entry, &entry_xml),
        ]);
    }
}

/// The example of RFC 8040 §4.6.1: only the URL has the keys.
#[test]
fn a_patch_need_not_repeat_the_keys_of_its_target() {
    for datastore in DATASTORES {
        let server = server();
        assert_eq!(
            send(&server, datastore, ("PATCH", ""), JSON, SOME).status,
            204
        );
        let path = "/plot:c/e=a,1";
        let patch = |media: &str, body: &str| {
            let response = send(&server, datastore, ("PATCH", path), media, body);
            (response.status, tag(&response).to_owned())
        };
        let done = (204, String::new());
        assert_eq!(patch(JSON, r#"{"plot:e":[{"o":"json"}]}"#), done);
        let xml = |content: &str| format!(r#"<e xmlns="{NAMESPACE}">{content}</e>"#);
        assert_eq!(patch(XML, &xml("<d>xml</d>")), done);
        assert_eq!(patch(JSON, r#"{"plot:e":[{"l":1,"box":{"v":"3"}}]}"#), done);
        let found = send(&server, datastore, ("GET", path), JSON, "");
        let expected = r#"{"plot:e":[{"k":"a","l":1,"box":{"v":"3","inner":{"w":"2"}},"o":"json","d":"xml"}]}"#;
        check_json(&found, expected);
        let other = (400, "invalid-value".to_owned());
        assert_eq!(patch(JSON, r#"{"plot:e":[{"l":2}]}"#), other);
        assert_eq!(patch(XML, &xml("<k>b</k>")), other);
        let within = r#"{"plot:c":{"e":[{"o":"x"}]}}"#;
        let response = send(&server, datastore, ("PATCH", "/plot:c"), JSON, within);
        assert_eq!((response.status, tag(&response)), (400, "missing-element"));
        // PUT requires the whole resource.
        let response = send(
            &server,
            datastore,
            ("PUT", path),
            JSON,
            r#"{"plot:e":[{"o":"x"}]}"#,
        );
        assert_eq!((response.status, tag(&response)), (400, "missing-element"));
    }
}

#[test]
fn operations_that_no_module_defines_are_not_found() {
    let server = server();
    let headers = [("content-type", JSON)];
    let table = [
        ("POST", "/restconf/operations/plot:known", 501),
        ("GET", "/restconf/operations/plot:known", 405),
        ("POST", "/restconf/operations/plot:unknown", 404),
        ("GET", "/restconf/operations/plot:unknown", 404),
        ("OPTIONS", "/restconf/operations/plot:unknown", 404),
        ("POST", "/restconf/operations/nowhere:known", 404),
        ("POST", "/restconf/operations/known", 404),
        ("POST", "/restconf/operations/plot:c", 404),
        ("POST", "/restconf/data/plot:c/run", 501),
        ("POST", "/restconf/data/plot:c/walk", 404),
    ];
    for (method, path, status) in table {
        let response = server.send(
            method,
            path,
            &headers,
            if method == "POST" { "{}" } else { "" },
        );
        assert_eq!(response.status, status, "{method} {path}: {response:?}");
    }
}

/// RFC 5789 §2.2, RFC 9110 §8.4 and §15.5.16.
#[test]
fn unsupported_bodies_are_415_with_the_supported_types() {
    let server = server();
    for base in ["/restconf/data", "/restconf/ds/ietf-datastores:candidate"] {
        for path in ["", "/plot:c", "/plot:c/text"] {
            let path = format!("{base}{path}");
            let text = [("content-type", "text/plain")];
            let patch = server.send("PATCH", &path, &text, "x");
            assert_eq!(patch.status, 415, "{path}");
            assert!(patch.header("accept-patch").contains(XML), "{patch:?}");
            let put = server.send("PUT", &path, &text, "x");
            assert_eq!((put.status, put.header("accept-patch")), (415, ""));
            assert!(put.body.contains(JSON) && put.body.contains(XML), "{put:?}");
            for coding in ["gzip", "br", "identity, gzip", "GZIP"] {
                for method in ["PUT", "PATCH", "POST"] {
                    let headers = [("content-type", JSON), ("content-encoding", coding)];
                    let response = server.send(method, &path, &headers, "{}");
                    if method == "POST" && path.ends_with("text") {
                        assert_eq!(response.status, 405);
                        continue;
                    }
                    let found = (response.status, response.header("accept-encoding"));
                    assert_eq!(found, (415, "identity"), "{method} {path} {coding}");
                }
            }
        }
    }
    let headers = [("content-type", JSON), ("content-encoding", "identity")];
    let body = r#"{"plot:text":"x"}"#;
    let response = server.send("PUT", "/restconf/data/plot:c/text", &headers, body);
    assert_eq!(response.status, 201, "{response:?}");
}

/// RFC 8040 §7: a violated constraint is a client error.
#[test]
fn a_violated_constraint_is_412() {
    let server = server();
    let xml = |content: &str| format!(r#"<{content}"#);
    let table = [
        (
            "PUT",
            "/plot:c/weight",
            r#"{"plot:weight":9}"#,
            xml(r#"weight xmlns="urn:espalier:test:plot">9</weight>"#),
        ),
        (
            "POST",
            "/plot:c",
            r#"{"plot:weight":9}"#,
            xml(r#"weight xmlns="urn:espalier:test:plot">9</weight>"#),
        ),
        (
            "PATCH",
            "/plot:c",
            r#"{"plot:c":{"weight":9}}"#,
            xml_c("<weight>9</weight>"),
        ),
        (
            "PUT",
            "",
            r#"{"ietf-restconf:data":{"plot:c":{"weight":9}}}"#,
            format!(
                r#"<data xmlns="{RESTCONF}">{}</data>"#,
                xml_c("<weight>9</weight>")
            ),
        ),
        (
            "PUT",
            "/plot:c",
            r#"{"plot:c":{"q":[{"k":"1","a":"s"},{"k":"2","a":"s"}]}}"#,
            xml_c("<q><k>1</k><a>s</a></q><q><k>2</k><a>s</a></q>"),
        ),
    ];
    for (method, path, json, xml) in &table {
        for (media, body) in [(JSON, *json), (XML, xml.as_str())] {
            let response = send(&server, DATASTORES[0], (method, path), media, body);
            let found = (response.status, tag(&response));
            assert_eq!(
                found,
                (412, "operation-failed"),
                "{method} {path}: {response:?}"
            );
            assert!(response.body.contains("error-path"), "{response:?}");
        }
    }
}

/// RFC 8040 §3.4.1: also for a datastore without commits.
#[test]
fn a_new_datastore_has_its_creation_time() {
    let start = SystemTime::now() - Duration::from_secs(2);
    let server = server();
    for (base, session) in DATASTORES {
        let headers = [("espalier-session", session)];
        let response = server.send("GET", base, &headers, "");
        let time = httpdate::parse_http_date(response.header("last-modified")).unwrap();
        assert!(
            time >= start && time <= SystemTime::now(),
            "{base}: {response:?}"
        );
        assert!(!response.header("etag").is_empty());
    }
    let startup = server.send("GET", "/restconf/ds/ietf-datastores:startup", &[], "");
    let time = httpdate::parse_http_date(startup.header("last-modified")).unwrap();
    assert!(time >= start, "{startup:?}");
}

/// A typical mistake: an unencoded slash in a key.
#[test]
fn a_slash_within_a_key_is_explained() {
    let server = server();
    let response = server.get("/plot:c/tl=ge-0/0/0");
    assert_eq!(response.status, 400, "{response:?}");
    assert!(response.body.contains("%2F"), "{}", response.body);
}

/// An empty container without presence cannot be read, but nodes can be created in it.
#[test]
fn an_empty_container_without_presence_is_not_found() {
    let server = server();
    for datastore in DATASTORES {
        for media in [JSON, XML] {
            for path in ["/plot:c", "/plot:c/pc"] {
                let response = send(&server, datastore, ("GET", path), media, "");
                assert_eq!(
                    (response.status, tag(&response)),
                    (404, "invalid-value"),
                    "{path}"
                );
            }
        }
    }
    let path = "/restconf/data/plot:c";
    assert_eq!(
        server
            .send("GET", path, &[("if-none-match", "*")], "")
            .status,
        404
    );
    assert_eq!(server.get("/plot:c?with-defaults=report-all").status, 200);
    assert_eq!(
        server
            .json("PATCH", "/plot:c/pc", r#"{"plot:pc":{"x":"1"}}"#)
            .status,
        204
    );
    check_json(&server.get("/plot:c?depth=1"), r#"{"plot:c":{}}"#);
}
