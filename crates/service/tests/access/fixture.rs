//! A store whose models have `ietf-netconf-acm`.

use std::sync::Arc;

use espalier_service::access::{AccessPolicy, Caller, NacmConfig};
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, Selection, Store, SystemClock, Tree, View,
};
pub use espalier_testkit::documents::json_document as json_data;
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, PrintOptions, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};

/// A store with an anchor of these modules and `ietf-netconf-acm`.
pub fn tree_of(modules: &[&str]) -> Tree {
    let nacm = espalier_yang::standard::module("ietf-netconf-acm", None).expect("the module");
    let texts = modules.iter().copied().chain([nacm.text]);
    let source = SchemaSource {
        modules: texts.filter_map(ModuleSource::from_text).collect(),
        ..SchemaSource::default()
    };
    let driver = espalier_drivers::open("memory:").expect("a driver");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    store.create_dataspace("d").expect("a dataspace");
    let created = store.create_schema_set("d", "s", &source);
    created.unwrap_or_else(|error| panic!("{error}"));
    store.create_anchor("d", "a", "s").expect("an anchor");
    store.tree("d", "a", Datastore::Running).expect("a tree")
}

/// Merges a document as root.
pub fn put(tree: &Tree, document: DataTree) {
    let edit = Edit::merge(InstancePath::root(), document);
    let made = tree.commit(&[edit], CommitOptions::default());
    made.unwrap_or_else(|error| panic!("{error}"));
}

/// The policy that the datastore contains.
pub fn policy(tree: &Tree) -> AccessPolicy {
    let config = NacmConfig::read(&tree.view().expect("a view")).expect("a read");
    AccessPolicy::new(Arc::clone(tree.schema()), config.expect("the module"))
}

pub fn user(name: &str) -> Caller {
    Caller {
        user: name.to_owned(),
        ..Caller::default()
    }
}

/// The view of a user.
pub fn view_of(tree: &Tree, policy: &AccessPolicy, name: &str) -> View {
    let access = policy.access_of(&user(name));
    tree.view()
        .expect("a view")
        .with_access(access.table().cloned())
}

/// What a user reads at a path, as JSON; `None` if there is nothing.
pub fn read(view: &View, path: &str) -> Option<String> {
    let schema = view.schema();
    let path = InstancePath::parse_cli_path(schema, path).expect("a path");
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    let is_found = view
        .read(&path, &Selection::default(), &mut printer)
        .expect("a read");
    let text = String::from_utf8(printer.finish().expect("a document")).expect("UTF-8");
    is_found.then_some(text)
}

/// Merges a document as a user.
pub fn write(tree: &Tree, policy: &AccessPolicy, name: &str, document: &str) -> Result<(), Error> {
    let access = policy.access_of(&user(name));
    let options = CommitOptions {
        access: access.table(),
        ..CommitOptions::default()
    };
    let edit = Edit::merge(InstancePath::root(), json_data(tree.schema(), document));
    tree.commit(&[edit], options).map(drop)
}

/// Deletes a node as a user.
pub fn delete(tree: &Tree, policy: &AccessPolicy, name: &str, path: &str) -> Result<(), Error> {
    let access = policy.access_of(&user(name));
    let options = CommitOptions {
        access: access.table(),
        ..CommitOptions::default()
    };
    let path = InstancePath::parse_cli_path(tree.schema(), path).expect("a path");
    tree.commit(&[Edit::delete(path)], options).map(drop)
}

/// The paths of the denied nodes.
pub fn denied(result: Result<(), Error>) -> Vec<String> {
    match result {
        Err(Error::Data(errors)) => errors
            .iter()
            .map(|error| {
                assert_eq!(
                    error.tag,
                    espalier_yang::ErrorTag::AccessDenied,
                    "{error:?}"
                );
                error.path.clone()
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}
