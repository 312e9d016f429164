//! Access rules, and the schemas that clients fetch.

use espalier_store::{CommitOptions, Edit};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;

use super::fixture::{RUNNING, edit, fixture, fixture_with_rules, read, top};
use crate::notifications::create;
use crate::support::Fixture;

const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
const LIBRARY: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-library";

/// A server with these members of `nacm`; maria is in the group `g`.
fn with_rules(members: &str) -> Fixture {
    let fixture = fixture_with_rules();
    let tree = &fixture.tree;
    let document = format!(
        r#"{{"r:top":{{"note":"n","entry":[{{"name":"a","value":1}}]}},"ietf-netconf-acm:nacm":
        {{"groups":{{"group":[{{"name":"g","user-name":["maria"]}}]}},{members}}}}}"#
    );
    let document = json_document(tree.schema(), &document);
    let edit = Edit::merge(InstancePath::root(), document);
    let made = tree.commit(&[edit], CommitOptions::default());
    made.unwrap_or_else(|error| panic!("{error}"));
    fixture
}

fn rules(rules: &str) -> String {
    format!(r#""rule-list":[{{"name":"l","group":["g"],"rule":[{rules}]}}]"#)
}

const ALL: &str = r#"{"name":"all","module-name":"*","action":"permit"}"#;

/// §5 row 49
#[test]
fn rules_stay_in_force_after_reads_and_denied_data_are_absent() {
    let fixture = with_rules(r#""read-default":"deny""#);
    let mut client = fixture.session_of("maria");
    for _ in 0..3 {
        assert_eq!(client.data(RUNNING), "");
        assert!(!client.data("<get/>").contains("urn:r"));
        assert_eq!(
            client.error(&edit("running", "<note>x</note>")),
            "access-denied"
        );
    }
    // The data of access control are `default-deny-all`.
    let fixture = with_rules(r#""read-default":"permit""#);
    let data = fixture.session_of("maria").data(RUNNING);
    assert!(
        data.contains("<note>n</note>") && !data.contains("nacm"),
        "{data}"
    );
}

/// §5 row 50
#[test]
fn operations_are_matched_by_their_whole_name_and_the_first_rule_decides() {
    let first = r#"{"name":"1","module-name":"ietf-netconf","rpc-name":"lock","access-operations":"exec","action":"deny"},
        {"name":"2","module-name":"ietf-netconf","rpc-name":"lock","access-operations":"exec","action":"permit"},"#;
    let fixture = with_rules(&rules(&format!("{first}{ALL}")));
    let mut client = fixture.session_of("maria");
    assert_eq!(
        client.error("<lock><target><running/></target></lock>"),
        "access-denied"
    );
    // The rule is not that of `unlock`, whose name contains it.
    assert_eq!(
        client.error("<unlock><target><running/></target></unlock>"),
        "operation-failed"
    );
    let module = r#"{"name":"1","module-name":"r","access-operations":"create update delete","action":"deny"},"#;
    let fixture = with_rules(&rules(&format!("{module}{ALL}")));
    let mut client = fixture.session_of("maria");
    client.ok("<copy-config><target><startup/></target><source><running/></source></copy-config>");
    let emptied =
        "<copy-config><target><running/></target><source><config/></source></copy-config>";
    assert_eq!(client.error(emptied), "access-denied");
    assert!(client.data(RUNNING).contains("<note>n</note>"));
}

/// §5 row 51
#[test]
fn rules_with_paths_are_in_force_below_entries_that_do_not_exist() {
    let paths = r#"{"name":"1","path":"/r:top/r:entry[r:name='0']","access-operations":"*","action":"permit"},
        {"name":"2","path":"/r:top/r:entry","access-operations":"*","action":"deny"}"#;
    let fixture = with_rules(&rules(paths));
    let mut client = fixture.session_of("maria");
    client.ok(&edit(
        "running",
        "<entry><name>0</name><more><x>y</x></more></entry>",
    ));
    assert_eq!(
        client.error(&edit("running", "<entry><name>1</name></entry>")),
        "access-denied"
    );
    let entries = read("<filter><top xmlns=\"urn:r\"><entry/></top></filter>");
    let expected = "<entry><name>0</name><more><x>y</x></more></entry>";
    assert_eq!(client.data(&entries), top(expected));
}

/// §5 row 52
#[test]
fn get_schema_can_be_denied_and_subscribing_needs_no_other_right() {
    let denied = r#"{"name":"1","module-name":"ietf-netconf-monitoring","rpc-name":"get-schema","access-operations":"exec","action":"deny"}"#;
    let fixture = with_rules(&rules(denied));
    let mut client = fixture.session_of("maria");
    let get = format!("<get-schema xmlns=\"{MONITORING}\"><identifier>r</identifier></get-schema>");
    assert_eq!(client.error(&get), "access-denied");
    client.ok(&create(""));
    let fixture = with_rules(r#""exec-default":"deny""#);
    let mut client = fixture.session_of("maria");
    assert_eq!(client.error(&get), "access-denied");
    assert_eq!(client.error(&create("")), "access-denied");
    // Reads and the end of the session are no operations of `exec-default`.
    assert!(client.data(RUNNING).contains("<note>n</note>"));
    client.ok("<close-session/>");
}

/// §5 row 59
#[test]
fn every_schema_of_the_list_can_be_fetched_with_its_revision() {
    let fixture = fixture();
    let mut client = fixture.session();
    let state = client.data(&format!(
        "<get><filter><netconf-state xmlns=\"{MONITORING}\"><schemas/></netconf-state></filter></get>"
    ));
    let value = |part: &str, name: &str| {
        let (_, rest) = part.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.to_owned())
    };
    let mut fetched = Vec::new();
    for schema in state
        .split("</schema>")
        .filter(|part| part.contains("<identifier>"))
    {
        let name = value(schema, "identifier").expect("a name");
        let version = value(schema, "version").unwrap_or_default();
        let reply = client.rpc(&format!(
            "<get-schema xmlns=\"{MONITORING}\"><identifier>{name}</identifier><version>{version}</version><format>yang</format></get-schema>"
        ));
        assert!(reply.contains(&format!("module {name}")), "{name}: {reply}");
        assert!(reply.contains(&version), "{name} {version}");
        fetched.push(name);
    }
    let library = client.data(&format!(
        "<get><filter><yang-library xmlns=\"{LIBRARY}\"><module-set/></yang-library></filter></get>"
    ));
    let mut listed: Vec<_> = ["<module>", "<import-only-module>", "<submodule>"]
        .iter()
        .flat_map(|start| library.split(start).skip(1))
        .filter_map(|part| value(part, "name"))
        .collect();
    listed.sort();
    fetched.sort();
    assert!(
        fetched.contains(&"ietf-netconf-monitoring".to_owned()),
        "{fetched:?}"
    );
    assert_eq!(fetched, listed);
}
