//! Access rules for the state, and the state of access control.

use espalier_service::access::Caller;
use espalier_service::{AccessControl, ChangeNote, Service};
use espalier_store::{CommitOptions, Edit, Error, Tree};
use espalier_testkit::documents::json_document;
use espalier_yang::{ErrorTag, InstancePath};
use serde_json::{Value as Json, json};

use crate::fixture::{MODEL, located, read, read_as, serving, session, user};

const STATE: &str = "/ietf-netconf-monitoring:netconf-state";
const COUNTERS: &str = "/ietf-netconf-acm:nacm";

/// Maria may not read the monitoring; eva may read it without what Espalier adds to it.
const RULES: &str = r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["maria"]},
    {"name":"h","user-name":["eva"]},{"name":"all","user-name":["ben"]}]},
    "rule-list":[{"name":"r","group":["g"],"rule":[
    {"name":"monitoring","module-name":"ietf-netconf-monitoring","action":"deny"}]},
    {"name":"s","group":["h"],"rule":[
    {"name":"times","module-name":"espalier-server","action":"deny"}]},
    {"name":"t","group":["all"],"rule":[{"name":"a","action":"permit"}]}]}}"#;

/// Maria may not read where the texts of modules are. The models that have the rules must have the module of a path.
const PATH_RULES: &str = r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["maria"]}]},
    "rule-list":[{"name":"r","group":["g"],"rule":[{"name":"urls",
    "path":"/ietf-yang-library:yang-library/module-set/module/location","action":"deny"}]}]}}"#;

/// Writes rules to where the service reads them: an anchor whose models have them, or the server anchor.
fn write_rules(service: &Service, rules: &str) {
    let tree = service.configuration().for_writing("ietf-netconf-acm");
    let tree = tree.expect("a datastore");
    let edit = Edit::merge(InstancePath::root(), json_document(tree.schema(), rules));
    let written = tree.commit(&[edit], CommitOptions::default());
    written.expect("the rules");
}

fn both(check: impl Fn(&Service, &Tree)) {
    for modules in [&[MODEL][..], &[MODEL, "ietf-netconf-acm"][..]] {
        let (service, tree) = serving(modules, AccessControl::Rules);
        write_rules(&service, RULES);
        check(&service, &tree);
    }
}

#[test]
fn rules_hide_parts_of_the_state() {
    both(|service, tree| {
        let _session = session(service, user("ben"), "one");
        let sessions = format!("{STATE}/sessions");
        assert_eq!(read_as(service, tree, user("maria"), STATE), Json::Null);
        assert_eq!(read_as(service, tree, user("maria"), &sessions), Json::Null);
        for (name, sees_times) in [("eva", false), ("ben", true)] {
            let seen = read_as(service, tree, user(name), &sessions);
            let first = &seen["ietf-netconf-monitoring:sessions"]["session"][0];
            assert_eq!(first["username"], "ben");
            assert_eq!(
                first.get("espalier-server:last-request").is_some(),
                sees_times
            );
        }
        let library = read_as(
            service,
            tree,
            user("maria"),
            "/ietf-yang-library:yang-library",
        );
        assert_ne!(library, Json::Null);
    });
}

#[test]
fn paths_of_rules_hide_parts_of_the_state() {
    let modules = [
        MODEL,
        "ietf-netconf-acm",
        "ietf-yang-library",
        "ietf-datastores",
    ];
    let (service, tree) = serving(&modules, AccessControl::Rules);
    write_rules(&service, PATH_RULES);
    let path = "/ietf-yang-library:yang-library";
    let whole = |name: &str| read_as(&service, &tree, user(name), path);
    assert!(whole("ben").to_string().contains("server.example"));
    let library = &whole("maria")["ietf-yang-library:yang-library"];
    assert_eq!(library["module-set"][0]["name"], "complete");
    let modules = library["module-set"][0]["module"].as_array();
    assert!(
        modules
            .expect("modules")
            .iter()
            .all(|module| module["location"] == Json::Null)
    );
    // The tag would show changes of what is hidden.
    let (of, place) = located(&service, &tree, user("maria"), path);
    assert!(!of.view().expect("a view").shows_all(&place));
}

/// RFC 8341 marks `/nacm` with default-deny-all.
#[test]
fn access_control_is_hidden_without_a_rule() {
    let (service, tree) = serving(&[MODEL], AccessControl::Rules);
    write_rules(&service, RULES);
    assert_eq!(
        read_as(&service, &tree, user("maria"), COUNTERS),
        Json::Null
    );
    let rules = read_as(&service, &tree, user("ben"), COUNTERS);
    let rules = &rules["ietf-netconf-acm:nacm"];
    assert_eq!(rules["rule-list"][0]["rule"][0]["name"], "monitoring");
    assert_eq!(rules["groups"]["group"].as_array().map(Vec::len), Some(3));
}

#[test]
fn denials_are_counted() {
    both(|service, tree| {
        let counters = || {
            ["operations", "data-writes", "notifications"].map(|name| {
                let name = format!("denied-{name}");
                let read = read_as(service, tree, user("ben"), &format!("{COUNTERS}/{name}"));
                read[format!("ietf-netconf-acm:{name}")].clone()
            })
        };
        assert_eq!(counters(), [json!(0), json!(0), json!(0)]);
        let of = service.datastore(&session(service, user("maria"), "one"), tree.clone());
        let document = json_document(tree.schema(), r#"{"m:c":{"a":"x"}}"#);
        let edit = Edit::merge(InstancePath::root(), document);
        let denied = of.commit(&[edit], ChangeNote::default(), None);
        assert!(denied.is_err());
        assert_eq!(counters(), [json!(0), json!(1), json!(0)]);
    });
}

#[test]
fn a_service_without_access_control_shows_that_it_is_off() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let rules = read(&service, &tree, COUNTERS);
    assert_eq!(rules["ietf-netconf-acm:nacm"]["enable-nacm"], false);
}

#[test]
fn nobody_changes_the_state() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let of = service.datastore(&session(&service, Caller::exempt(), "one"), tree);
    let state = of.server_state().expect("a read").expect("state");
    let document = json_document(
        state.schema(),
        r#"{"ietf-netconf-acm:nacm":{"enable-nacm":true}}"#,
    );
    let edit = Edit::merge(InstancePath::root(), document);
    let error = state.commit(&[edit], ChangeNote::default(), None);
    let Err(Error::Data(errors)) = error else {
        panic!("{error:?}");
    };
    let error = errors.iter().next().expect("an error");
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
}
