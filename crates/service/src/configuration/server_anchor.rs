//! The anchor with the configuration of the server.

use std::collections::BTreeMap;

use espalier_store::{Datastore, Error, Result, Store, Tree, UpgradeOptions};
use espalier_yang::schema::SchemaSource;
use espalier_yang::standard::{self, StandardModule};

use crate::access::NACM_MODULE;
use crate::modules;
use crate::notifications::{PUSH, RECEIVERS, SUBSCRIBED};
use crate::server_state::{SUBSCRIBED_FEATURES, only};

/// The dataspace of the server anchor, and the name of its schema set.
pub const SERVER_DATASPACE: &str = "espalier";

/// The server anchor.
pub const SERVER_ANCHOR: &str = "server";

/// The module with the identities of datastores.
const DATASTORES_MODULE: &str = "ietf-datastores";

/// The modules that the server anchor implements. Of ietf-x509-cert-to-name it needs the identities of `map-type`, of
/// ietf-datastores those of datastores: those of a module that is only imported are no values.
const IMPLEMENTED: [&str; 9] = [
    "espalier-access",
    RECEIVERS,
    "espalier-system",
    DATASTORES_MODULE,
    NACM_MODULE,
    SUBSCRIBED,
    "ietf-system",
    "ietf-x509-cert-to-name",
    PUSH,
];

/// The modules of the server anchor.
pub fn server_source() -> SchemaSource {
    let standard = [DATASTORES_MODULE, NACM_MODULE].into_iter();
    let standard = standard.filter_map(|name| standard::module(name, None));
    let standard = standard.map(StandardModule::source);
    SchemaSource {
        modules: modules::sources().into_iter().chain(standard).collect(),
        implement: IMPLEMENTED.map(str::to_owned).to_vec(),
        features: BTreeMap::from([(SUBSCRIBED.to_owned(), only(&SUBSCRIBED_FEATURES))]),
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

/// Creates the server anchor if there is none, and gives it the modules of this version if they are newer. Another
/// process may do so at the same time.
pub(super) fn prepare(store: &Store) -> Result<()> {
    let existing_is_ok = |result: Result<()>| match result {
        Err(Error::Exists { .. }) => Ok(()),
        result => result,
    };
    let source = server_source();
    existing_is_ok(store.create_dataspace(SERVER_DATASPACE))?;
    existing_is_ok(store.create_schema_set(SERVER_DATASPACE, SERVER_ANCHOR, &source))?;
    existing_is_ok(store.create_anchor(SERVER_DATASPACE, SERVER_ANCHOR, SERVER_ANCHOR))?;
    let stored = store.schema_set(SERVER_DATASPACE, SERVER_ANCHOR)?.source;
    if is_newer(&source, &stored) {
        let options = UpgradeOptions {
            author: "espalier",
            ..UpgradeOptions::default()
        };
        store.upgrade_schema_set(SERVER_DATASPACE, SERVER_ANCHOR, &source, options)?;
    }
    Ok(())
}

/// Whether a source has a module that another one lacks, has an older revision of, or does not implement. The modules of
/// a later version of this program are not newer, and stay.
fn is_newer(source: &SchemaSource, stored: &SchemaSource) -> bool {
    let mut implemented = source.implement.iter();
    if implemented.any(|name| !stored.implement.contains(name)) {
        return true;
    }
    source.modules.iter().any(|module| {
        let mut stored = stored.modules.iter();
        let stored = stored.find(|stored| stored.name == module.name);
        stored.is_none_or(|stored| stored.revision < module.revision)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use espalier_store::SystemClock;

    use super::*;

    #[test]
    fn the_modules_of_an_older_version_are_replaced() {
        let revision = "2026-11-28";
        let mut old = server_source();
        for module in &mut old.modules {
            if module.name == "espalier-access" {
                module.text = module.text.replacen(revision, "2026-11-01", 1);
                module.revision = Some("2026-11-27".to_owned());
            }
        }
        assert_replaced(old);
    }

    /// `map-type` of `cert-maps` had no values in the server anchor.
    #[test]
    fn modules_that_an_older_version_only_imported_are_implemented() {
        let mut old = server_source();
        old.implement
            .retain(|name| name != "ietf-x509-cert-to-name");
        assert_replaced(old);
    }

    fn assert_replaced(old: SchemaSource) {
        let store = Store::open(
            espalier_drivers::open("memory:").unwrap(),
            Arc::new(SystemClock),
        )
        .unwrap();
        store.create_dataspace(SERVER_DATASPACE).unwrap();
        store
            .create_schema_set(SERVER_DATASPACE, SERVER_ANCHOR, &old)
            .unwrap();
        store
            .create_anchor(SERVER_DATASPACE, SERVER_ANCHOR, SERVER_ANCHOR)
            .unwrap();
        prepare(&store).unwrap();
        let stored = store
            .schema_set(SERVER_DATASPACE, SERVER_ANCHOR)
            .unwrap()
            .source;
        assert!(!is_newer(&server_source(), &stored));
    }
}
