//! Upgrades of schema sets: the modules are replaced, and the data is converted and validated.

use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_keyspace::{Batch, ConflictRetry, Direction, KeyRange, Snapshot, retry_conflicts};
use espalier_yang::error::ERRORS_MAX;
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, Errors, Schema};
use parking_lot::MutexGuard;

use super::anchor::set_structure_only;
use super::anchor_row::AnchorRow;
use super::dataspace::dataspace_id;
use super::keys;
use super::schema_set_row::{Record, hash_of, modules_precondition, put_record, record};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::node_dictionary;
use crate::store::Store;
use crate::tree::{
    AnchorUpgrade, DatastoreUpgrade, Fills, NodeMapping, UpgradeLoad, UpgradeOptions,
    UpgradeReport, past_schema_records,
};

/// Anchors are read this many at a time.
const ANCHORS_AT_ONCE: usize = 1000;

/// How many modules the comment of an upgrade names.
const MODULES_IN_COMMENT_MAX: usize = 8;

/// The batch of an upgrade, and its results.
#[derive(Default)]
struct Upgrade {
    batch: Batch,
    datastores: Vec<DatastoreUpgrade>,
    /// The schema set after the upgrade.
    compiled: Option<Compiled>,
}

impl Store {
    /// Replaces the modules of an existing schema set. All data stored under the set (running, startup,
    /// factory-default, pushed operational state, and candidates) is read with the old modules and must be
    /// valid under the new ones. Data that fits in another form is converted in the same commit, as a version
    /// in the history. Trees that are open keep the old modules, and their commits are rejected. Older
    /// versions are read with the modules that they were created under.
    ///
    /// # Errors
    /// [`Error::Schema`], [`Error::Unknown`]; [`Error::Upgrade`] with everything that does not fit. On error
    /// nothing is changed.
    pub fn upgrade_schema_set(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
        options: UpgradeOptions<'_>,
    ) -> Result<UpgradeReport> {
        let schema = Arc::new(Schema::compile(source)?);
        retry_conflicts(ConflictRetry::new(), |conflicts| {
            // Without this, frequent commits would let an upgrade of much data never succeed. The first attempt does
            // without, so that they wait only if there are such commits.
            let _no_commits = (conflicts > 0).then(|| self.pause_commits()).transpose()?;
            self.upgrade_once((dataspace, name), (source, &schema), options, None)
        })
    }

    /// Like [`Self::upgrade_schema_set`], with a document that is loaded in the same commit: the data must be
    /// valid together with it.
    ///
    /// # Errors
    /// Those of [`Self::upgrade_schema_set`] and of the document; a retryable [`Error::Engine`] if the data
    /// was changed by another process in the meantime, because the document can be read only once.
    pub fn upgrade_schema_set_with(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
        options: UpgradeOptions<'_>,
        load: &mut UpgradeLoad<'_, '_>,
    ) -> Result<UpgradeReport> {
        let schema = Arc::new(Schema::compile(source)?);
        // The document can be read once, so there is one attempt.
        let _no_commits = self.pause_commits()?;
        self.upgrade_once((dataspace, name), (source, &schema), options, Some(load))
    }

    /// A dry run of [`Self::upgrade_schema_set`], or of [`Self::upgrade_schema_set_with`] if there is a
    /// document. Nothing is changed.
    ///
    /// # Errors
    /// Those of the method that is tried.
    pub fn check_upgrade(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
        options: UpgradeOptions<'_>,
        load: Option<&mut UpgradeLoad<'_, '_>>,
    ) -> Result<UpgradeReport> {
        let schema = Arc::new(Schema::compile(source)?);
        let (set, modules) = ((dataspace, name), (source, &schema));
        let snapshot = self.driver().snapshot()?;
        let upgrade = self.upgrade(&*snapshot, set, modules, options, load)?;
        Ok(upgrade.report())
    }

