//! Many anchors cost what few do.

use std::sync::Arc;
use std::time::Duration;

use espalier_protocols::anchors::{AnchorLimits, AnchorName};
use espalier_service::access::{Caller, NACM_MODULE};
use espalier_store::{CommitOptions, Edit};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use serde_json::json;

use crate::support::{Engine, Server, create, module};

const ANCHORS: usize = 10_000;

/// The schema sets, with a dataspace each.
const SETS: [&str; 3] = ["d0", "d1", "d2"];

const OPEN_MAX: usize = 50;

fn limits() -> AnchorLimits {
    AnchorLimits {
        open_max: OPEN_MAX,
        ..AnchorLimits::default()
    }
}

/// Anchors `a00000` and so on, in turn over the dataspaces.
fn engine_with_anchors() -> Engine {
    let engine = Engine::new();
    let store = engine.open();
    for (index, dataspace) in SETS.into_iter().enumerate() {
        let source = module(&format!("m{index}"), "leaf x { type string; }");
        create(&store, dataspace, &source, &[]);
    }
    for index in 0..ANCHORS {
        let (dataspace, name) = named(index);
        store
            .create_anchor(dataspace, &name, "set")
            .expect("an anchor");
    }
    engine
}

fn named(index: usize) -> (&'static str, String) {
    (SETS[index % SETS.len()], format!("a{index:05}"))
}

#[test]
fn opening_an_anchor_costs_the_same_for_each_of_10_000() {
    let engine = engine_with_anchors();
    let server = Server::new(engine.open(), limits());
    let mut costs = Vec::new();
    for index in 0..ANCHORS {
        let (dataspace, name) = named(index);
        let before = engine.calls();
        let path = format!("/dataspaces/{dataspace}/anchors/{name}/restconf/data");
        assert_eq!(server.get(&path).status, 200);
        costs.push(engine.calls() - before);
        assert!(server.anchors.open_count() <= OPEN_MAX);
    }
    // The first anchors of each schema set load its modules.
    let (tenth, others) = (costs[9], &costs[SETS.len()..]);
    assert!(others.iter().all(|cost| *cost == tenth), "{costs:?}");
    assert!(tenth <= 30, "{tenth} calls");
}

#[test]
fn anchors_of_a_schema_set_share_everything_that_depends_on_the_models() {
    let engine = engine_with_anchors();
    let server = Server::new(engine.open(), limits());
    let caller = Caller::exempt();
    let opened = |index: usize| {
        let (dataspace, name) = named(index);
        let anchor = server
            .anchors
            .anchor(&caller, &AnchorName::new(dataspace, name));
        anchor.expect("an anchor")
    };
    let (first, last) = (opened(0), opened(ANCHORS - 1));
    assert!(Arc::ptr_eq(first.anchor().schema(), last.anchor().schema()));
    let texts = [first.source_json(), last.source_json()];
    assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());
}

#[test]
fn a_closed_anchor_still_serves_the_requests_that_have_it() {
    let engine = engine_with_anchors();
    let server = Server::new(
        engine.open(),
        AnchorLimits {
            open_max: 1,
            ..limits()
        },
    );
    let caller = Caller::exempt();
    let open = |index: usize| {
        let (dataspace, name) = named(index);
        let anchor = server
            .anchors
            .anchor(&caller, &AnchorName::new(dataspace, name));
        anchor.expect("an anchor")
    };
    let first = open(0);
    open(1);
    assert_eq!(server.anchors.open_count(), 1);
    assert!(first.anchor().is_current().is_ok());
    assert!(!Arc::ptr_eq(&first, &open(0)));
}

#[test]
fn idle_anchors_are_closed() {
    let engine = engine_with_anchors();
    let idle_max = Duration::from_millis(1);
    let server = Server::new(
        engine.open(),
        AnchorLimits {
            idle_max,
            ..limits()
        },
    );
    server.anchors.watch();
    assert_eq!(
        server
            .get("/dataspaces/d0/anchors/a00000/restconf/data")
            .status,
        200
    );
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while server.anchors.open_count() > 0 {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The cost of a page does not depend on the number of anchors that are hidden before or after it.
#[test]
fn a_page_costs_what_it_has() {
    let engine = engine_with_anchors();
    let server = Server::new(engine.open(), limits());
    let rules = server.service.configuration().for_writing(NACM_MODULE);
    let rules = rules.expect("the server anchor");
    let rule = json!({"name": "r", "action": "permit", "espalier-access:anchor": "a0999*"});
    let document = json!({"ietf-netconf-acm:nacm": {
        "read-default": "deny",
        "groups": {"group": [{"name": "staff", "user-name": ["maria"]}]},
        "rule-list": [{"name": "list", "group": ["staff"], "rule": [rule]}],
    }});
    let document = json_document(rules.schema(), &document.to_string());
    let edit = Edit::merge(InstancePath::root(), document);
    rules
        .commit(&[edit], CommitOptions::default())
        .expect("rules");
    let maria = Caller {
        user: "maria".to_owned(),
        ..Caller::default()
    };
    let list = ("GET", "/dataspaces/d0/anchors?limit=2");
    // Reads the rules.
    server.request(&maria, list, &[], "");
    let before = engine.calls();
    let page = server.request(&maria, list, &[], "").json();
    let cost = engine.calls() - before;
    let names = page["anchors"].as_array().expect("a list").iter();
    let names: Vec<_> = names.map(|anchor| anchor["name"].clone()).collect();
    assert_eq!(names, ["a09990", "a09993"]);
    assert!(cost <= 40, "{cost} calls");
}
