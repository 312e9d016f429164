//! Prepares a change of modules for one anchor, as part of the batch that changes the catalog.

use std::sync::Arc;

use espalier_keyspace::{Batch, KeyRange, Snapshot};
use espalier_yang::{DataError, ErrorTag, Errors};

use super::convert::{Conversion, MismatchPolicy, convert};
use super::fill::Fills;
use super::load::UpgradeLoad;
use super::nodes::NodeMapping;
use super::past_schemas::put_past_schema;
use super::report::{DatastoreUpgrade, Places, UnknownData, UpgradeOptions};
use crate::catalog::{AnchorRow, Record};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::overlay::{Changes, Overlay};
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::change::{each_change, logged_ranges};
use crate::tree::commit_pipeline::{Basis, put_changes};
use crate::tree::confirm::ConfirmEffect;
use crate::tree::locate::TreeState;
use crate::tree::log::CommitLog;
use crate::tree::operational::move_origins;
use crate::tree::stamp::{Stamp, StampRecord, stamp_key};
use crate::tree::{Datastore, Tree};

/// The datastores with rows of their own.
const STORED_DATASTORES: [Datastore; 4] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::FactoryDefault,
    Datastore::Operational,
];

/// A change of the modules of one anchor.
pub(crate) struct AnchorUpgrade<'a> {
    pub store: &'a Store,
    pub row: &'a AnchorRow,
    pub old: &'a Arc<Compiled>,
    pub new: &'a Arc<Compiled>,
    /// The record of the old modules, kept for older versions.
    pub replaced: &'a Record,
    pub nodes: &'a NodeMapping,
    pub fills: &'a Fills,
    /// Whether the new modules are the old ones: then there is nothing to record in the history.
    pub is_same_source: bool,
    pub options: UpgradeOptions<'a>,
}

/// The prepared change of modules of an anchor.
#[derive(Default)]
pub(crate) struct PreparedUpgrade {
    /// The writes and preconditions.
    pub batch: Batch,
    /// The changed datastores.
    pub datastores: Vec<DatastoreUpgrade>,
    /// The data that does not conform. If there is any, the batch is incomplete.
    pub errors: Errors,
}

/// The result for a datastore that candidates are based on.
pub(in crate::tree) struct UpgradedDatastore {
    /// The changes of its data.
    pub changes: Arc<Changes>,
    /// Its version afterwards.
    pub version: u64,
    /// Whether it has a new version: its data or its modules changed.
    pub has_new_version: bool,
    /// Whether its data changed.
    pub is_rewritten: bool,
}