    /// Lets the commits of this process wait until the result is dropped.
    fn pause_commits(&self) -> Result<Vec<MutexGuard<'_, ()>>> {
        if self.subscriptions().is_in_any_call() {
            let message = "a subscriber cannot change the modules while it is called";
            return Err(Error::data(ErrorTag::InUse, message));
        }
        Ok(self.lock_all())
    }

    fn upgrade_once(
        &self,
        set: (&str, &str),
        modules: (&SchemaSource, &Arc<Schema>),
        options: UpgradeOptions<'_>,
        load: Option<&mut UpgradeLoad<'_, '_>>,
    ) -> Result<UpgradeReport> {
        let _one_at_a_time = self.lock_catalog();
        self.driver().catch_up()?;
        let snapshot = self.driver().snapshot()?;
        let mut upgrade = self.upgrade(&*snapshot, set, modules, options, load)?;
        Self::increment_change_counter(&*snapshot, &mut upgrade.batch)?;
        drop(snapshot);
        let batch = std::mem::take(&mut upgrade.batch);
        self.driver().commit(batch)?;
        if let Some(compiled) = upgrade.compiled.take() {
            self.adopt_compiled(compiled);
        }
        Ok(upgrade.report())
    }

    fn upgrade(
        &self,
        snapshot: &dyn Snapshot,
        (dataspace, name): (&str, &str),
        (source, schema): (&SchemaSource, &Arc<Schema>),
        options: UpgradeOptions<'_>,
        mut load: Option<&mut UpgradeLoad<'_, '_>>,
    ) -> Result<Upgrade> {
        check_removed(schema, options.removed)?;
        let id = dataspace_id(snapshot, dataspace)?;
        let replaced = record(snapshot, id, name)?;
        if options.based_on.is_some_and(|base| !replaced.is_of(base)) {
            return Err(Error::Precondition);
        }
        let old = self.compiled(snapshot, replaced.clone())?;
        let (layout, new_numbers) = node_dictionary::number(schema, snapshot)?;
        let unchanged = modules_precondition(snapshot, &replaced)?;
        let new = Compiled::new((replaced.clone(), unchanged), Arc::clone(schema), layout);
        let new = Arc::new(new);
        let nodes = NodeMapping::between(&old, &new);
        let fills = Fills::new(schema, options.fills)?;
        let is_same_source = replaced.is_of(source);
        let comment = changed_modules(&old.schema, &new.schema);
        let options = UpgradeOptions {
            comment: match options.comment {
                "" => &comment,
                given => given,
            },
            ..options
        };
        let mut upgrade = Upgrade::default();
        upgrade.batch.append(new_numbers);
        let mut errors_found = UpgradeErrors::default();
        self.for_each_anchor_of(dataspace, name, &mut |mut row| {
            if options.structure_only_anchor == Some(&*row.name) {
                set_structure_only(&mut row, name, &mut upgrade.batch);
            }
            let anchor = AnchorUpgrade {
                store: self,
                row: &row,
                old: &old,
                new: &new,
                replaced: &replaced,
                nodes: &nodes,
                fills: &fills,
                is_same_source,
                options,
            };
            let load = load.as_deref_mut().filter(|load| load.anchor == row.name);
            let prepared = anchor.prepare(load)?;
            errors_found.add(&row.name, prepared.errors);
            if errors_found.anchors.is_empty() {
                upgrade.batch.append(prepared.batch);
                upgrade.datastores.extend(prepared.datastores);
            }
            Ok(())
        })?;
        errors_found.into_result()?;
        let key = keys::schema_set(id, name);
        let modules = (source, &new.layout);
        let set = put_record(snapshot, &key, replaced.id, modules, &mut upgrade.batch)?;
        // Fails if something still refers to it; then the next process compiles the set.
        upgrade.compiled = Arc::into_inner(new).map(|new| new.with_record(set));
        delete_unused_texts(snapshot, &key, &replaced, source, &mut upgrade.batch)?;
        Ok(upgrade)
    }

    /// Visits the anchors that are bound to a schema set.
    fn for_each_anchor_of(
        &self,
        dataspace: &str,
        set: &str,
        visit: &mut dyn FnMut(AnchorRow) -> Result<()>,
    ) -> Result<()> {
        let mut after: Option<String> = None;
        loop {
            let anchors = self.anchors(dataspace, after.as_deref(), ANCHORS_AT_ONCE)?;
            let Some(last) = anchors.last() else {
                return Ok(());
            };
            after = Some(last.name.clone());
            for anchor in anchors.iter().filter(|anchor| anchor.schema_set == set) {
                let snapshot = self.driver().snapshot()?;
                let (bound, _) = Self::bound_anchor(&*snapshot, dataspace, &anchor.name)?;
                visit(bound.row())?;
            }
        }
    }
}

/// Rejects a schema that implements a module which is to be removed.
fn check_removed(schema: &Schema, removed: &[String]) -> Result<()> {
    let is_implemented = |name: &&String| {
        let module = schema.module_by_name(name);
        module.is_some_and(|id| schema.module(id).is_implemented)
    };
    match removed.iter().find(is_implemented) {
        None => Ok(()),
        Some(name) => {
            let message = format!("other modules augment, deviate or refer to “{name}”");
            Err(Error::data(ErrorTag::InUse, message))
        }
    }
}

