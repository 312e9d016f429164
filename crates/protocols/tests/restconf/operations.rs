//! Operations (RFC 8040 §3.6, §4.4.2).

use serde_json::{Value, json};

use crate::support::{JSON, Server, XML};

/// §5 row 56
#[test]
fn operations_have_module_names_and_leafs_of_type_empty() {
    let server = Server::start();
    let send = |method: &str, name: &str, media: &str, body: &str| {
        let path = format!("/restconf/operations{name}");
        let mut headers = vec![("accept", media)];
        if !body.is_empty() {
            headers.push(("content-type", media));
        }
        server.send(method, &path, &headers, body)
    };
    let listed = send("GET", "", JSON, "");
    let listed: Value = serde_json::from_str(&listed.body).expect("JSON");
    assert_eq!(
        listed["ietf-restconf:operations"]["ietf-netconf:commit"],
        json!([null]),
        "{listed}"
    );
    let listed = send("GET", "", XML, "").body;
    let commit = "<commit xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"/>";
    assert!(listed.contains(commit), "{listed}");
    server.send(
        "PUT",
        "/restconf/ds/ietf-datastores:candidate/garden:garden/title",
        &[("content-type", JSON)],
        r#"{"garden:title":"confirmed"}"#,
    );
    let input = r#"{"ietf-netconf:input":{"confirmed":[null],"persist":"p"}}"#;
    let committed = send("POST", "/ietf-netconf:commit", JSON, input);
    assert_eq!(committed.status, 204, "{committed:?}");
    assert!(server.get("").body.contains("confirmed"));
    let input = "<input xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><persist-id>p</persist-id></input>";
    let cancelled = send("POST", "/ietf-netconf:cancel-commit", XML, input);
    assert_eq!(cancelled.status, 204, "{cancelled:?}");
    assert_eq!(server.get("").body, r#"{"ietf-restconf:data":{}}"#);
    // A leaf of type empty has no other value, and prefixes are no names of modules.
    let wrong = r#"{"ietf-netconf:input":{"confirmed":true}}"#;
    assert_eq!(
        send("POST", "/ietf-netconf:commit", JSON, wrong).status,
        400
    );
    assert_eq!(send("POST", "/nc:commit", JSON, "").status, 404);
    assert_eq!(send("GET", "/ietf-netconf:commit", JSON, "").status, 405);
}
