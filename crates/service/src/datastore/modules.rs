//! Changes of modules.

use espalier_store::{
    Datastore, Error, LeafFill, LoadMode, LoadOptions, Result, UnknownData, UpgradeLoad,
    UpgradeOptions, UpgradeReport,
};
use espalier_yang::schema::{ModuleChange, SchemaSource};
use espalier_yang::{ErrorTag, Schema};

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
}

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
        let source = change.apply(&store.schema_set(&dataspace, &set)?.source)?;
        if !change.remove.is_empty() {
            let schema = Schema::compile(&source)?;
            let is_implemented = |name: &&String| {
                let module = schema.module_by_name(name);
                module.is_some_and(|id| schema.module(id).is_implemented)
            };
            if let Some(name) = change.remove.iter().find(is_implemented) {
                let message = format!("other modules augment, deviate or refer to “{name}”");
                return Err(Error::data(ErrorTag::InUse, message));
            }
        }
        self.upgrade(&source, how, note)
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
