//! Stores with ietf-system, and drivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_service::modules;
use espalier_store::{
    CommitOptions, Datastore, Edit, LoadOptions, Store, SystemClock, Timestamp, Tree,
};
use espalier_yang::InstancePath;
use espalier_yang::data::{ParseOptions, Root, TreeBuilder, json};
use espalier_yang::schema::{Features, SchemaSource};

/// A time.
pub const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// `NOW` and some seconds.
pub fn after_seconds(seconds: u64) -> Timestamp {
    Timestamp(NOW.0 + 1_000 * seconds)
}

/// An empty engine in memory.
pub fn driver() -> Arc<dyn Driver> {
    espalier_drivers::open("memory:").unwrap()
}

/// Running under some of the modules of the service.
pub fn tree(implement: &[&str], features: &[(&str, &[&str])]) -> Tree {
    let store = Store::open(driver(), Arc::new(SystemClock)).unwrap();
    store.create_dataspace("d").unwrap();
    let only = |names: &[&str]| Features::Only(names.iter().map(|&name| name.into()).collect());
    let features: BTreeMap<String, Features> = features
        .iter()
        .map(|&(module, names)| (module.to_owned(), only(names)))
        .collect();
    let source = SchemaSource {
        modules: modules::sources(),
        implement: implement.iter().map(|&name| name.into()).collect(),
        features,
        ..SchemaSource::default()
    };
    store.create_schema_set("d", "s", &source).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    store.tree("d", "a", Datastore::Running).unwrap()
}

/// Running with ietf-system, which also accepts yescrypt.
pub fn system_tree() -> Tree {
    tree(&["ietf-system", "espalier-system"], &[])
}

/// Loads JSON.
pub fn load(tree: &Tree, text: &str) {
    let (schema, options) = (tree.schema(), ParseOptions::default());
    let parse = &mut |sink: &mut dyn espalier_yang::Sink| {
        json::parse(schema, Root::Datastore, text.as_bytes(), sink, &options)
            .map_err(espalier_store::Error::from)
    };
    tree.load(LoadOptions::default(), parse).unwrap();
}

/// Merges JSON in a commit.
pub fn merge(tree: &Tree, text: &str) -> espalier_store::Result<()> {
    let mut builder = TreeBuilder::new();
    let (schema, options) = (tree.schema(), ParseOptions::default());
    json::parse(
        schema,
        Root::Datastore,
        text.as_bytes(),
        &mut builder,
        &options,
    )
    .map_err(espalier_store::Error::from)?;
    let edit = Edit::merge(InstancePath::root(), builder.finish().unwrap());
    tree.commit(&[edit], CommitOptions::default()).map(|_| ())
}
