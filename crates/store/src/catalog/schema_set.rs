//! Schema sets: named sets of YANG modules.

use std::sync::Arc;

use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;

use super::dataspace::dataspace_id;
use super::schema_set_row::{KIND, put_record, record};
use super::upgrade::hashes_in_use;
use super::{keys, name};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::node_dictionary;
use crate::store::Store;
use crate::stored_schema;

/// A schema set, as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaSetInfo {
    /// Its name.
    pub name: String,
    /// What it is compiled from.
    pub source: SchemaSource,
}

impl Store {
    /// Compiles the modules and stores them under a name.
    ///
    /// # Errors
    /// [`Error::Schema`] with every error of the modules, [`Error::Exists`], [`Error::BadName`].
    pub fn create_schema_set(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
    ) -> Result<()> {
        name::check(KIND, name)?;
        let schema = Arc::new(Schema::compile(source)?);
        let compiled = self.change_catalog(|snapshot, batch| {
            let key = keys::schema_set(dataspace_id(snapshot, dataspace)?, name);
            if snapshot.get(&key)?.is_some() {
                return Err(Error::Exists {
                    kind: KIND,
                    name: name.to_owned(),
                });
            }
            let id = Self::allocate_id(snapshot, batch)?;
            let (layout, new_numbers) = node_dictionary::number(&schema, snapshot)?;
            batch.append(new_numbers);
            let set = put_record(snapshot, &key, id, (source, &layout), batch)?;
            Ok(Compiled::new(set, Arc::clone(&schema), layout))
        })?;
        self.adopt_compiled(compiled);
        Ok(())
    }

    /// A schema set with the texts of its modules.
    pub fn schema_set(&self, dataspace: &str, name: &str) -> Result<SchemaSetInfo> {
        let snapshot = self.driver().snapshot()?;
        let record = record(&*snapshot, dataspace_id(&*snapshot, dataspace)?, name)?;
        Ok(SchemaSetInfo {
            name: name.to_owned(),
            source: record.source(&*snapshot)?,
        })
    }

    /// The names of the schema sets of a dataspace, sorted.
    pub fn schema_sets(&self, dataspace: &str) -> Result<Vec<String>> {
        let snapshot = self.driver().snapshot()?;
        let prefix = keys::schema_sets(dataspace_id(&*snapshot, dataspace)?);
        Self::names(&*snapshot, &prefix, &[], usize::MAX)
    }

    /// Deletes a schema set that no anchor uses, and the modules that no other schema set has.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::InUse`].
    pub fn delete_schema_set(&self, dataspace: &str, name: &str) -> Result<()> {
        self.change_catalog(|snapshot, batch| {
            let dataspace = dataspace_id(snapshot, dataspace)?;
            let record = record(snapshot, dataspace, name)?;
            let uses = keys::uses(dataspace, record.id);
            if Self::first_key_with_prefix(snapshot, &uses)?.is_some() {
                return Err(Error::InUse {
                    kind: KIND,
                    name: name.to_owned(),
                    by: "an anchor".to_owned(),
                });
            }
            let key = keys::schema_set(dataspace, name);
            let elsewhere = hashes_in_use(snapshot, &key)?;
            for hash in record.hashes().filter(|hash| !elsewhere.contains(*hash)) {
                batch.delete(keys::module(hash.as_bytes()));
            }
            batch.delete(keys::upgrades(record.id));
            batch.delete_range(stored_schema::rows_of(record.id));
            batch.delete(key);
            Ok(())
        })
    }
}
