//! YANG Patch (RFC 8072), in JSON and in XML.

use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use crate::support::{HttpResponse, JSON, Server, XML};

const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-patch";
const GARDEN: &str = "urn:espalier:test:garden";
const PATCH: [&str; 2] = ["application/yang-patch+json", "application/yang-patch+xml"];

/// An edit: the operation, the target, the value in both formats, the place, the point.
#[derive(Clone, Debug, Default)]
struct Edit {
    operation: &'static str,
    target: String,
    value: Option<(String, String)>,
    place: Option<&'static str>,
    point: Option<String>,
}

fn edit(operation: &'static str, target: &str) -> Edit {
    Edit {
        operation,
        target: target.to_owned(),
        ..Edit::default()
    }
}

impl Edit {
    fn value(self, json: &str, xml: &str) -> Self {
        let xml = xml.replacen('>', &format!(" xmlns=\"{GARDEN}\">"), 1);
        Self {
            value: Some((json.to_owned(), xml)),
            ..self
        }
    }

    fn visit(self, who: &str, note: &str) -> Self {
        self.value(
            &format!(r#"{{"garden:visit":[{{"who":"{who}","note":"{note}"}}]}}"#),
            &format!("<visit><who>{who}</who><note>{note}</note></visit>"),
        )
    }

    fn leaf(self, name: &str, value: &str) -> Self {
        self.value(
            &format!(r#"{{"garden:{name}":"{value}"}}"#),
            &format!("<{name}>{value}</{name}>"),
        )
    }

    fn at(self, place: &'static str, point: &str) -> Self {
        Self {
            place: Some(place),
            point: (!point.is_empty()).then(|| point.to_owned()),
            ..self
        }
    }
}

fn json_patch(edits: &[Edit]) -> String {
    let edits = edits.iter().enumerate().map(|(number, edit)| {
        let mut text = format!(
            r#"{{"edit-id":"e{number}","operation":"{}","target":"{}""#,
            edit.operation, edit.target
        );
        for (name, value) in [("where", edit.place), ("point", edit.point.as_deref())] {
            if let Some(value) = value {
                text += &format!(r#","{name}":"{value}""#);
            }
        }
        if let Some((value, _)) = &edit.value {
            text += &format!(r#","value":{value}"#);
        }
        text + "}"
    });
    let edits: Vec<String> = edits.collect();
    format!(
        "{{\"ietf-yang-patch:yang-patch\":{{\"patch-id\":\"p\",\"edit\":[\n{}]}}}}",
        edits.join(",\n")
    )
}

fn xml_patch(edits: &[Edit]) -> String {
    let mut text = format!("<yang-patch xmlns=\"{NAMESPACE}\"><patch-id>p</patch-id>");
    for (number, edit) in edits.iter().enumerate() {
        text += &format!(
            "\n<edit><edit-id>e{number}</edit-id><operation>{}</operation><target>{}</target>",
            edit.operation, edit.target
        );
        for (name, value) in [("where", edit.place), ("point", edit.point.as_deref())] {
            if let Some(value) = value {
                text += &format!("<{name}>{value}</{name}>");
            }
        }
        if let Some((_, value)) = &edit.value {
            text += &format!("<value>{value}</value>");
        }
        text += "</edit>";
    }
    text + "</yang-patch>"
}

fn send(server: &Server, path: &str, edits: &[Edit], media: &str) -> HttpResponse {
    let body = match media {
        "application/yang-patch+json" => json_patch(edits),
        _ => xml_patch(edits),
    };
    send_body(server, path, &body, media)
}

fn send_body(server: &Server, path: &str, body: &str, media: &str) -> HttpResponse {
    let path = format!("/restconf/data{path}");
    server.send("PATCH", &path, &[("content-type", media)], body)
}

/// The names of the edits that failed, and the tag of the first error, in either format.
fn failed(response: &HttpResponse) -> (Vec<String>, String) {
    let body = response.body.replace('"', "");
    let parts = |name: &str| -> Vec<String> {
        let separated = body.replace(&format!("<{name}>"), &format!("{name}:"));
        let start = format!("{name}:");
        let parts = separated.split(&start).skip(1);
        let end = |part: &str| {
            part.split([',', '<', '}'])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        parts.map(end).collect()
    };
    let tag = parts("error-tag").into_iter().next().unwrap_or_default();
    (parts("edit-id"), tag)
}

/// Applies a patch in each format to a server of its own. Returns the datastore, which is the same.
fn applied(start: &str, path: &str, edits: &[Edit]) -> String {
    let states = PATCH.map(|media| {
        let server = Server::start();
        server.put("", start);
        let response = send(&server, path, edits, media);
        assert_eq!(response.status, 200, "{media}: {response:?}");
        let ok = match media {
            "application/yang-patch+json" => {
                r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","ok":[null]}}"#.to_owned()
            }
            _ => format!(
                "<yang-patch-status xmlns=\"{NAMESPACE}\"><patch-id>p</patch-id><ok/></yang-patch-status>"
            ),
        };
        assert_eq!(response.body, ok);
        assert_eq!(response.header("espalier-changed"), "true");
        assert!(!response.header("etag").is_empty());
        server.get("").body
    });
    assert_eq!(states[0], states[1]);
    states[0].clone()
}

/// Applies a patch that must fail, in each format: the failed edits, the tag, the status. Nothing is changed.
fn rejected(start: &str, path: &str, edits: &[Edit]) -> (Vec<String>, String, u16) {
    let results = PATCH.map(|media| {
        let server = Server::start();
        server.put("", start);
        let before = server.get("");
        let response = send(&server, path, edits, media);
        let after = server.get("");
        assert_eq!(after.body, before.body, "{media}: {response:?}");
        assert_eq!(after.header("etag"), before.header("etag"));
        assert!(response.body.contains("yang-patch-status"), "{response:?}");
        let (edits, tag) = failed(&response);
        (edits, tag, response.status)
    });
    assert_eq!(results[0], results[1]);
    results[0].clone()
}

const START: &str = r#"{"ietf-restconf:data":{"garden:garden":{"title":"t",
    "visit":[{"who":"a"},{"who":"b"},{"who":"c"}],"wish":["x","y","z"],"soil":{"kind":"clay"}}}}"#;

#[test]
fn each_operation_changes_its_target() {
    let edits = [
        edit("create", "/bed=n").value(
            r#"{"garden:bed":[{"name":"n","area":3}]}"#,
            "<bed><name>n</name><area>3</area></bed>",
        ),
        edit("merge", "/visit=a").visit("a", "merged"),
        edit("replace", "/soil").value(
            r#"{"garden:soil":{"ph":"7.0"}}"#,
            "<soil><ph>7.0</ph></soil>",
        ),
        edit("delete", "/title"),
        edit("remove", "/watered"),
        edit("insert", "/visit=d").visit("d", "new").at("first", ""),
        edit("insert", "/visit=e").visit("e", "last"),
        edit("insert", "/wish=v")
            .leaf("wish", "v")
            .at("before", "/wish=y"),
        edit("move", "/visit=c").at("after", "/visit=d"),
        edit("move", "/wish=z").at("first", ""),
        edit("move", "/visit=a"),
    ];
    // A leaf-list in JSON is an array.
    let edits = edits.map(|edit| match edit.target.as_str() {
        "/wish=v" => edit.value(r#"{"garden:wish":["v"]}"#, "<wish>v</wish>"),
        _ => edit,
    });
    let whole = applied(START, "/garden:garden", &edits);
    let expected = concat!(
        r#""visit":[{"who":"d","note":"new"},{"who":"c"},{"who":"b"},{"who":"e","note":"last"},"#,
        r#"{"who":"a","note":"merged"}]"#
    );
    assert!(whole.contains(expected), "{whole}");
    assert!(whole.contains(r#""wish":["z","x","v","y"]"#), "{whole}");
    assert!(whole.contains(r#""soil":{"ph":"7.0"}"#), "{whole}");
    assert!(
        whole.contains(r#""bed":[{"name":"n","area":3}]"#),
        "{whole}"
    );
    assert!(!whole.contains("title"), "{whole}");
}

#[test]
fn targets_are_below_the_resource_of_the_request() {
    let title = |operation, target| edit(operation, target).leaf("title", "new");
    for (path, target) in [
        ("", "/garden:garden/title"),
        ("/garden:garden", "/title"),
        ("/garden:garden", "/garden:title"),
        ("/garden:garden/title", "/"),
    ] {
        let whole = applied(START, path, &[title("merge", target)]);
        assert!(
            whole.contains(r#""title":"new""#),
            "{path} {target}: {whole}"
        );
    }
    // The whole datastore.
    let whole = |json: &str| {
        edit("replace", "/").value(json, "<data><garden><title>w</title></garden></data>")
    };
    let json = r#"{"ietf-restconf:data":{"garden:garden":{"title":"w"}}}"#;
    let mut replaced = whole(json);
    replaced.value = Some((
        json.to_owned(),
        format!(
            "<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\"><garden xmlns=\"{GARDEN}\"><title>w</title></garden></data>"
        ),
    ));
    assert_eq!(applied(START, "", &[replaced]), json);
}

/// Edits of [`START`] that fail, each with its tag and status.
fn wrong_edits() -> Vec<(Edit, &'static str, u16)> {
    let invalid = |edit: Edit| (edit, "invalid-value", 400);
    vec![
        (
            edit("create", "/visit=a").visit("a", ""),
            "data-exists",
            409,
        ),
        (
            edit("insert", "/visit=a").visit("a", ""),
            "data-exists",
            409,
        ),
        (edit("delete", "/bed=x"), "data-missing", 409),
        (
            edit("move", "/visit=x").at("first", ""),
            "data-missing",
            409,
        ),
        (
            edit("merge", "/bed=x/area").value(r#"{"garden:area":1}"#, "<area>1</area>"),
            "data-missing",
            409,
        ),
        invalid(edit("merge", "/watered").leaf("watered", "often")),
        invalid(edit("merge", "/visit=a").visit("b", "")),
        invalid(edit("merge", "/visit=a")),
        invalid(edit("delete", "/title").leaf("title", "t")),
        invalid(edit("delete", "/visit=a").at("first", "")),
        invalid(edit("move", "/visit=a").at("before", "")),
        invalid(edit("move", "/visit=a").at("first", "/visit=b")),
        invalid(edit("move", "/bed=a").at("first", "")),
        invalid(edit("merge", "title").leaf("title", "t")),
        (
            edit("merge", "/nothing").leaf("nothing", "t"),
            "unknown-element",
            400,
        ),
        invalid(edit("delete", "/visit=a/who")),
        invalid(edit("delete", "/weather")),
        invalid(edit("delete", "/water")),
    ]
}

#[test]
fn a_failed_edit_is_named_and_nothing_is_changed() {
    let one = |edits: &[Edit]| rejected(START, "/garden:garden", edits);
    let named = |edit: &str, tag: &str, status: u16| {
        let edits = match edit {
            "" => Vec::new(),
            edit => vec![edit.to_owned()],
        };
        (edits, tag.to_owned(), status)
    };
    let good = || edit("merge", "/title").leaf("title", "new");
    for (bad, tag, status) in wrong_edits() {
        let result = one(&[good(), bad.clone(), good()]);
        assert_eq!(result, named("e1", tag, status), "{bad:?}");
    }
    // Two edits fail.
    let two = [edit("delete", "/bed=x"), good(), edit("delete", "/bed=y")];
    let (edits, tag, status) = one(&two);
    assert_eq!(
        (edits.join(" ").as_str(), tag.as_str(), status),
        ("e0 e2", "data-missing", 409)
    );
}

#[test]
fn a_document_that_is_no_patch_has_plain_errors() {
    let server = Server::start();
    server.put("", START);
    let edit = r#"{"edit-id":"e","operation":"remove","target":"/title"}"#;
    for json in [
        "",
        "{}",
        "[1]",
        r#"{"ietf-yang-patch:yang-patch":{}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","more":1}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[{"operation":"remove","target":"/"}]}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[{"edit-id":"e","operation":"drop","target":"/"}]}}"#,
        &format!(r#"{{"ietf-yang-patch:yang-patch":{{"patch-id":"p","edit":[{edit}]}}}} x"#),
    ] {
        let response = send_body(&server, "/garden:garden", json, PATCH[0]);
        assert_eq!(response.status, 400, "{json}: {response:?}");
        assert!(
            response.body.contains(r#"{"ietf-restconf:errors""#),
            "{response:?}"
        );
        assert!(response.body.contains("malformed-message"), "{response:?}");
    }
    let edit =
        "<edit><edit-id>e</edit-id><operation>remove</operation><target>/title</target></edit>";
    for content in [
        "<patch-id>p</patch-id><more/>",
        "<patch-id>p</patch-id><patch-id>p</patch-id>",
        edit,
        "<patch-id>p</patch-id><edit><edit-id>e</edit-id><target>/title</target></edit>",
        "<patch-id>p</patch-id><edit><edit-id>e</edit-id><operation>drop</operation><target>/</target></edit>",
        "<patch-id>p</patch-id>text",
    ] {
        let xml = format!("<yang-patch xmlns=\"{NAMESPACE}\">{content}</yang-patch>");
        let response = send_body(&server, "/garden:garden", &xml, PATCH[1]);
        assert_eq!(response.status, 400, "{xml}: {response:?}");
        assert!(response.body.contains("malformed-message"), "{response:?}");
    }
    let twice = format!(
        "<yang-patch xmlns=\"{NAMESPACE}\"><patch-id>p</patch-id>{edit}{edit}</yang-patch>"
    );
    let response = send_body(&server, "/garden:garden", &twice, PATCH[1]);
    assert_eq!(
        (response.status, failed(&response).1.as_str()),
        (400, "invalid-value")
    );
    // Other methods do not accept it, and other types are named.
    let headers = [("content-type", PATCH[0])];
    let put = server.send("PUT", "/restconf/data/garden:garden", &headers, "{}");
    assert_eq!(put.status, 415);
    let other = send_body(
        &server,
        "/garden:garden",
        "{}",
        "application/merge-patch+json",
    );
    assert_eq!(other.status, 415);
    assert!(other.header("accept-patch").contains(PATCH[0]), "{other:?}");
}

#[test]
fn conditions_and_missing_resources_have_their_own_status() {
    let server = Server::start();
    server.put("", START);
    let send = |path: &str, header: (&str, &str)| {
        let target = match path.contains("bed") {
            true => "/area",
            false => "/title",
        };
        let body = json_patch(&[edit("remove", target)]);
        let headers = [("content-type", PATCH[0]), header];
        server.send("PATCH", &format!("/restconf/data{path}"), &headers, &body)
    };
    assert_eq!(
        send("/garden:garden", ("if-match", "\"other\"")).status,
        412
    );
    assert_eq!(
        send("/garden:garden/bed=none", ("accept", JSON)).status,
        404
    );
    assert_eq!(send("/garden:garden", ("accept", "text/html")).status, 406);
    let etag = server.get("/garden:garden").header("etag").to_owned();
    let response = send("/garden:garden", ("if-match", &etag));
    assert_eq!(response.status, 200, "{response:?}");
    // The response has the format that the client accepts.
    let response = send("/garden:garden", ("accept", XML));
    assert!(
        response.body.starts_with("<yang-patch-status"),
        "{response:?}"
    );
    assert_eq!(response.header("espalier-changed"), "false");
    let response = server.send("OPTIONS", "/restconf/data/garden:garden", &[], "");
    assert!(
        response.header("accept-patch").contains(PATCH[1]),
        "{response:?}"
    );
}

#[test]
fn errors_name_the_line_of_the_patch() {
    let server = Server::start();
    let edits = [
        edit("merge", "/garden:garden/title").leaf("title", "t"),
        edit("merge", "/garden:garden/watered").leaf("watered", "often"),
    ];
    for media in PATCH {
        let response = send(&server, "", &edits, media);
        let line = match media {
            "application/yang-patch+json" => "line 3",
            _ => "line 3",
        };
        assert!(response.body.contains(line), "{response:?}");
    }
}

/// §5 row 57
#[test]
fn violated_constraints_are_errors_of_the_whole_patch() {
    let server = crate::semantics::server();
    let body = r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[
        {"edit-id":"one","operation":"create","target":"/plot:c/q=a","value":{"plot:q":[{"k":"a","a":"same"}]}},
        {"edit-id":"two","operation":"create","target":"/plot:c/q=b","value":{"plot:q":[{"k":"b","a":"same"}]}}]}}"#;
    let response = send_body(&server, "", body, PATCH[0]);
    assert_eq!(response.status, 412, "{response:?}");
    let start = r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","errors":{"error":[{"#;
    assert!(response.body.starts_with(start), "{response:?}");
    assert!(response.body.contains("data-not-unique"), "{response:?}");
    assert_eq!(server.get("").body, r#"{"ietf-restconf:data":{}}"#);
}

/// A random edit, and the request that does the same.
fn random_edit(random: &mut StdRng) -> (Edit, (&'static str, String, String)) {
    let who = ["a", "b", "c", "d", "e"][random.random_range(0..5)];
    let other = ["a", "b", "c", "d", "e"][random.random_range(0..5)];
    let root = "/garden:garden";
    let entry = format!("{root}/visit={who}");
    let target = format!("/visit={who}");
    let note = random.random_range(0..3).to_string();
    let value = format!(r#"{{"garden:visit":[{{"who":"{who}","note":"{note}"}}]}}"#);
    let (place, query) = match random.random_range(0..4) {
        0 => (("first", String::new()), "insert=first".to_owned()),
        1 => (("last", String::new()), "insert=last".to_owned()),
        2 => (
            ("before", format!("/visit={other}")),
            format!("insert=before&point=/garden:garden/visit={other}"),
        ),
        _ => (
            ("after", format!("/visit={other}")),
            format!("insert=after&point=/garden:garden/visit={other}"),
        ),
    };
    match random.random_range(0..6) {
        0 => (
            edit("create", &target).visit(who, &note),
            ("POST", root.to_owned(), value),
        ),
        1 => (edit("delete", &target), ("DELETE", entry, String::new())),
        2 => (
            edit("merge", &target).visit(who, &note),
            ("PATCH", root.to_owned(), {
                format!(r#"{{"garden:garden":{{"visit":[{{"who":"{who}","note":"{note}"}}]}}}}"#)
            }),
        ),
        3 => (
            edit("replace", &target).visit(who, &note),
            ("PUT", entry, value),
        ),
        4 => (
            edit("insert", &target)
                .visit(who, &note)
                .at(place.0, &place.1),
            ("POST", format!("{root}?{query}"), value),
        ),
        _ => (
            edit("replace", "/title").leaf("title", &note),
            (
                "PUT",
                format!("{root}/title"),
                format!(r#"{{"garden:title":"{note}"}}"#),
            ),
        ),
    }
}

#[test]
fn a_patch_does_what_its_edits_do_one_by_one() {
    seed::run("patches", |random| {
        let (patched, stepwise) = (Server::start(), Server::start());
        for server in [&patched, &stepwise] {
            server.put("", START);
        }
        for round in 0..60 {
            let before = patched.get("").body;
            let count = random.random_range(1..6);
            let (edits, requests): (Vec<_>, Vec<_>) =
                (0..count).map(|_| random_edit(random)).unzip();
            let media = PATCH[random.random_range(0..2)];
            let response = send(&patched, "/garden:garden", &edits, media);
            let first_failed = requests.iter().position(|(method, path, body)| {
                let done = stepwise.json(method, path, body);
                !(200..300).contains(&done.status)
            });
            match first_failed {
                None => assert_eq!(response.status, 200, "{round}: {edits:?} {response:?}"),
                Some(number) => {
                    let (names, _) = failed(&response);
                    let expected = format!("e{number}");
                    assert_eq!(names.first(), Some(&expected), "{edits:?} {response:?}");
                    assert_eq!(patched.get("").body, before, "{edits:?}");
                    stepwise.put("", &before);
                }
            }
            assert_eq!(
                patched.get("").body,
                stepwise.get("").body,
                "{round}: {edits:?}"
            );
        }
    });
}
