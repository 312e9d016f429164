//! Reconciles the stored definition of a collection with its declaration.

use espalier_keyspace::KeyRange;

use crate::declaration::{Declaration, Declared};
use crate::definition::{Definition, Origin, StoredIndex};
use crate::document::Document;
use crate::layout::{Keys, State, Storage, counter};
use crate::transaction::Transaction;
use crate::{Error, Policy, Result};

/// The build number of a migration; indexes have numbers from 1.
pub(crate) const MIGRATION: u64 = 0;

/// Where the collections of a policy are stored.
pub(crate) fn storage_of(policy: Policy) -> Storage {
    match policy {
        Policy::Ram => Storage::Ram,
        _ => Storage::Engine,
    }
}

/// Creates the collection, or changes its stored definition. Drops, and the change of the policy, are
/// deferred until the new indexes are built: if one cannot be built, the collection is unchanged.
pub(crate) fn reconcile<T: Document>(
    transaction: &mut Transaction<'_>,
    declaration: &Declaration<T>,
) -> Result<()> {
    let storage = storage_of(declaration.policy);
    let layout = &transaction.core().layout;
    let (row, keys) = (layout.definition(storage, &declaration.name), |id| {
        layout.collection(storage, id)
    });
    check_other_storage(transaction, declaration)?;
    let Some(stored) = transaction.rows.read(&row)? else {
        let id = next_id(transaction, storage)?;
        let definition = new_definition(id, declaration)?;
        let state = State {
            generation: definition.generation,
            next: 0,
        };
        return store(transaction, &keys(id), row, &definition, state);
    };
    let stored = Definition::decode(stored)?;
    let mut definition = stored.clone();
    let keys = keys(definition.id);
    // Putting a document under a key that was used before changes only this row of those that are read here.
    let is_empty = counter(transaction.rows.read(&keys.count())?)? == 0;
    let mut reconciliation = Reconciliation {
        transaction,
        keys: &keys,
        is_empty,
    };
    reconciliation.schema(&mut definition, declaration)?;
    reconciliation.indexes(&mut definition, declaration);
    if definition.indexes.iter().all(|index| index.is_built) {
        declaration
            .policy
            .as_str()
            .clone_into(&mut definition.policy);
    }
    if definition == stored {
        return Ok(());
    }
    definition.renew()?;
    let state = transaction.rows.read(&keys.state())?;
    let state = State::decode(state.ok_or_else(|| Error::corrupt("a collection has no state"))?)?;
    let state = State {
        generation: definition.generation,
        ..state
    };
    store(transaction, &keys, row, &definition, state)
}

/// Rejects a name that is used in the other storage.
fn check_other_storage<T>(
    transaction: &mut Transaction<'_>,
    declaration: &Declaration<T>,
) -> Result<()> {
    let (other, place) = match storage_of(declaration.policy) {
        Storage::Engine => (Storage::Ram, "in the memory of this process only"),
        Storage::Ram => (Storage::Engine, "in the engine"),
    };
    let row = transaction
        .core()
        .layout
        .definition(other, &declaration.name);
    if transaction.rows.read(&row)?.is_none() {
        return Ok(());
    }
    let message = format!(
        "the collection {:?} already exists {place}",
        declaration.name
    );
    Err(Error::definition(message))
}

fn next_id(transaction: &mut Transaction<'_>, storage: Storage) -> Result<u64> {
    let row = transaction.core().layout.ids(storage);
    let id = counter(transaction.rows.read(&row)?)? + 1;
    transaction.rows.put(row, id.to_le_bytes().to_vec());
    Ok(id)
}

fn new_definition<T: Document>(id: u64, declaration: &Declaration<T>) -> Result<Definition> {
    let mut definition = Definition {
        name: declaration.name.clone(),
        id,
        generation: 0,
        schema_version: declaration.schema_version,
        migrating_to: None,
        policy: declaration.policy.to_string(),
        next_index: MIGRATION + 1,
        indexes: Vec::new(),
    };
    for index in &declaration.indexes {
        add(&mut definition, index, true);
    }
    definition.renew()?;
    Ok(definition)
}

/// Adds an index under a new number.
fn add<T: Document>(definition: &mut Definition, index: &Declared<T>, is_built: bool) -> u64 {
    let id = definition.next_index;
    definition.next_index += 1;
    definition.indexes.push(StoredIndex {
        id,
        name: index.name.clone(),
        kind: index.kind,
        origin: index.source.origin(),
        is_built,
        is_leaving: false,
    });
    id
}

