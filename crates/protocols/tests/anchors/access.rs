//! Which anchors users can know of.

use espalier_protocols::anchors::AnchorLimits;
use espalier_service::access::{Caller, NACM_MODULE};
use espalier_service::configuration::{SERVER_ANCHOR, SERVER_DATASPACE};
use espalier_store::{CommitOptions, Edit};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use serde_json::{Value, json};

use crate::support::{Engine, Reply, Server, create, module};

/// Maria sees the anchors `a…` and `c2` of `lab`, and nothing else.
fn server() -> Server {
    let store = Engine::new().open();
    let source = module("b", "leaf x { type string; }");
    create(
        &store,
        "lab",
        &source,
        &["a1", "a2", "b1", "b2", "c1", "c2", "d1"],
    );
    create(&store, "secret", &source, &["a1"]);
    let server = Server::new(store, AnchorLimits::default());
    let rules = server.service.configuration().for_writing(NACM_MODULE);
    let rules = rules.expect("the server anchor");
    let rule = |name: &str, anchor: &str| {
        json!({
            "name": name,
            "module-name": "*",
            "action": "permit",
            "espalier-access:dataspace": "lab",
            "espalier-access:anchor": anchor,
        })
    };
    let document = json!({"ietf-netconf-acm:nacm": {
        "read-default": "deny",
        "groups": {"group": [{"name": "staff", "user-name": ["maria"]}]},
        "rule-list": [{
            "name": "list",
            "group": ["staff"],
            "rule": [rule("one", "a*"), rule("two", "c2")],
        }],
    }});
    let document = json_document(rules.schema(), &document.to_string());
    let edit = Edit::merge(InstancePath::root(), document);
    rules
        .commit(&[edit], CommitOptions::default())
        .expect("rules");
    server
}

fn maria(server: &Server, path: &str) -> Reply {
    let caller = Caller {
        user: "maria".to_owned(),
        ..Caller::default()
    };
    server.request(&caller, ("GET", path), &[], "")
}

#[test]
fn hidden_anchors_are_as_those_that_do_not_exist() {
    let server = server();
    assert_eq!(
        maria(&server, "/dataspaces/lab/anchors/a1/restconf/data").status,
        200
    );
    for (hidden, missing) in [
        (
            "/dataspaces/lab/anchors/b1/restconf/data",
            "/dataspaces/lab/anchors/b9/restconf/data",
        ),
        (
            "/dataspaces/lab/anchors/d1/restconf",
            "/dataspaces/lab/anchors/d9/restconf",
        ),
        (
            "/dataspaces/secret/anchors/a1/restconf/data",
            "/dataspaces/secrey/anchors/a1/restconf/data",
        ),
        ("/dataspaces/secret/anchors", "/dataspaces/secrey/anchors"),
    ] {
        let (hidden, missing) = (maria(&server, hidden), maria(&server, missing));
        assert_eq!(
            (hidden.status, &hidden.headers),
            (404, &missing.headers),
            "{hidden:?}"
        );
        let missing = missing.body.replace('9', "1").replace("secrey", "secret");
        assert_eq!(hidden.body, missing);
    }
    // Without a read of the store: the time of the response shows nothing either.
    assert_eq!(server.anchors.open_count(), 1);
}

#[test]
fn the_anchor_of_the_server_is_for_unrestricted_users() {
    let server = server();
    let path = format!("/dataspaces/{SERVER_DATASPACE}/anchors/{SERVER_ANCHOR}/restconf/data");
    assert_eq!(maria(&server, &path).status, 404);
    assert_eq!(server.get(&path).status, 200);
}

fn names(page: &Value, member: &str) -> Vec<String> {
    let entries = page[member].as_array().expect("a list");
    let names = entries
        .iter()
        .map(|entry| entry["name"].as_str().expect("a name"));
    names.map(str::to_owned).collect()
}

/// The pages of a list as a user sees them.
fn pages(list: &str, member: &str, get: &dyn Fn(&str) -> Reply) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = get(&format!("{list}?limit=2{cursor}")).json();
        pages.push(names(&page, member));
        match page["cursor"].as_str() {
            Some(name) => cursor = format!("&cursor={name}"),
            None => return pages,
        }
    }
}

#[test]
fn lists_have_what_the_user_sees() {
    let server = server();
    let of_maria = |path: &str| maria(&server, path);
    let everything = |path: &str| server.get(path);
    let anchors = "/dataspaces/lab/anchors";
    assert_eq!(
        pages(anchors, "anchors", &of_maria),
        [vec!["a1", "a2"], vec!["c2"]]
    );
    let all = [
        vec!["a1", "a2"],
        vec!["b1", "b2"],
        vec!["c1", "c2"],
        vec!["d1"],
    ];
    assert_eq!(pages(anchors, "anchors", &everything), all);
    assert_eq!(pages("/dataspaces", "dataspaces", &of_maria), [vec!["lab"]]);
    let all = [vec![SERVER_DATASPACE, "lab"], vec!["secret"]];
    assert_eq!(pages("/dataspaces", "dataspaces", &everything), all);
    for query in ["limit=0", "limit=1001", "limit=x", "offset=1"] {
        let reply = server.get(&format!("{anchors}?{query}"));
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
}
