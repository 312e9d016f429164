//! A service with a served anchor, and reads of its state.

use std::sync::Arc;

use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::server_state::{ModuleTexts, ServedAnchor};
use espalier_service::session::{NewSession, Session, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, Anchor, LoginPolicy, Service, SessionDatastore};
use espalier_store::{Datastore, Selection, Store, SystemClock, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::{PrintOptions, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::standard;
use serde_json::Value as Json;

pub const MODEL: &str =
    "module m { yang-version 1.1; namespace urn:m; prefix m; revision 2026-01-01;
    feature f; container c { leaf a { type string; } leaf b { type string; } } }";

/// An anchor of these modules: texts, or names of standard modules.
pub fn tree_of(modules: &[&str]) -> Tree {
    let driver = espalier_drivers::open("memory:").expect("a driver");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_dataspace("d").expect("a dataspace");
    let created = store.create_schema_set("d", "s", &source_of(modules));
    created.unwrap_or_else(|error| panic!("{error}"));
    store.create_anchor("d", "a", "s").expect("an anchor");
    store.tree("d", "a", Datastore::Running).expect("a tree")
}

/// The source of modules: texts, or names of standard modules.
pub fn source_of(modules: &[&str]) -> SchemaSource {
    let texts = modules.iter().map(|&module| {
        let known = standard::module(module, None);
        let known = known.or_else(|| espalier_service::modules::module(module));
        known.map_or(module, |known| known.text)
    });
    SchemaSource {
        modules: texts.filter_map(ModuleSource::from_text).collect(),
        ..SchemaSource::default()
    }
}

/// A service that serves an anchor of these modules.
pub fn serving(modules: &[&str], control: AccessControl) -> (Service, Tree) {
    let tree = tree_of(modules);
    let trees = ConfigurationTrees::new(tree.store().clone(), Some(tree.clone()));
    let sessions = Sessions::new(Arc::new(SystemClock));
    let service = Service::new(trees, control, sessions, LoginPolicy::default());
    let service = service.expect("a service");
    describe(&service, &tree, &source_of(modules));
    (service, tree)
}

pub fn describe(service: &Service, tree: &Tree, source: &SchemaSource) {
    let served = ServedAnchor {
        anchor: Anchor::of(tree).expect("an anchor"),
        datastores: vec![
            Datastore::Running,
            Datastore::Candidate,
            Datastore::Startup,
            Datastore::Operational,
        ],
        texts: ModuleTexts::new(tree.schema(), source),
        texts_url: "http://server.example/schema".to_owned(),
        streams_url: "http://server.example/streams".to_owned(),
        restconf_capabilities: vec!["urn:example:capability".to_owned()],
    };
    let described = service.describe(served).expect("described");
    // It lasts as long as the test.
    Box::leak(Box::new(described));
}

pub fn session(service: &Service, caller: Caller, name: &str) -> Arc<Session> {
    let new = NewSession {
        caller,
        transport: Transport::Http,
        peer: "192.0.2.7:4711".to_owned(),
        kind: SessionKind::Named,
        name: name.to_owned(),
    };
    service.sessions().open(new).expect("a session")
}

pub fn user(name: &str) -> Caller {
    Caller {
        user: name.to_owned(),
        ..Caller::default()
    }
}

/// The datastore with a path of the server's state, as a caller without a listed session sees it.
pub fn located(
    service: &Service,
    tree: &Tree,
    caller: Caller,
    path: &str,
) -> (SessionDatastore, InstancePath) {
    let new = NewSession {
        caller,
        transport: Transport::Library,
        peer: String::new(),
        kind: SessionKind::Connection,
        name: String::new(),
    };
    let of = service.datastore(&service.sessions().unlisted(new), tree.clone());
    let top = path.trim_start_matches('/').split(['/', '=']).next();
    let (module, name) = top.and_then(|top| top.split_once(':')).expect("a module");
    let of = of.with_top_node(module, name).expect("a datastore");
    let path = InstancePath::parse_cli_path(of.schema(), path).expect("a path");
    let of = of.for_state(&path).expect("a datastore");
    (of, path)
}

/// What a caller reads, as text.
pub fn text_of(
    of: &SessionDatastore,
    path: &InstancePath,
    selection: &Selection,
) -> Option<String> {
    let view = of.view_for_read(path, selection).expect("a view");
    let mut printer = json::Printer::new(view.schema(), Vec::new(), PrintOptions::default());
    let is_found = view
        .read_resource(path, selection, &mut printer)
        .expect("a read");
    assert!(view.take_warnings().is_empty(), "a provider failed");
    let text = printer.finish().expect("a document");
    is_found.then(|| String::from_utf8(text).expect("UTF-8"))
}

/// What a caller reads at a path; null if there is nothing.
pub fn read_as(service: &Service, tree: &Tree, caller: Caller, path: &str) -> Json {
    let (of, path) = located(service, tree, caller, path);
    let text = text_of(&of, &path, &Selection::default());
    text.map_or(Json::Null, |text| {
        serde_json::from_str(&text).expect("JSON")
    })
}

/// What everybody reads without access control.
pub fn read(service: &Service, tree: &Tree, path: &str) -> Json {
    read_as(service, tree, Caller::exempt(), path)
}
