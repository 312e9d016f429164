//! Other datastores than running (RFC 8527), and which of them clients can write.

use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{CommitOptions, Datastore};

use crate::support::{HttpResponse, JSON, Server, check_error, check_json, garden};

const RUNNING: &str = "/restconf/data/garden:keyed=a";
const BODY: &str = r#"{"garden:keyed":[{"k":"a","v":"1"}]}"#;

fn of(datastore: &str) -> String {
    format!("/restconf/ds/ietf-datastores:{datastore}/garden:keyed=a")
}

fn put(server: &Server, path: &str, body: &str) -> HttpResponse {
    let headers = [("content-type", JSON), ("accept", JSON)];
    server.send("PUT", path, &headers, body)
}

fn get(server: &Server, path: &str) -> HttpResponse {
    server.send("GET", path, &[("accept", JSON)], "")
}

fn by(server: &Server, session: &str, method: &str, path: &str) -> u16 {
    let headers = [
        ("content-type", JSON),
        ("accept", JSON),
        ("espalier-session", session),
    ];
    server.send(method, path, &headers, BODY).status
}

#[test]
fn a_candidate_is_independent_of_running() {
    let (tree, source) = garden();
    let candidate = tree.sibling_datastore(Datastore::Candidate, "").unwrap();
    let server = Server::of((tree, source), RestconfConfig::default(), None);
    assert_eq!(put(&server, &of("candidate"), BODY).status, 201);
    assert_eq!(get(&server, RUNNING).status, 404);
    let read = get(&server, &of("candidate"));
    check_json(&read, BODY);
    let tag = read.header("etag").to_owned();
    let patch = r#"{"garden:keyed":[{"k":"a","v":"2"}]}"#;
    let conditions = [("content-type", JSON), ("if-match", tag.as_str())];
    let path = of("candidate");
    assert_eq!(server.send("PATCH", &path, &conditions, patch).status, 204);
    assert_eq!(server.send("PATCH", &path, &conditions, patch).status, 412);
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    check_json(&get(&server, RUNNING), patch);
    check_json(&get(&server, &of("intended")), patch);
    assert_eq!(get(&server, &of("startup")).status, 404);
    assert_eq!(put(&server, &of("startup"), BODY).status, 201);
    check_json(&get(&server, &of("startup")), BODY);
}

#[test]
fn read_only_datastores_have_no_methods_that_write() {
    let server = Server::start();
    for datastore in ["intended", "factory-default", "operational"] {
        let response = put(&server, &of(datastore), BODY);
        check_error(&response, 405, "operation-not-supported");
        let whole = format!("/restconf/ds/ietf-datastores:{datastore}");
        assert_eq!(put(&server, &whole, "{}").status, 405);
        let options = server.send("OPTIONS", &whole, &[], "");
        assert_eq!(options.header("allow"), "GET, HEAD, OPTIONS");
    }
    let unknown = get(&server, "/restconf/ds/ietf-datastores:none");
    assert_eq!(unknown.status, 404);
}

#[test]
fn the_private_candidate_belongs_to_the_session() {
    let server = Server::start();
    let path = "/restconf/ds/espalier-datastores:private-candidate/garden:keyed=a";
    assert_eq!(by(&server, "one", "PUT", path), 201);
    assert_eq!(by(&server, "one", "GET", path), 200);
    assert_eq!(by(&server, "two", "GET", path), 404);
    assert_eq!(by(&server, "%6Fne", "GET", path), 200);
    check_error(&get(&server, path), 400, "invalid-value");
}

#[test]
fn a_lock_of_another_session_is_409() {
    let (tree, source) = garden();
    tree.lock("one").unwrap();
    let server = Server::of((tree, source), RestconfConfig::default(), None);
    let response = put(&server, RUNNING, BODY);
    check_error(&response, 409, "in-use");
    assert!(response.body.contains("“one”"), "{}", response.body);
    assert_eq!(by(&server, "two", "PUT", RUNNING), 409);
    assert_eq!(by(&server, "one", "PUT", RUNNING), 201);
}

#[test]
fn author_and_comment_go_to_the_history() {
    let (tree, source) = garden();
    let running = tree.clone();
    let server = Server::of((tree, source), RestconfConfig::default(), None);
    let headers = [
        ("content-type", JSON),
        ("espalier-author", "Mar%C3%ADa"),
        ("espalier-comment", "why not"),
    ];
    assert_eq!(server.send("PUT", RUNNING, &headers, BODY).status, 201);
    let commit = &running.history(None, 1).unwrap()[0];
    assert_eq!(
        (commit.author.as_str(), commit.comment.as_str()),
        ("María", "why not")
    );
    let wrong = [("content-type", JSON), ("espalier-author", "%ff")];
    let response = server.send("PUT", RUNNING, &wrong, BODY);
    assert_eq!(response.status, 400);
}
