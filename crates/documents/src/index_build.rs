//! Index builds and document migrations: they run in steps, while other writers continue.

use std::ops::ControlFlow;

use espalier_keyspace::{Direction, KeyRange};

use crate::bound_definition::BoundIndex;
use crate::collection::{Opened, load};
use crate::definition::{Definition, Info, StoredIndex};
use crate::document::{Document, encode, row};
use crate::error::UniqueConflict;
use crate::layout::{State, number};
use crate::limits::STEP_DOCUMENTS;
use crate::reconcile::MIGRATION;
use crate::row_reader::Reader;
use crate::transaction::Transaction;
use crate::{Collection, Error, ErrorKind, Result};

/// Whether more steps are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepResult {
    More,
    Done,
}

impl<T: Document> Collection<T> {
    /// Builds the indexes that are not built, and migrates older documents to the schema version of this
    /// program. It runs in steps of at most [`STEP_DOCUMENTS`] documents, each an atomic commit, so that
    /// others may write in the meantime (not while documents are migrated), and an interrupted build resumes
    /// where it stopped. Indexes that are no longer declared are dropped when everything is built.
    ///
    /// If the documents violate an index (two have the same value of a unique one, or a value cannot be
    /// indexed), the error names them; all unfinished indexes are abandoned, and the other indexes are
    /// unchanged.
    pub fn build(&self) -> Result<()> {
        let mut most = STEP_DOCUMENTS;
        loop {
            let (mut violated, mut tries) = (None, 0);
            let result = self.core().run_alone(&mut |transaction| {
                // A smaller step gets through even if others write all the time.
                most = if tries < 2 { most } else { (most / 2).max(1) };
                tries += 1;
                violated = None;
                step(self, transaction, most, &mut violated)
            });
            most = (2 * most).min(STEP_DOCUMENTS);
            match (result, violated) {
                (Ok(StepResult::More), _) => {}
                (Ok(StepResult::Done), _) => return self.reopen().map(drop),
                (Err(error), None) => return Err(error),
                (Err(error), Some(index)) => {
                    self.abandon(index)?;
                    self.reopen().ok();
                    return Err(error.and(format_args!(
                        "the indexes of {:?} are unchanged: change the document, or the declaration of the index",
                        self.name()
                    )));
                }
            }
        }
    }

    /// The collection, and for each unfinished index the key up to which documents are indexed.
    pub fn progress(&self) -> Result<(Info, Vec<(String, u64)>)> {
        let definition = load(self.core(), self.name())?;
        let keys = &self.opened().shape.keys;
        let snapshot = self.core().snapshot(keys.storage)?;
        let unbuilt = definition.indexes.iter().filter(|index| !index.is_built);
        let progress = unbuilt.map(|index| {
            let from = snapshot.get(&keys.build(index.id))?;
            let from = from.map_or(Ok(0), |from| number(&from))?;
            Ok((index.name.clone(), from))
        });
        let progress = progress.collect::<Result<_>>()?;
        Ok((definition.info(), progress))
    }

    /// Removes from the definition what cannot be built: during a migration, which cannot be undone, only the
    /// index that the documents violate, otherwise all unfinished indexes.
    fn abandon(&self, violated: u64) -> Result<()> {
        self.core().run_alone(&mut |transaction| {
            let opened = self.opened();
            let mut stored = StoredDefinition::read(transaction, &opened)?;
            let definition = &mut stored.definition;
            let is_migrating = definition.migrating_to.is_some();
            let is_dropped =
                |index: &StoredIndex| !index.is_built && (index.id == violated || !is_migrating);
            if !definition.indexes.iter().any(is_dropped) {
                return Ok(());
            }
            for index in &mut definition.indexes {
                index.is_leaving = false;
            }
            drop_indexes(transaction, &opened, definition, is_dropped);
            stored.write(transaction, &opened)
        })
    }
}

/// Removes indexes from a definition, with their rows.
fn drop_indexes<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    definition: &mut Definition,
    is_dropped: impl Fn(&StoredIndex) -> bool,
) {
    let keys = &opened.shape.keys;
    for index in definition.indexes.extract_if(.., |index| is_dropped(index)) {
        let range = KeyRange::prefix(&keys.index(index.id));
        transaction.rows.drop_range(range);
        transaction.rows.delete(keys.build(index.id));
    }
}

