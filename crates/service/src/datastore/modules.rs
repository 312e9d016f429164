//! Changes of modules.

use espalier_store::{
    Datastore, LoadMode, LoadOptions, Result, UnknownData, UpgradeLoad, UpgradeOptions,
    UpgradeReport,
};
use espalier_yang::schema::SchemaSource;

use super::call::Call;
use super::{ChangeNote, SessionDatastore};
use crate::audit::AuditOperation;
use crate::providers::UpgradeCallbacks;

impl SessionDatastore {
    /// Replaces the modules, or with `is_trial` reports what would happen. The data of running of modules that a connected
    /// program converts is that of the program.
    ///
    /// # Errors
    /// Those of [`Store::upgrade_schema_set`](espalier_store::Store::upgrade_schema_set); `access-denied` for a user
    /// with restrictions.
    pub fn upgrade(
        &self,
        source: &SchemaSource,
        unknown: UnknownData,
        is_trial: bool,
        note: ChangeNote<'_>,
    ) -> Result<UpgradeReport> {
        let operation = match is_trial {
            true => AuditOperation::Validate,
            false => AuditOperation::SchemaChange,
        };
        let upgraded = self.changed(Call::new(operation), |_| {
            self.require_unrestricted("upgrade")?;
            let author = self.author(note.author);
            let options = UpgradeOptions {
                unknown,
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
            service.notify_capability_change(&self.tree, self.schema(), &self.session);
        }
        Ok(upgraded)
    }
}