impl AnchorUpgrade<'_> {
    /// Converts all datastores of the anchor from the old schema to the new one, and validates the result.
    pub fn prepare(&self, mut load: Option<&mut UpgradeLoad<'_, '_>>) -> Result<PreparedUpgrade> {
        let mut prepared = PreparedUpgrade::default();
        for datastore in STORED_DATASTORES {
            let load = load
                .as_deref_mut()
                .filter(|load| load.datastore == datastore);
            let upgraded = self.datastore(datastore, load, &mut prepared)?;
            if datastore == Datastore::Running {
                self.candidates(&upgraded, &mut prepared)?;
            }
        }
        Ok(prepared)
    }

    pub(super) fn mismatch_policy(&self) -> MismatchPolicy {
        match self.options.unknown {
            UnknownData::Refuse => MismatchPolicy::Refuse,
            UnknownData::Drop => MismatchPolicy::DropUnknown,
        }
    }

    fn tree(&self, compiled: &Arc<Compiled>, datastore: Datastore) -> Tree {
        let (store, row) = (self.store.clone(), self.row.clone());
        Tree::new(store, row, Arc::clone(compiled), datastore, "")
    }

    fn datastore(
        &self,
        datastore: Datastore,
        load: Option<&mut UpgradeLoad<'_, '_>>,
        prepared: &mut PreparedUpgrade,
    ) -> Result<UpgradedDatastore> {
        let tree = self.tree(self.new, datastore);
        let snapshot = self.store.driver().snapshot()?;
        let basis = tree.basis(&*snapshot)?;
        if datastore == Datastore::Running {
            refuse_pending(&tree, &*snapshot)?;
        }
        let mut conversion = match &load {
            Some(load) if load.replaces() => conversion_to_empty(&tree),
            _ => {
                let state = TreeState::new(&*snapshot, self.old, tree.id());
                convert(state, self.new, self.nodes, self.mismatch_policy())?
            }
        };
        let mut overlay =
            Overlay::with(snapshot, Arc::new(std::mem::take(&mut conversion.changes)));
        let fits = conversion.errors.is_empty();
        prepared.add_errors(datastore, "", std::mem::take(&mut conversion.errors));
        let mut is_loaded = false;
        if let Some(load) = load.filter(|_| fits) {
            overlay = load.apply(&tree, overlay)?;
            is_loaded = true;
        }
        let mut filled = Places::default();
        if fits && datastore != Datastore::Operational {
            self.fills.apply(&tree, &mut overlay, &mut filled)?;
        }
        let is_changed = has_changes(&overlay, &tree)?;
        let is_empty = basis.last == Stamp::default() && !is_changed;
        if fits && !is_empty {
            let errors = self.violations(&tree, &overlay, is_loaded)?;
            prepared.add_errors(datastore, "", errors);
        }
        // A change of modules can change defaults and namespaces without changing data.
        let has_new_version = is_changed || (basis.last.version > 0 && !self.is_same_source);
        let before = basis.last.version;
        let upgraded = UpgradedDatastore {
            changes: overlay.savepoint(),
            version: before + u64::from(has_new_version),
            has_new_version,
            is_rewritten: is_changed,
        };
        if !prepared.errors.is_empty() {
            return Ok(upgraded);
        }
        match has_new_version {
            true => self.put_version(&tree, overlay, basis, &conversion, prepared)?,
            false => self.put_modules(&tree, &overlay, basis, prepared)?,
        }
        if has_new_version || is_loaded {
            prepared.datastores.push(DatastoreUpgrade {
                anchor: self.row.name.clone(),
                datastore,
                session: String::new(),
                before,
                version: has_new_version.then_some(upgraded.version),
                is_rewritten: is_changed,
                converted: conversion.converted,
                dropped: conversion.dropped,
                filled,
            });
        }
        Ok(upgraded)
    }

    /// The constraints of the new modules that a datastore violates. Data of startup and factory-default need not be
    /// valid, but if they are under the old modules, they must be under the new ones, unless they are loaded with them.
    fn violations(&self, tree: &Tree, overlay: &Overlay, is_loaded: bool) -> Result<Errors> {
        let may_be_invalid = !tree.is_validated();
        let is_exempt = match tree.datastore() {
            Datastore::Operational => true,
            _ => !tree.is_constrained() || (may_be_invalid && is_loaded),
        };
        if is_exempt {
            return Ok(Errors::default());
        }
        let errors = violations(tree.validate_whole_with(overlay.changes()))?;
        if errors.is_empty() || !may_be_invalid {
            return Ok(errors);
        }
        let old = self.tree(self.old, tree.datastore());
        let errors_before = violations(old.validate_whole_with(&Arc::default()))?;
        match errors_before.is_empty() {
            true => Ok(errors),
            false => Ok(Errors::default()),
        }
    }

    /// Puts the changes of a datastore into the batch, as a new version, with the preconditions of the batch. If no
    /// data changed, the version records the change of modules.
    fn put_version(
        &self,
        tree: &Tree,
        overlay: Overlay,
        basis: Basis,
        conversion: &Conversion,
        prepared: &mut PreparedUpgrade,
    ) -> Result<()> {
        let batch = &mut prepared.batch;
        batch.require_all(basis.conditions);
        let last = basis.last.version;
        put_past_schema(overlay.base(), tree.id(), last, self.replaced, batch)?;
        let old = (&**self.old, conversion);
        tree.put_converted(overlay, old, basis.next, self.options, batch)
    }

    /// Puts the preconditions of a datastore without a new version: it has no version yet, or its modules are the
    /// same.
    fn put_modules(
        &self,
        tree: &Tree,
        overlay: &Overlay,
        basis: Basis,
        prepared: &mut PreparedUpgrade,
    ) -> Result<()> {
        let batch = &mut prepared.batch;
        batch.require_all(basis.conditions);
        delete_indexes(tree, batch);
        // The time of an anchor without versions is part of its entity tags.
        let is_stamped = basis.last != Stamp::default() && basis.last.version == 0;
        if is_stamped && !self.is_same_source {
            let stamp = Stamp {
                version: 0,
                ..basis.next
            };
            put_whole_stamp(tree, stamp, batch);
        }
        tree.require_unlocked(overlay.base(), self.options.session, batch)?;
        Ok(())
    }
}

