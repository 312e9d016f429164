//! On-change subscriptions to pushed state of the operational datastore.

use std::time::{Duration, Instant};

use espalier_service::access::Caller;
use espalier_service::{AccessControl, RequestFilter, XPathFilter};
use espalier_store::{CommitOptions, Datastore, Edit, Provider, Tree};
use espalier_testkit::documents::json_document;
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::DataTree;
use espalier_yang::data::subtree_filter::NamespaceBinding;
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value as Json, json};

use crate::established::{invoke, session_of};
use crate::fixture::Fixture;
use crate::push_fixture::{Replica, on_change, push_fixture, selected};
use crate::push_model::edit;

const RUNS_VARIABLE: &str = "ESPALIER_PUSH_RUNS";

/// Filters that select state, with conditions on keys and state.
const EXPRESSIONS: [&str; 7] = [
    "/m:stats",
    "/m:stats/m:up | /m:port/m:load",
    "/m:stats/m:flow[m:id='1']",
    "/m:stats/m:flow[m:bytes > 100]",
    "/m:port/m:load",
    "/m:port[m:name='p1']/m:load",
    "/m:stats/m:flow/m:bytes",
];

fn input(expression: &str) -> Json {
    let mut input = on_change(&json!({"datastore-xpath-filter": expression}));
    input["ietf-yang-push:datastore"] = json!("ietf-datastores:operational");
    input
}

fn operational(fixture: &Fixture) -> Tree {
    let tree = fixture.tree.sibling_datastore(Datastore::Operational, "");
    tree.expect("the operational datastore")
}

/// A random change of pushed state; it may be impossible.
fn push(fixture: &Fixture, random: &mut StdRng) -> Edit {
    let schema = fixture.tree.schema();
    let port = format!("p{}", random.random_range(0..4));
    let number = [7, 100, 200][random.random_range(0..3)];
    let small = random.random_range(0..4);
    let merge = |document: Json| {
        let tree = json_document(schema, &document.to_string());
        Edit::merge(InstancePath::root(), tree)
    };
    let path = |text: String| InstancePath::parse_cli_path(schema, &text).expect("a path");
    match random.random_range(0..7) {
        0..2 => merge(json!({"m:port": [{"name": port, "load": number}]})),
        2..4 => merge(json!({"m:stats": {"flow": [{"id": small, "bytes": number}]}})),
        4 => merge(json!({"m:stats": {"up": number}})),
        5 => Edit::remove(path(format!("/m:port[name='{port}']/load"))),
        _ => Edit::remove(path(format!("/m:stats/flow[id='{small}']"))),
    }
}

/// What subscribers have is what their filters select of the whole operational datastore, whatever changes in running.
#[test]
fn a_copy_of_pushed_state_is_what_its_filter_selects() {
    let count = seed::number_from_environment(RUNS_VARIABLE).unwrap_or(6);
    seed::run_each("push of operational", count, RUNS_VARIABLE, |random| {
        let fixture = push_fixture(AccessControl::Off);
        let of = session_of(&fixture, Caller::exempt());
        let (pushed, read) = (operational(&fixture), of.sibling(Datastore::Operational));
        let read = read.expect("the operational datastore");
        let mut copies = EXPRESSIONS.map(|text| (text, Replica::new(&of, &input(text))));
        for round in 0..40 {
            // Some edits are impossible.
            let _ = match random.random_bool(0.3) {
                true => fixture
                    .tree
                    .commit(&[edit(&fixture, random)], CommitOptions::default()),
                false => pushed.commit(&[push(&fixture, random)], CommitOptions::default()),
            };
            if round % 8 != 7 {
                continue;
            }
            for (text, copy) in &mut copies {
                let filter = RequestFilter::XPath(XPathFilter {
                    text: (*text).to_owned(),
                    namespaces: vec![NamespaceBinding {
                        prefix: Some("m".into()),
                        namespace: "urn:m".into(),
                    }],
                });
                let (expected, start) = (selected(&read, &filter), Instant::now());
                while copy.document() != expected {
                    assert!(
                        start.elapsed() < Duration::from_secs(20),
                        "{text}: {expected}"
                    );
                    copy.drain();
                }
            }
        }
        let updates = copies.iter().flat_map(|(_, copy)| &copy.received);
        assert!(updates.filter(|name| *name == "push-change-update").count() > 10);
    });
}

#[test]
fn configuration_and_data_of_providers_are_not_notified() {
    let fixture = push_fixture(AccessControl::Off);
    let of = session_of(&fixture, Caller::exempt());
    let rejected = |expression: &str| {
        let error = invoke(&of, "establish-subscription", &input(expression));
        let error = format!("{:?}", error.expect_err("an error"));
        assert!(
            error.contains("on-change-unsupported"),
            "{expression}: {error}"
        );
    };
    for expression in [
        "/m:*",
        "/m:port",
        "/m:top",
        "/m:port[m:speed > 1]/m:load",
        "/m:port[m:load > 1]/m:load",
    ] {
        rejected(expression);
    }
    let accepted = |expression: &str| {
        invoke(&of, "establish-subscription", &input(expression)).expect("a subscription");
    };
    accepted("/m:stats");
    let tree = operational(&fixture);
    let path = InstancePath::parse_cli_path(tree.schema(), "/m:stats/flow").expect("a path");
    let provider = Provider::new("flows", |_| Ok(DataTree::default()));
    let _registration = tree.provide(path, provider).expect("a provider");
    rejected("/m:stats");
    rejected("/m:stats/m:flow[m:id='1']");
    accepted("/m:stats/m:up");
}
