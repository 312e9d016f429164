//! What a command did to the modules of a store, and how it is undone if the change that it was done for fails.

use espalier_store::{Datastore, Error, Store, UpgradeOptions, UpgradeReport};
use espalier_yang::schema::SchemaSource;

use espalier_terminal::Failure;

/// The comment in the history if the change for which modules were replaced was rejected.
const REVERTED: &str = "the earlier modules again: the change that replaced them was rejected";

/// What [`apply_modules`](super::apply_modules) did for an anchor.
#[derive(Default)]
pub struct AppliedModules {
    dataspace: String,
    anchor: String,
    /// The previous modules, if it replaced them.
    pub(super) replaced: Option<ReplacedModules>,
    /// What it created.
    pub(super) created: Created,
}

/// The previous modules of a schema set that a command upgraded.
pub(super) struct ReplacedModules {
    pub author: String,
    pub session: String,
    pub before: SchemaSource,
    pub now: SchemaSource,
    pub report: UpgradeReport,
}

/// What a command created.
#[derive(Clone, Copy, Default)]
pub(super) struct Created {
    pub dataspace: bool,
    pub schema_set: bool,
    pub anchor: bool,
}

impl AppliedModules {
    pub(super) fn new(dataspace: &str, anchor: &str) -> Self {
        Self {
            dataspace: dataspace.to_owned(),
            anchor: anchor.to_owned(),
            ..Self::default()
        }
    }

    /// What an upgrade did to the data; `None` if there was none.
    pub fn report(&self) -> Option<&UpgradeReport> {
        self.replaced.as_ref().map(|replaced| &replaced.report)
    }

    /// Restores the previous modules, and deletes what was created, after the change for which this was done was
    /// rejected. If the upgrade converted or removed data, the new modules stay, and a hint of the failure explains it.
    pub fn revert(&self, store: &Store, failure: Failure) -> Failure {
        let removed = self.remove_created(store);
        let failure = match removed {
            Ok(()) => failure,
            Err(error) => failure.hint(format!(
                "the empty anchor {} of this command could not be removed ({error})",
                self.anchor
            )),
        };
        match &self.replaced {
            Some(replaced) => self.restore(store, replaced, failure),
            None => failure,
        }
    }

    /// Deletes what was created, unless another process uses it by now.
    fn remove_created(&self, store: &Store) -> espalier_store::Result<()> {
        let (dataspace, anchor, created) = (&self.dataspace, &self.anchor, self.created);
        if created.anchor {
            let running = store.tree(dataspace, anchor, Datastore::Running)?;
            if running.view()?.version()? > 0 {
                return Ok(());
            }
            store.delete_anchor(dataspace, anchor)?;
        }
        let unless_in_use = |deleted| match deleted {
            Err(Error::InUse { .. }) => Ok(()),
            deleted => deleted,
        };
        if created.schema_set {
            unless_in_use(store.delete_schema_set(dataspace, anchor))?;
        }
        match created.dataspace {
            true => unless_in_use(store.delete_dataspace(dataspace)),
            false => Ok(()),
        }
    }

    fn restore(&self, store: &Store, replaced: &ReplacedModules, failure: Failure) -> Failure {
        if replaced.report.is_changed() {
            return failure.hint(
                "the modules of the store are those of --yang now, as its data were converted to them; only the change was refused",
            );
        }
        match self.try_restore(store, replaced) {
            Ok(()) => failure,
            Err(error) => failure.hint(format!(
                "the modules of the store are those of --yang now, as the earlier ones could not be put back ({error}): name those with --yang"
            )),
        }
    }

    fn try_restore(&self, store: &Store, replaced: &ReplacedModules) -> espalier_store::Result<()> {
        let (dataspace, name) = (&self.dataspace, &self.anchor);
        // Another process may have upgraded it since.
        if store.schema_set(dataspace, name)?.source != replaced.now {
            return Ok(());
        }
        let options = UpgradeOptions {
            author: &replaced.author,
            comment: REVERTED,
            session: &replaced.session,
            ..UpgradeOptions::default()
        };
        store
            .upgrade_schema_set(dataspace, name, &replaced.before, options)
            .map(|_| ())
    }
}
