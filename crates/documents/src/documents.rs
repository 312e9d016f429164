//! The collections of a key space.

use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::{Direction, Driver};
use serde_json::Value as Json;

use crate::collection::Collection;
use crate::core::Core;
use crate::declaration::Declaration;
use crate::definition::{Definition, FieldIndex, Info};
use crate::layout::Home;
use crate::reader::{Reader, View};
use crate::transaction::Transaction;
use crate::{Error, ErrorKind, Finding, Policy, Result};

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

    /// What is stored about each collection, by name. One whose definition cannot be read is told by
    /// [`Self::damaged`], and does not hide the others.
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

    /// The stored collections with indexes over members that are not built, because they are being built
    /// or because that was cut off: anybody may go on with it ([`Collection::build`]). Those that only the
    /// program can go on with that declares an index by a function, or brings documents to another
    /// version, are not among them.
    pub fn unbuilt(&self) -> Result<Vec<String>> {
        let definitions = self.definitions()?.into_iter();
        let readable = definitions.filter_map(|(_, definition)| definition.ok());
        let unbuilt = readable.filter(Definition::is_for_anybody_to_build);
        Ok(unbuilt.map(|definition| definition.name).collect())
    }

    /// The definitions with their names.
    fn definitions(&self) -> Result<Vec<(String, Result<Definition>)>> {
        self.core.driver.catch_up()?;
        let layout = &self.core.layout;
        let mut found = Vec::new();
        for home in [Home::Engine, Home::Ram] {
            let snapshot = self.core.snapshot(home)?;
            let range = layout.definitions(home);
            View(&*snapshot).scan(&range, Direction::Forward, &mut |row, stored| {
                let name = layout.defined_name(row);
                found.push((name, Definition::decode(stored)));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(found)
    }

    /// Opens a collection of any documents with the indexes and the policy that are stored, or
    /// another policy. Where a program declares indexes by functions, it can only be read.
    pub fn open(&self, name: &str, policy: Option<Policy>) -> Result<Collection<Json>> {
        Collection::stored(self, name, policy)
    }

    /// Makes a collection with these indexes over members, or gives an existing one these: new ones
    /// are built, the others are dropped. The policy is the one that servers use.
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
            for home in [Home::Engine, Home::Ram] {
                let row = layout.definition(home, name);
                let Some(stored) = transaction.rows.read(&row)? else {
                    continue;
                };
                let keys = layout.collection(home, Definition::decode(stored)?.id);
                // Whoever writes requires its generation, so nobody adds anything meanwhile.
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

    /// Does what `body` says in one atomic commit, over any of the collections. Where another
    /// process changed what it read, it is called again, for as long as
    /// [`espalier_keyspace::CONFLICT_PATIENCE`]; so it should have no effects beside the transaction.
    /// When it returns an error, nothing is changed.
    ///
    /// Transactions of one process are made one after another, and those that come at the same time
    /// share a commit: one that came before may wait for `body`, which therefore should not wait for
    /// other threads. Within it, use the transaction, not the collections.
    pub fn transaction<R>(
        &self,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        self.core.run(&mut body)
    }

    /// Makes everything committed so far durable, also where commits are relaxed.
    pub fn flush(&self) -> Result<()> {
        Ok(self.core.driver.flush()?)
    }
}
