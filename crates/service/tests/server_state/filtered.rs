//! Filtered reads: the parts of `get` and `get-data`.

use espalier_service::access::Caller;
use espalier_service::{AccessControl, RequestFilter, SessionDatastore, XPathFilter};
use espalier_store::{CommitOptions, Datastore, Edit, Provider, Selection};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use espalier_yang::data::subtree_filter::{NamespaceBinding, SubtreeFilter};
use espalier_yang::data::{PrintOptions, json};

use crate::fixture::{serving, session};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m; revision 2026-01-01;
    container c { leaf a { type string; } leaf s { config false; type string; } } }";

const LIBRARY: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-library";

/// All parts, as JSON documents.
fn text(of: &SessionDatastore, filter: &RequestFilter) -> Vec<String> {
    let parts = of.filtered(filter, &Selection::default()).expect("parts");
    let print = |part: &espalier_service::FilteredPart| {
        let mut printer = json::Printer::new(part.schema(), Vec::new(), PrintOptions::default());
        part.send(&mut printer).expect("a read");
        assert!(part.take_warnings().is_empty(), "a provider failed");
        String::from_utf8(printer.finish().expect("a document")).expect("UTF-8")
    };
    parts.iter().map(print).collect()
}

fn subtree(text: &str) -> RequestFilter {
    RequestFilter::Subtree(SubtreeFilter::parse_xml(text).expect(text))
}

fn xpath(text: &str) -> RequestFilter {
    RequestFilter::XPath(XPathFilter {
        text: text.to_owned(),
        namespaces: vec![NamespaceBinding {
            prefix: Some("yl".into()),
            namespace: LIBRARY.into(),
        }],
    })
}

#[test]
fn get_has_configuration_state_of_providers_and_state_of_the_server() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let data = json_document(tree.schema(), r#"{"m:c":{"a":"1"}}"#);
    let edits = [Edit::merge(InstancePath::root(), data)];
    tree.commit(&edits, CommitOptions::default())
        .expect("a commit");
    let operational = tree.sibling_datastore(Datastore::Operational, "");
    let operational = operational.expect("a datastore");
    let provider = Provider::new("s", |request| {
        Ok(json_document(&request.schema, r#"{"m:c":{"s":"up"}}"#))
    });
    let at = InstancePath::parse_cli_path(tree.schema(), "/m:c/s").expect("a path");
    let kept = operational.provide(at, provider).expect("a provider");
    let session = session(&service, Caller::exempt(), "s");
    let of = service.datastore(&session, tree.clone());
    let operational = of.sibling(Datastore::Operational).expect("a datastore");

    let own = r#"{"m:c":{"a":"1","s":"up"}}"#;
    let set = format!("<yang-library xmlns='{LIBRARY}'><content-id/></yang-library>");
    for filter in [
        subtree("<c xmlns='urn:m'/>"),
        subtree("<c xmlns='urn:m'><a/><s/></c>"),
    ] {
        assert_eq!(text(&operational, &filter), [own], "{filter:?}");
    }
    assert_eq!(text(&operational, &subtree("")), ["{}"]);
    assert_eq!(
        text(&of, &subtree("<c xmlns='urn:m'/>")),
        [r#"{"m:c":{"a":"1"}}"#]
    );
    for filter in [subtree(&set), xpath("/yl:yang-library/yl:content-id")] {
        let parts = text(&operational, &filter);
        assert_eq!(parts[0], "{}", "{filter:?}");
        let start = r#"{"ietf-yang-library:yang-library":{"content-id":""#;
        assert!(parts[1].starts_with(start), "{parts:?}");
        assert!(!parts[1].contains("module-set\""), "{parts:?}");
    }
    // A prefix that is the name of a module of one part only.
    let parts = text(&operational, &xpath("/m:c/m:a"));
    assert_eq!(parts[0], r#"{"m:c":{"a":"1"}}"#);
    let all = text(&operational, &RequestFilter::All);
    assert_eq!(all[0], own);
    assert!(all[1].contains("ietf-yang-library:yang-library"), "{all:?}");
    assert!(
        all[1].contains("ietf-netconf-monitoring:netconf-state"),
        "{all:?}"
    );
    assert!(
        operational
            .filtered(&xpath("1 + 1"), &Selection::default())
            .is_err()
    );
    drop(kept);
}