/// The definition, read in a transaction.
struct StoredDefinition {
    row: Vec<u8>,
    definition: Definition,
}

impl StoredDefinition {
    fn read<T: Document>(transaction: &mut Transaction<'_>, opened: &Opened<T>) -> Result<Self> {
        let shape = &opened.shape;
        let row = transaction
            .core()
            .layout
            .definition(shape.keys.storage, &shape.name);
        let Some(stored) = transaction.rows.read(&row)? else {
            let message = format!("there is no collection {:?}", shape.name);
            return Err(Error::new(ErrorKind::Missing, message));
        };
        let definition = Definition::decode(stored)?;
        Ok(Self { row, definition })
    }

    /// Writes it with a new generation.
    fn write<T: Document>(
        mut self,
        transaction: &mut Transaction<'_>,
        opened: &Opened<T>,
    ) -> Result<()> {
        self.definition.renew()?;
        let generation = self.definition.generation;
        let keys = &opened.shape.keys;
        let state = transaction.rows.read(&keys.state())?;
        let state = state.ok_or_else(|| Error::corrupt("a collection has no state"))?;
        let state = State {
            generation,
            ..State::decode(state)?
        };
        let rows = &mut transaction.rows;
        rows.put(keys.state(), state.encode());
        rows.put(keys.generation(), generation.to_le_bytes().to_vec());
        rows.put(self.row, self.definition.encode()?);
        Ok(())
    }
}

/// Indexes that are built together, because they have the same progress.
struct BuildGroup {
    ids: Vec<u64>,
    from: u64,
}

/// Processes one step of documents. If the documents violate an index, `violated` is its number.
fn step<T: Document>(
    collection: &Collection<T>,
    transaction: &mut Transaction<'_>,
    most: usize,
    violated: &mut Option<u64>,
) -> Result<StepResult> {
    let opened = collection.opened();
    let mut stored = StoredDefinition::read(transaction, &opened)?;
    if stored.definition.generation != opened.shape.generation {
        collection.reopen()?;
        return Ok(StepResult::More);
    }
    let Some(group) = group(transaction, &opened, &stored.definition)? else {
        return finish(collection, transaction, &opened, stored);
    };
    let documents = next_documents(transaction, &opened, group.from, most)?;
    let mut last = None;
    for (key, row) in &documents {
        // Requires that the document is unchanged at the commit.
        transaction.rows.read(&opened.shape.keys.document(*key))?;
        let target = stored.definition.migrating_to;
        let document = migrated_document(collection, transaction, &opened, target, (*key, row));
        if target.is_none() && document.as_ref().is_err_and(Error::is_unreadable) {
            *violated = group.ids.first().copied();
        }
        insert_entries(transaction, &opened, &group, (*key, &document?), violated)?;
        last = Some(*key);
    }
    if let (Some(last), true) = (last, documents.len() == most) {
        for id in &group.ids {
            let progress = (last + 1).to_le_bytes().to_vec();
            transaction.rows.put(opened.shape.keys.build(*id), progress);
        }
        return Ok(StepResult::More);
    }
    // A document inserted after the last one requires the state row, which this commit changes.
    for id in &group.ids {
        transaction.rows.delete(opened.shape.keys.build(*id));
    }
    for index in &mut stored.definition.indexes {
        index.is_built |= group.ids.contains(&index.id);
    }
    if group.ids.contains(&MIGRATION)
        && let Some(version) = stored.definition.migrating_to.take()
    {
        stored.definition.schema_version = version;
    }
    stored.write(transaction, &opened)?;
    Ok(StepResult::More)
}

fn group<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    definition: &Definition,
) -> Result<Option<BuildGroup>> {
    let unbuilt = definition.indexes.iter().filter(|index| !index.is_built);
    let migration = definition.migrating_to.map(|_| MIGRATION);
    let mut found: Option<BuildGroup> = None;
    for id in migration.into_iter().chain(unbuilt.map(|index| index.id)) {
        let progress = transaction.rows.read(&opened.shape.keys.build(id))?;
        let from = progress.map_or(Ok(0), number)?;
        match &mut found {
            Some(group) if from == group.from => group.ids.push(id),
            Some(group) if from > group.from => {}
            _ => {
                found = Some(BuildGroup {
                    ids: vec![id],
                    from,
                });
            }
        }
    }
    Ok(found)
}