fn store(
    transaction: &mut Transaction<'_>,
    keys: &Keys,
    row: Vec<u8>,
    definition: &Definition,
    state: State,
) -> Result<()> {
    let rows = &mut transaction.rows;
    rows.put(row, definition.encode()?);
    rows.put(
        keys.generation(),
        definition.generation.to_le_bytes().to_vec(),
    );
    rows.put(keys.state(), state.encode());
    Ok(())
}

struct Reconciliation<'t, 'a> {
    transaction: &'t mut Transaction<'a>,
    keys: &'t Keys,
    is_empty: bool,
}

impl Reconciliation<'_, '_> {
    /// Starts the migration of documents to a later schema version. The index values of older documents are
    /// unknown, so all indexes are rebuilt.
    fn schema<T: Document>(
        &mut self,
        definition: &mut Definition,
        declaration: &Declaration<T>,
    ) -> Result<()> {
        let declared_version = declaration.schema_version;
        let stored = definition.migrating_to.unwrap_or(definition.schema_version);
        if stored > declared_version {
            return Err(Error::definition(format!(
                "{:?} has schema version {stored}, but this program supports version {declared_version}",
                definition.name
            )));
        }
        if stored == declared_version {
            return Ok(());
        }
        if self.is_empty {
            definition.schema_version = declared_version;
            definition.migrating_to = None;
            return Ok(());
        }
        if declaration.migrate.is_none() {
            return Err(Error::definition(format!(
                "{:?} has schema version {stored}, and no migration to {declared_version} is declared",
                definition.name
            )));
        }
        definition.migrating_to = Some(declared_version);
        for index in std::mem::take(&mut definition.indexes) {
            self.drop_index(index.id);
        }
        self.start_build(MIGRATION);
        Ok(())
    }

    /// Adds new indexes, and drops those that are not declared: immediately if nothing has to be built,
    /// otherwise after the build. An index declared by a function is dropped immediately, because no program
    /// can maintain it.
    fn indexes<T: Document>(&mut self, definition: &mut Definition, declaration: &Declaration<T>) {
        let (mut kept, undeclared): (Vec<_>, Vec<_>) = std::mem::take(&mut definition.indexes)
            .into_iter()
            .partition(|stored| is_declared(stored, declaration));
        for index in &mut kept {
            index.is_leaving = false;
        }
        let is_kept = |index: &Declared<T>| kept.iter().any(|stored| stored.name == index.name);
        let new = declaration.indexes.iter();
        let new: Vec<_> = new.filter(|index| !is_kept(index)).collect();
        let is_deferred =
            !self.is_empty && (!new.is_empty() || kept.iter().any(|index| !index.is_built));
        definition.indexes = kept;
        for mut index in undeclared {
            if is_deferred && index.is_built && matches!(index.origin, Origin::Fields(_)) {
                index.is_leaving = true;
                definition.indexes.push(index);
            } else {
                self.drop_index(index.id);
            }
        }
        for index in new {
            let id = add(definition, index, self.is_empty);
            if !self.is_empty {
                self.start_build(id);
            }
        }
    }

    fn start_build(&mut self, id: u64) {
        let progress = 0_u64.to_le_bytes().to_vec();
        self.transaction.rows.put(self.keys.build(id), progress);
    }

    fn drop_index(&mut self, id: u64) {
        let rows = &mut self.transaction.rows;
        rows.drop_range(KeyRange::prefix(&self.keys.index(id)));
        rows.delete(self.keys.build(id));
    }
}

fn is_declared<T: Document>(stored: &StoredIndex, declaration: &Declaration<T>) -> bool {
    declaration.indexes.iter().any(|index| {
        index.name == stored.name
            && index.kind == stored.kind
            && index.source.origin() == stored.origin
    })
}

/// Rejects a collection that another program has changed since it was opened.
pub(crate) fn check_declared<T: Document>(
    definition: &Definition,
    declaration: &Declaration<T>,
) -> Result<()> {
    let version = definition.migrating_to.unwrap_or(definition.schema_version);
    let staying = definition.indexes.iter().filter(|index| !index.is_leaving);
    let is_same = staying.clone().count() == declaration.indexes.len()
        && staying
            .clone()
            .all(|stored| is_declared(stored, declaration))
        && version == declaration.schema_version;
    if is_same {
        return Ok(());
    }
    Err(Error::definition(format!(
        "another program changed the indexes or the schema version of {:?}; open it again",
        definition.name
    )))
}