/// The errors of all anchors.
#[derive(Default)]
struct UpgradeErrors {
    visited: usize,
    anchors: Vec<String>,
    errors: Vec<(String, Errors)>,
}

impl UpgradeErrors {
    fn add(&mut self, anchor: &str, errors: Errors) {
        self.visited += 1;
        if errors.is_empty() {
            return;
        }
        self.anchors.push(anchor.to_owned());
        // The first anchors fill the list of errors; those of later anchors are counted only.
        let is_full = self.errors.len() >= ERRORS_MAX;
        match self.errors.last_mut().filter(|_| is_full) {
            Some((_, kept)) => kept.append(errors),
            None => self.errors.push((anchor.to_owned(), errors)),
        }
    }

    fn into_result(self) -> Result<()> {
        if self.anchors.is_empty() {
            return Ok(());
        }
        let is_only = self.visited == 1;
        let mut all = Errors::new();
        for (anchor, errors) in self.errors {
            all.append(errors.map(|error| match is_only {
                true => error,
                false => DataError {
                    message: format!("in the anchor “{anchor}”: {}", error.message),
                    ..error
                },
            }));
        }
        Err(Error::Upgrade {
            anchors: self.anchors,
            errors: all,
        })
    }
}

impl Upgrade {
    fn report(self) -> UpgradeReport {
        UpgradeReport {
            datastores: self.datastores,
        }
    }
}

/// The default comment in the history: the modules that are new (`+`) or removed (`-`).
fn changed_modules(old: &Schema, new: &Schema) -> String {
    let [before, now] = [old, new].map(named_modules);
    let added = now.difference(&before).map(|module| format!(" +{module}"));
    let removed = before.difference(&now).map(|module| format!(" -{module}"));
    let changes: Vec<String> = added.chain(removed).collect();
    let mut comment = "other modules:".to_owned();
    comment.extend(changes.iter().take(MODULES_IN_COMMENT_MAX).map(|s| &**s));
    match changes.len().saturating_sub(MODULES_IN_COMMENT_MAX) {
        0 if changes.is_empty() => "other modules of the same revisions".to_owned(),
        0 => comment,
        more => format!("{comment} and {more} more"),
    }
}

/// The implemented modules, as `name@revision`.
fn named_modules(schema: &Schema) -> BTreeSet<String> {
    let modules = schema.modules().iter();
    let implemented = modules.filter(|module| module.is_implemented);
    let named = implemented.map(|module| match &module.revision {
        Some(revision) => format!("{}@{revision}", module.name),
        None => module.name.to_string(),
    });
    named.collect()
}

/// Deletes the texts of modules that no schema set and no older version needs any more.
fn delete_unused_texts(
    snapshot: &dyn Snapshot,
    set: &[u8],
    replaced: &Record,
    source: &SchemaSource,
    batch: &mut Batch,
) -> Result<()> {
    let mut needed = hashes_in_use(snapshot, set)?;
    needed.extend(source.all_modules().map(hash_of));
    let is_kept = |record: &Record| {
        let models = crate::subspace::Subspace::Models as u8;
        let encoded = record.encode().unwrap_or_default();
        batch.operations().any(|operation| match operation {
            espalier_keyspace::OperationRef::Put(key, value) => {
                key.first() == Some(&models) && value == encoded
            }
            _ => false,
        })
    };
    if is_kept(replaced) {
        return Ok(());
    }
    for hash in replaced.hashes().filter(|hash| !needed.contains(*hash)) {
        batch.delete(keys::module(hash.as_bytes()));
    }
    Ok(())
}

/// The hashes of the module texts that other schema sets, or older versions of any datastore, need.
pub(super) fn hashes_in_use(snapshot: &dyn Snapshot, except: &[u8]) -> Result<BTreeSet<String>> {
    let range = KeyRange::strictly_below(&keys::all_schema_sets());
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    let mut hashes = BTreeSet::new();
    while let Some((key, value)) = cursor.next()? {
        if key != except {
            hashes.extend(Record::decode(value)?.hashes().map(str::to_owned));
        }
    }
    past_schema_records(snapshot, &mut |record| {
        hashes.extend(record.hashes().map(str::to_owned));
    })?;
    Ok(hashes)
}
