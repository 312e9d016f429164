//! An anchor with subscriptions to datastores (RFC 8641), and a copy of what a subscriber has.

use std::sync::Arc;
use std::time::Duration;

use espalier_service::notifications::{Delivery, Event, Subscription};
use espalier_service::{AccessControl, RequestFilter, SessionDatastore};
use espalier_store::{CommitOptions, Datastore, Edit, Insert, Selection, Store, SystemClock, Tree};
use espalier_yang::data::{
    Content, DataNode, DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json,
};
use espalier_yang::path::ApiRoot;
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Keys, Schema, Value};
use serde_json::{Value as Json, json};

use crate::established::{establish, fixture_of, open};
use crate::fixture::{Fixture, content};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list port { key name; leaf name { type string; } leaf speed { type uint8; }
    leaf-list tag { type string; ordered-by user; } leaf-list mark { type string; }
    leaf load { config false; type uint8; }
    container limit { leaf rate { type uint8; } list step { key at; leaf at { type uint8; } leaf by { type uint8; } } } }
  list rule { key id; ordered-by user; leaf id { type uint8; } leaf text { type string; } }
  container secret { leaf key { type string; } leaf life { type uint8; } } leaf top { type string; }
  container stats { config false; leaf up { type uint8; } list flow { key id; leaf id { type uint8; } leaf bytes { type uint8; } } } }";

/// The modules of the operations, and those of the data.
fn texts() -> Vec<&'static str> {
    let own = [
        "ietf-yang-patch",
        "ietf-yang-push",
        "ietf-subscribed-notifications",
    ];
    let shared = ["ietf-datastores", "ietf-netconf-acm", "ietf-restconf"];
    let own = own.map(|name| espalier_service::modules::module(name).expect(name).text);
    let shared = shared.map(|name| {
        let module = espalier_yang::standard::module(name, None);
        module.expect(name).text
    });
    [&[MODEL][..], &own, &shared].concat()
}

/// An anchor whose models have the operations.
pub fn push_fixture(control: AccessControl) -> Fixture {
    fixture_of(control, &texts())
}

/// What a subscriber has: a store of its own, to which the updates are applied strictly.
pub struct Replica {
    tree: Tree,
    pub subscription: Subscription,
    /// The names of the notifications, in their order.
    pub received: Vec<String>,
    patches: u64,
}

impl Replica {
    pub fn new(of: &SessionDatastore, input: &Json) -> Self {
        let subscription = open(of, establish(of, input));
        Self {
            tree: empty_copy(),
            subscription,
            received: Vec::new(),
            patches: 0,
        }
    }

    /// Receives until nothing arrives for some time.
    pub fn drain(&mut self) {
        while let Some(delivery) = self.subscription.next(Duration::from_millis(30)).unwrap() {
            self.receive(&delivery);
        }
    }

    /// Receives until a condition holds.
    pub fn receive_until(&mut self, what: &str, is_done: &dyn Fn(&Self) -> bool) {
        while !is_done(self) {
            let delivery = self.subscription.next(Duration::from_secs(20)).unwrap();
            self.receive(&delivery.unwrap_or_else(|| panic!("{what}: {:?}", self.received)));
        }
    }

    fn receive(&mut self, delivery: &Delivery) {
        let Delivery::Event(event) = delivery else {
            panic!("no event");
        };
        self.received.push(event.name().to_owned());
        match event.name() {
            "push-update" => {
                self.patches = 0;
                let contents = update(event)["datastore-contents"].to_string();
                let tree =
                    espalier_testkit::documents::json_document(self.tree.schema(), &contents);
                self.commit(&[Edit::replace_all(tree)], &contents);
            }
            "push-change-update" => self.apply(&update(event)["datastore-changes"]["yang-patch"]),
            _ => {}
        }
    }

    fn apply(&mut self, patch: &Json) {
        assert_eq!(patch["patch-id"], self.patches.to_string());
        self.patches += 1;
        let schema = Arc::clone(self.tree.schema());
        let edits = patch["edit"].as_array().expect("edits");
        assert!(!edits.is_empty());
        let edits: Vec<Edit> = edits.iter().map(|edit| edit_of(&schema, edit)).collect();
        self.commit(&edits, &patch.to_string());
    }

