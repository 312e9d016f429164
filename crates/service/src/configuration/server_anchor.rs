//! The anchor with the configuration of the server.

use espalier_store::{Datastore, Error, Result, Store, Tree};
use espalier_yang::schema::SchemaSource;
use espalier_yang::standard::{self, StandardModule};

use crate::access::NACM_MODULE;
use crate::modules;

/// The dataspace of the server anchor, and the name of its schema set.
pub const SERVER_DATASPACE: &str = "espalier";

/// The server anchor.
pub const SERVER_ANCHOR: &str = "server";

/// The modules that the server anchor implements.
const IMPLEMENTED: [&str; 4] = [
    "espalier-access",
    "espalier-system",
    NACM_MODULE,
    "ietf-system",
];

/// The modules of the server anchor.
pub fn server_source() -> SchemaSource {
    let nacm = standard::module(NACM_MODULE, None).map(StandardModule::source);
    SchemaSource {
        modules: modules::sources().into_iter().chain(nacm).collect(),
        implement: IMPLEMENTED.map(str::to_owned).to_vec(),
        ..SchemaSource::default()
    }
    .without_unused()
}

/// Opens the running datastore of the server anchor; `None` if there is no such anchor.
pub(super) fn open(store: &Store) -> Result<Option<Tree>> {
    match store.tree(SERVER_DATASPACE, SERVER_ANCHOR, Datastore::Running) {
        Ok(tree) => Ok(Some(tree)),
        Err(Error::Unknown { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates the server anchor if there is none. Another process may do so at the same time.
pub(super) fn create(store: &Store) -> Result<()> {
    let existing_is_ok = |result: Result<()>| match result {
        Err(Error::Exists { .. }) => Ok(()),
        result => result,
    };
    existing_is_ok(store.create_dataspace(SERVER_DATASPACE))?;
    existing_is_ok(store.create_schema_set(SERVER_DATASPACE, SERVER_ANCHOR, &server_source()))?;
    existing_is_ok(store.create_anchor(SERVER_DATASPACE, SERVER_ANCHOR, SERVER_ANCHOR))
}
