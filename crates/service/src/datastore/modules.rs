//! Changes of modules.

use espalier_store::{
    Datastore, Error, LeafFill, LoadMode, LoadOptions, Result, UnknownData, UpgradeLoad,
    UpgradeOptions, UpgradeReport,
};
use espalier_yang::schema::{ModuleChange, SchemaSource};

use super::call::Call;
use super::{ChangeNote, SessionDatastore};
use crate::audit::AuditOperation;
use crate::providers::UpgradeCallbacks;

/// How modules are replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModuleUpgrade<'a> {
    /// What happens to data of nodes that the new modules do not have.
    pub unknown: UnknownData,
    /// Whether nothing is changed, and only the result reported.
    pub is_trial: bool,
    /// Values for leaves that the data lack.
    pub fills: &'a [LeafFill],
    /// Modules that must not be implemented afterwards, because others augment, deviate or refer to them.
    pub removed: &'a [String],
    /// The modules that the new ones were made from; see [`UpgradeOptions::based_on`].
    pub based_on: Option<&'a SchemaSource>,
}

/// How often a change of modules is made anew because others changed them meanwhile.
const TRIES_MAX: usize = 100;

impl SessionDatastore {
    /// Installs, updates and removes modules, and switches features.
    ///
    /// # Errors
    /// Those of [`ModuleChange::apply`] and [`Self::upgrade`]; `in-use` if other modules augment or deviate a removed
    /// one.
    pub fn change_modules(
        &self,
        change: &ModuleChange,
        how: ModuleUpgrade<'_>,
        note: ChangeNote<'_>,
    ) -> Result<UpgradeReport> {
        self.require_unrestricted("change-modules")?;
        let store = self.tree.store();
        let (dataspace, set) = store.schema_set_of(&self.tree)?;
        let removed = &change.remove;
        let mut tries = 0;
        loop {
            let base = store.schema_set(&dataspace, &set)?.source;
            let source = change.apply(&base)?;
            let based_on = Some(&base);
            let how = ModuleUpgrade {
                removed,
                based_on,
                ..how
            };
            tries += 1;
            match self.upgrade(&source, how, note) {
                Err(Error::Precondition) if tries < TRIES_MAX => {}
                upgraded => return upgraded,
            }
        }
    }

    /// Replaces the modules, or reports what would happen. The data of running of modules that a connected
    /// program converts is that of the program.
    ///
    /// # Errors
    /// Those of [`Store::upgrade_schema_set`](espalier_store::Store::upgrade_schema_set); `access-denied` for a user
    /// with restrictions.
    pub fn upgrade(
        &self,
        source: &SchemaSource,
        how: ModuleUpgrade<'_>,
        note: ChangeNote<'_>,
    ) -> Result<UpgradeReport> {
        let is_trial = how.is_trial;
        let operation = match is_trial {
            true => AuditOperation::Validate,
            false => AuditOperation::SchemaChange,
        };
        let upgraded = self.changed(Call::new(operation), |_| {
            self.require_unrestricted("upgrade")?;
            let author = self.author(note.author);
            let options = UpgradeOptions {
                unknown: how.unknown,
                fills: how.fills,
                author: &author,
                comment: note.comment,
                session: self.session.owner(),
                removed: how.removed,
                based_on: how.based_on,
                structure_only_anchor: None,
            };
            let store = self.tree.store();
            let (dataspace, set) = store.schema_set_of(&self.tree)?;
            let callbacks = UpgradeCallbacks::of(&self.service, self.governed(), source)?;
            let Some(callbacks) = callbacks else {
                return match is_trial {
                    true => store.check_upgrade(&dataspace, &set, source, options, None),
                    false => store.upgrade_schema_set(&dataspace, &set, source, options),
                };
            };
            let mut load = UpgradeLoad {
                anchor: self.tree.anchor_name(),
                datastore: Datastore::Running,
                options: LoadOptions {
                    mode: LoadMode::Replace,
                    author: &author,
                    comment: note.comment,
                    session: self.session.owner(),
                    ..LoadOptions::default()
                },
                document: &mut |new, sink| callbacks.convert(new, sink),
                fragments: 0,
                values: 0,
            };
            let load = &mut load;
            match is_trial {
                true => store.check_upgrade(&dataspace, &set, source, options, Some(load)),
                false => store.upgrade_schema_set_with(&dataspace, &set, source, options, load),
            }
        })?;
        if !is_trial {
            let service = &self.service;
            service.modules_changed();
            service.notify_capability_change(&self.tree, self.schema(), &self.session);
        }
        Ok(upgraded)
    }
}