    fn commit(&self, edits: &[Edit], what: &str) {
        let made = self.tree.commit(edits, CommitOptions::default());
        made.unwrap_or_else(|error| panic!("{error}: {what}"));
    }

    /// What the subscriber has.
    pub fn document(&self) -> Json {
        print(self.tree.schema(), &read(&self.tree))
    }
}

/// The content of an update.
pub fn update(event: &Event) -> Json {
    content(event)[format!("ietf-yang-push:{}", event.name())].take()
}

fn empty_copy() -> Tree {
    let driver = espalier_drivers::open("memory:").expect("a driver");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    let texts = texts();
    let modules = texts.iter().copied();
    let source = SchemaSource {
        modules: modules.filter_map(ModuleSource::from_text).collect(),
        ..SchemaSource::default()
    };
    store.create_dataspace("d").expect("a dataspace");
    store.create_schema_set("d", "s", &source).expect("modules");
    store.create_anchor("d", "a", "s").expect("an anchor");
    store.tree("d", "a", Datastore::Running).expect("a tree")
}

fn edit_of(schema: &Schema, edit: &Json) -> Edit {
    let path = |name: &str| {
        let text = edit[name]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: {edit}"));
        InstancePath::parse_api_path(schema, text, ApiRoot::Data).expect(text)
    };
    let target = path("target");
    let parent = target.parent().expect("a parent");
    let value = || {
        let (mut builder, options) = (TreeBuilder::new(), ParseOptions::default());
        let root = Root::Resource(target.target().expect("a node"));
        let text = edit["value"].to_string();
        let parsed = json::parse(schema, root, text.as_bytes(), &mut builder, &options);
        parsed.unwrap_or_else(|error| panic!("{error}: {edit}"));
        builder.finish().expect("a tree")
    };
    let place = || match edit["where"].as_str() {
        Some("first") => Insert::First,
        Some("after") => Insert::After(keys(&path("point")).to_vec()),
        _ => panic!("no place: {edit}"),
    };
    match edit["operation"].as_str().expect("an operation") {
        "create" => Edit::create(parent, value()),
        "delete" => Edit::delete(target),
        "replace" => Edit::replace(parent, value()),
        "insert" => Edit::create(parent, value()).placed(place()),
        "move" => Edit::merge(parent, key_only(schema, &target)).placed(place()),
        other => panic!("{other}"),
    }
}

fn keys(path: &InstancePath) -> &[Value] {
    match &path.steps.last().expect("a step").keys {
        Keys::Values(values) => values,
        _ => panic!("no keys"),
    }
}

/// An entry with its keys only.
fn key_only(schema: &Schema, target: &InstancePath) -> DataTree {
    let step = target.steps.last().expect("a step");
    let values = keys(target);
    let node = schema.node(step.node);
    let content = match node.is_leaf_list() {
        true => Content::Value(values[0].clone()),
        false => Content::Inner(
            node.keys()
                .iter()
                .zip(values)
                .map(|(&key, value)| DataNode::new(key, Content::Value(value.clone())))
                .collect(),
        ),
    };
    DataTree {
        nodes: vec![DataNode::new(step.node, content)],
    }
}

fn read(tree: &Tree) -> DataTree {
    let mut builder = TreeBuilder::new();
    let view = tree.view().expect("a view");
    let root = InstancePath::root();
    view.read(&root, &Selection::default(), &mut builder)
        .expect("a read");
    builder.finish().expect("a tree")
}

fn print(schema: &Schema, data: &DataTree) -> Json {
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    data.emit(&mut printer).expect("printed");
    serde_json::from_slice(&printer.finish().expect("printed")).expect("JSON")
}

/// What a filter selects now, for a session.
pub fn selected(of: &SessionDatastore, filter: &RequestFilter) -> Json {
    let parts = of.filtered(filter, &Selection::default()).expect("a read");
    let mut builder = TreeBuilder::new();
    parts[0].send(&mut builder).expect("a read");
    print(of.schema(), &builder.finish().expect("a tree"))
}

/// The input of `establish-subscription` to running.
pub fn on_change(filter: &Json) -> Json {
    let mut input = json!({"ietf-yang-push:datastore": "ietf-datastores:running",
        "ietf-yang-push:on-change": {}});
    for (name, value) in filter.as_object().expect("an object") {
        input[format!("ietf-yang-push:{name}")] = value.clone();
    }
    input
}
