//! The entry point: the collections of a key space.

use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::{Direction, Driver};
use serde_json::Value as Json;

use crate::collection::Collection;
use crate::declaration::Declaration;
use crate::definition::{Definition, FieldIndex, Info};
use crate::layout::Storage;
use crate::row_reader::{Reader, View};
use crate::shared_state::Core;
use crate::transaction::Transaction;
use crate::{Error, ErrorKind, Finding, JsonDocument, Policy, Result};

/// Collections below a prefix of a key space. Cheap to clone; may be shared between threads.
///
/// Any number of processes may open one key space at once.
#[derive(Clone)]
pub struct Documents {
    core: Arc<Core>,
}

impl Documents {
    /// The collections below `prefix`. Writes nothing.
    pub fn new(driver: Arc<dyn Driver>, prefix: &[u8]) -> Self {
        Self {
            core: Arc::new(Core::new(driver, prefix)),
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The stored definitions of all collections, by name. Those that cannot be read are left out;
    /// [`Self::damaged`] returns them.
    pub fn list(&self) -> Result<Vec<Info>> {
        let definitions = self.definitions()?.into_iter();
        let readable = definitions.filter_map(|(_, definition)| definition.ok());
        let mut found: Vec<_> = readable.map(|definition| definition.info()).collect();
        found.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(found)
    }

    /// The collections whose definitions cannot be read.
    pub fn damaged(&self) -> Result<Vec<Finding>> {
        let definitions = self.definitions()?.into_iter();
        let damaged = definitions.filter_map(|(name, definition)| {
            Some(Finding {
                place: name,
                problem: definition.err()?.to_string(),
            })
        });
        Ok(damaged.collect())
    }

    /// The stored collections with unbuilt indexes over members: they are being built, or the build was
    /// interrupted and any program can resume it ([`Collection::build`]). Collections are not included if
    /// only the program that declares an index by a function, or that migrates the documents, can continue.
    pub fn unbuilt(&self) -> Result<Vec<String>> {
        let definitions = self.definitions()?.into_iter();
        let readable = definitions.filter_map(|(_, definition)| definition.ok());
        let unbuilt = readable.filter(Definition::can_be_built_by_any_program);
        Ok(unbuilt.map(|definition| definition.name).collect())
    }

    /// All definitions with their names.
    fn definitions(&self) -> Result<Vec<(String, Result<Definition>)>> {
        self.core.driver.catch_up()?;
        let layout = &self.core.layout;
        let mut found = Vec::new();
        for storage in [Storage::Engine, Storage::Ram] {
            let snapshot = self.core.snapshot(storage)?;
            let range = layout.definitions(storage);
            View(&*snapshot).scan(&range, Direction::Forward, &mut |row, stored| {
                let name = layout.defined_name(row);
                found.push((name, Definition::decode(stored)));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(found)
    }

    /// Opens a collection of JSON documents with the stored indexes, and with the stored policy or another
    /// one. If a program declares indexes by functions, it is read-only.
    pub fn open(&self, name: &str, policy: Option<Policy>) -> Result<Collection<Json>> {
        Collection::stored(self, name, policy)
    }

    /// Like [`Self::open`], with documents as text: for what serves them, and for caches, which need less memory.
    pub fn open_text(
        &self,
        name: &str,
        policy: Option<Policy>,
    ) -> Result<Collection<JsonDocument>> {
        Collection::stored(self, name, policy)
    }

    /// Creates a collection with these indexes over members, or changes the indexes of an existing one: new
    /// ones are built, the others are dropped. The policy is the one that servers use.
    pub fn configure(
        &self,
        name: &str,
        policy: Policy,
        indexes: Vec<FieldIndex>,
    ) -> Result<Collection<Json>> {
        let mut declaration = Declaration::<Json>::new(name).policy(policy);
        if let Some(stored) = self.list()?.into_iter().find(|info| info.name == name) {
            declaration.schema_version = stored.schema_version;
            if let Some(index) = stored.indexes.iter().find(|index| index.fields.is_none()) {
                return Err(Error::definition(format!(
                    "index {:?} of {name:?} is declared by a program; only that program can change the indexes",
                    index.name
                )));
            }
        }
        let declaration = indexes.into_iter().fold(declaration, Declaration::fields);
        declaration.open(self)?;
        self.open(name, Some(policy))
    }

    /// Removes a collection with all its documents.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.core.run_alone(&mut |transaction| {
            let layout = &transaction.core().layout;
            for storage in [Storage::Engine, Storage::Ram] {
                let row = layout.definition(storage, name);
                let Some(stored) = transaction.rows.read(&row)? else {
                    continue;
                };
                let keys = layout.collection(storage, Definition::decode(stored)?.id);
                // Every writer requires the generation, so no documents are added in the meantime.
                keys.everything()
                    .into_iter()
                    .for_each(|range| transaction.rows.drop_range(range));
                transaction.rows.delete(row);
                return Ok(());
            }
            let message = format!("there is no collection {name:?}");
            Err(Error::new(ErrorKind::Missing, message))
        })
    }

    /// Runs `body` in one atomic commit over any of the collections. If another process changed what it read,
    /// it is run again, for at most [`espalier_keyspace::CONFLICT_TIMEOUT`]; so it should have no effects
    /// except on the transaction. If it returns an error, nothing is changed.
    ///
    /// Transactions of one process are serialized, and concurrent ones share a commit: an earlier transaction
    /// may wait for `body`, which therefore should not wait for other threads. Within it, use the
    /// transaction, not the collections.
    pub fn transaction<R>(
        &self,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        self.core.run(&mut body)
    }

    /// Makes all previous commits durable, also if commits are relaxed.
    pub fn flush(&self) -> Result<()> {
        Ok(self.core.driver.flush()?)
    }
}