fn next_documents<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    from: u64,
    most: usize,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let keys = &opened.shape.keys;
    let mut documents = Vec::new();
    let range = keys.documents(from, None);
    transaction
        .rows
        .scan(&range, Direction::Forward, &mut |place, stored_row| {
            if let Some(key) = keys.document_key(place) {
                documents.push((key, stored_row.to_vec()));
            }
            Ok(if documents.len() == most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
    Ok(documents)
}

/// The document of a row; during a migration it is migrated and stored first.
fn migrated_document<T: Document>(
    collection: &Collection<T>,
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    target: Option<u32>,
    (key, stored_row): (u64, &[u8]),
) -> Result<T> {
    let shape = &opened.shape;
    let Some(version) = target else {
        return shape.decode(key, stored_row);
    };
    let document = migrated(collection, key, stored_row, version)?;
    let new = encode(&document, version)?;
    if new != stored_row {
        transaction.rows.put(shape.keys.document(key), new);
        transaction.count_commit(shape);
    }
    Ok(document)
}

/// Inserts the entries of one document into the indexes of a group.
fn insert_entries<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    group: &BuildGroup,
    (key, document): (u64, &T),
    violated: &mut Option<u64>,
) -> Result<()> {
    for index in &opened.shape.indexes {
        if !group.ids.contains(&index.id) {
            continue;
        }
        if let Err(error) = insert_entries_of_index(transaction, index, key, document) {
            use ErrorKind::{Document, Limit, Unique};
            if matches!(error.kind(), Document | Limit | Unique) {
                *violated = Some(index.id);
                return Err(error.at(format_args!("document {key}")));
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Inserts the entries of one document into an index. An entry that a unique index already has belongs to a
/// document that still has the value: a writer that changes a document removes exactly the entries that name
/// it.
fn insert_entries_of_index<T: Document>(
    transaction: &mut Transaction<'_>,
    index: &BoundIndex<T>,
    key: u64,
    document: &T,
) -> Result<()> {
    for value in &index.values(document)? {
        if let Some(holder) = transaction.other_holder(index, value, key)? {
            return Err(Error::unique(UniqueConflict {
                index: index.name.clone(),
                value: value.to_string(),
                key: holder,
                other: key,
            }));
        }
        transaction.insert_entry(index, value, key);
    }
    Ok(())
}

/// The last step: drops indexes that are no longer declared, and sets the policy.
fn finish<T: Document>(
    collection: &Collection<T>,
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    mut stored: StoredDefinition,
) -> Result<StepResult> {
    let before = stored.definition.clone();
    let is_leaving = |index: &StoredIndex| index.is_leaving;
    drop_indexes(transaction, opened, &mut stored.definition, is_leaving);
    if let Some(policy) = collection.declared_policy() {
        stored.definition.policy = policy.to_string();
    }
    if stored.definition == before {
        return Ok(StepResult::Done);
    }
    stored.write(transaction, opened)?;
    Ok(StepResult::More)
}

/// Migrates a document to a schema version.
fn migrated<T: Document>(
    collection: &Collection<T>,
    key: u64,
    stored_row: &[u8],
    version: u32,
) -> Result<T> {
    let fail = |reason: String| {
        let message = format!("document {key} of {:?}: {reason}", collection.name());
        Error::new(ErrorKind::Document, message)
    };
    let row = row(stored_row)?;
    let mut json: serde_json::Value =
        serde_json::from_slice(row.json).map_err(|error| fail(error.to_string()))?;
    let migrate = collection.declaration().migrate.as_ref();
    for from in row.schema_version..version {
        let migrate =
            migrate.ok_or_else(|| fail("no migration to this version is declared".to_owned()))?;
        json = migrate(from, json).map_err(&fail)?;
    }
    serde_json::from_value(json).map_err(|error| fail(error.to_string()))
}