/// The errors of a validation.
fn violations(validated: Result<()>) -> Result<Errors> {
    match validated {
        Err(Error::Data(errors)) => Ok(errors),
        validated => validated.map(|()| Errors::default()),
    }
}

/// Deletes the indexes, which may contain other defaults: the next commit that needs them rebuilds them.
fn delete_indexes(tree: &Tree, batch: &mut Batch) {
    for subspace in [Subspace::Index, Subspace::Count] {
        batch.delete_range(KeyRange::prefix(&tree.id().prefix(subspace)));
    }
}

/// Gives the whole datastore one stamp.
fn put_whole_stamp(tree: &Tree, stamp: Stamp, batch: &mut Batch) {
    batch.delete_range(KeyRange::prefix(&tree.id().prefix(Subspace::Stamp)));
    let record = StampRecord {
        any: stamp,
        whole: stamp,
    };
    let root = stamp_key(&tree.id().prefix(Subspace::Tree));
    batch.put(root, record.encode());
}

impl Tree {
    /// Puts the changes of an overlay into a batch, as a version of the history. The whole datastore gets a
    /// new stamp; indexes are rebuilt when needed.
    pub(super) fn put_converted(
        &self,
        overlay: Overlay,
        (old, conversion): (&Compiled, &Conversion),
        next: Stamp,
        options: UpgradeOptions<'_>,
        batch: &mut Batch,
    ) -> Result<()> {
        self.authorise(&overlay, options.session, ConfirmEffect::Edit, batch)?;
        let (author, comment) = (options.author, options.comment);
        let mut log = CommitLog::new(self.id(), next.version, next.time, author, comment);
        each_change(&overlay, &logged_ranges(self.id()), &mut |change| {
            log.record(change.key, change.old, change.new, batch)
        })?;
        if self.datastore() == Datastore::Operational {
            let state = state(overlay.base(), old, self);
            move_origins(&state, overlay.changes(), &conversion.moved, batch)?;
        }
        put_changes(overlay, batch)?;
        delete_indexes(self, batch);
        put_whole_stamp(self, next, batch);
        log.finish(batch)
    }
}

impl PreparedUpgrade {
    /// Adds errors of a datastore.
    pub(in crate::tree) fn add_errors(
        &mut self,
        datastore: Datastore,
        session: &str,
        errors: Errors,
    ) {
        if datastore == Datastore::Running {
            return self.errors.append(errors);
        }
        let place = match session {
            "" => datastore.name().to_owned(),
            session => format!("{} of {session}", datastore.name()),
        };
        self.errors.append(errors.map(|error| DataError {
            message: format!("in {place}: {}", error.message),
            ..error
        }));
    }
}

/// A pending confirmed commit may have to be rolled back with the modules it was made with.
fn refuse_pending(running: &Tree, snapshot: &dyn Snapshot) -> Result<()> {
    if running.lock_record(snapshot)?.locks.pending.is_none() {
        return Ok(());
    }
    let message =
        "a confirmed commit is pending; confirm it or cancel it before the modules change";
    Err(Error::data(ErrorTag::InUse, message))
}

fn conversion_to_empty(tree: &Tree) -> Conversion {
    let mut conversion = Conversion::default();
    for range in logged_ranges(tree.id()) {
        conversion.changes.delete_range(&range);
    }
    conversion
}

/// Whether an overlay changes any data.
pub(super) fn has_changes(overlay: &Overlay, tree: &Tree) -> Result<bool> {
    let mut is_any = false;
    each_change(overlay, &logged_ranges(tree.id()), &mut |_| {
        is_any = true;
        Ok(())
    })?;
    Ok(is_any)
}

/// Gives everything in a datastore one stamp after its modules changed.
pub(in crate::tree) fn stamp_all(overlay: &mut Overlay, tree: &Tree, stamp: Stamp) {
    let stamps = tree.id().prefix(Subspace::Stamp);
    overlay.delete_range(&KeyRange::prefix(&stamps));
    let record = StampRecord {
        any: stamp,
        whole: stamp,
    };
    let root = stamp_key(&tree.id().prefix(Subspace::Tree));
    overlay.put(root, record.encode());
}

/// The state of a tree, read-only.
pub(in crate::tree) fn state<'s>(
    snapshot: &'s dyn Snapshot,
    compiled: &'s Compiled,
    tree: &Tree,
) -> TreeState<'s> {
    TreeState::new(snapshot, compiled, tree.id())
}
