//! The store in memory with the models of the server's state.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use espalier_drivers::memory::{Config, Memory};
use espalier_store::{Datastore, Result, Store, SystemClock, Tree};
use espalier_yang::Schema;
use espalier_yang::schema::{Features, SchemaSource};
use espalier_yang::standard::{self, StandardModule};
use parking_lot::Mutex;

use crate::access::NACM_MODULE;
use crate::modules;
use crate::notifications::{PUSH, RECEIVERS, SUBSCRIBED};

/// The dataspace, and the name of its schema set.
const DATASPACE: &str = "state";

/// An anchor without data, which has the schema. All others have numbers.
const SCHEMA_ANCHOR: &str = "schema";

/// The modules with state or operations of the server, each with its top-level nodes.
const STATE_MODULES: [&str; 13] = [
    "espalier-modules",
    "espalier-notifications",
    "ietf-factory-default",
    "ietf-netconf",
    "ietf-netconf-monitoring",
    "ietf-nmda-compare",
    "ietf-restconf-monitoring",
    SUBSCRIBED,
    "ietf-yang-library",
    PUSH,
    "ietf-yang-schema-mount",
    NACM_MODULE,
    "nc-notifications",
];

/// The implemented modules: those above, those that define values in their data, and those of the server's notifications.
const IMPLEMENTED: [&str; 26] = [
    "espalier-access",
    "espalier-modules",
    RECEIVERS,
    "espalier-notifications",
    "espalier-server",
    "ietf-datastores",
    "ietf-factory-default",
    "ietf-list-pagination",
    "ietf-list-pagination-nc",
    "ietf-netconf",
    "ietf-netconf-monitoring",
    "ietf-netconf-nmda",
    "ietf-netconf-notifications",
    "ietf-netconf-partial-lock",
    "ietf-netconf-private-candidate",
    "ietf-netconf-with-defaults",
    "ietf-nmda-compare",
    "ietf-origin",
    "ietf-restconf-monitoring",
    "ietf-restconf-subscribed-notifications",
    SUBSCRIBED,
    "ietf-yang-library",
    PUSH,
    NACM_MODULE,
    "nc-notifications",
    "notifications",
];

/// The features of `ietf-netconf`: all but `url`.
const NETCONF_FEATURES: [&str; 7] = [
    "candidate",
    "confirmed-commit",
    "rollback-on-error",
    "startup",
    "validate",
    "writable-running",
    "xpath",
];

/// The features of `ietf-subscribed-notifications`, also in the server anchor.
pub(crate) const SUBSCRIBED_FEATURES: [&str; 6] = [
    "configured",
    "encode-json",
    "encode-xml",
    "replay",
    "subtree",
    "xpath",
];

/// The modules that the others import.
const IMPORTED: [&str; 9] = [
    "ietf-inet-types",
    "ietf-interfaces",
    "ietf-ip",
    "ietf-network-instance",
    "ietf-restconf",
    "ietf-yang-metadata",
    "ietf-yang-patch",
    "ietf-yang-schema-mount",
    "ietf-yang-types",
];

/// Whether a module has state of the server.
pub(crate) fn is_state_module(name: &str) -> bool {
    STATE_MODULES.contains(&name)
}

/// The schema of the server's state, if a path that begins with `/MODULE:NAME` is in it and not in `schema`, the models
/// of an anchor.
///
/// # Errors
/// Those of the store in memory.
pub fn state_schema_of(schema: &Schema, path: &str) -> Result<Option<Arc<Schema>>> {
    let path = path.trim_start_matches('/');
    let first = path.split(['/', '[', '=']).next().unwrap_or_default();
    let Some((module, name)) = first.split_once(':') else {
        return Ok(None);
    };
    if !is_state_module(module) || defines(schema, module, name) {
        return Ok(None);
    }
    let state = self::schema()?;
    Ok(defines(&state, module, name).then_some(state))
}

/// Whether a schema has a top-level node.
pub(crate) fn defines(schema: &Schema, module: &str, name: &str) -> bool {
    let id = schema.module_by_name(module);
    id.is_some_and(|id| schema.child(None, id, name).is_some())
}

/// The implemented modules, and those that they import.
pub(super) fn modules() -> impl Iterator<Item = &'static StandardModule> {
    let names = IMPLEMENTED.into_iter().chain(IMPORTED);
    names.filter_map(|name| modules::module(name).or_else(|| standard::module(name, None)))
}

fn source() -> SchemaSource {
    SchemaSource {
        modules: modules().map(StandardModule::source).collect(),
        implement: IMPLEMENTED.map(str::to_owned).to_vec(),
        features: BTreeMap::from([
            ("ietf-netconf".to_owned(), only(&NETCONF_FEATURES)),
            (SUBSCRIBED.to_owned(), only(&SUBSCRIBED_FEATURES)),
        ]),
        ..SchemaSource::default()
    }
}

/// These features only.
pub(crate) fn only(names: &[&str]) -> Features {
    Features::Only(names.iter().map(|&name| name.to_owned()).collect())
}

/// The schema of the server's own state and operations.
///
/// # Errors
/// The modules do not compile.
pub fn schema() -> Result<Arc<Schema>> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    if let Some(schema) = SCHEMA.get() {
        return Ok(Arc::clone(schema));
    }
    let compiled = Arc::new(Schema::compile(&source())?);
    Ok(Arc::clone(SCHEMA.get_or_init(|| compiled)))
}

/// The store. Its models are compiled when it is first used.
#[derive(Default)]
pub(crate) struct StateStore(Mutex<Option<Store>>);

impl StateStore {
    /// Creates the operational datastore of the state of a served anchor.
    pub fn tree(&self, number: u64) -> Result<Tree> {
        let store = self.store()?;
        let name = number.to_string();
        store.create_anchor(DATASPACE, &name, DATASPACE)?;
        store.tree(DATASPACE, &name, Datastore::Operational)
    }

    /// Removes what [`Self::tree`] created.
    pub fn remove(&self, number: u64) {
        let removed = self
            .store()
            .and_then(|store| store.delete_anchor(DATASPACE, &number.to_string()));
        if let Err(error) = removed {
            tracing::warn!(%error, "the state of an anchor that is served no more was not removed");
        }
    }

    /// The schema of the state.
    pub fn schema(&self) -> Result<Arc<Schema>> {
        let store = self.store()?;
        let tree = store.tree(DATASPACE, SCHEMA_ANCHOR, Datastore::Operational)?;
        Ok(Arc::clone(tree.schema()))
    }

    fn store(&self) -> Result<Store> {
        let mut store = self.0.lock();
        if let Some(store) = &*store {
            return Ok(store.clone());
        }
        let driver = Arc::new(Memory::new(Config::default()));
        let new = Store::open(driver, Arc::new(SystemClock))?;
        new.create_dataspace(DATASPACE)?;
        new.create_schema_set(DATASPACE, DATASPACE, &source())?;
        new.create_anchor(DATASPACE, SCHEMA_ANCHOR, DATASPACE)?;
        *store = Some(new.clone());
        Ok(new)
    }
}
