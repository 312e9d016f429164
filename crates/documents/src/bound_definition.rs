//! A collection as this program uses it: the stored definition joined with the declaration.

use std::ops::Bound;

use crate::definition::{Definition, Kind, Origin};
use crate::document::{self, Document};
use crate::index_values::{IndexedDocument, Source, Values};
use crate::layout::Keys;
use crate::limits::COMPONENTS_MAX;
use crate::{Error, ErrorKind, Policy, Query, Result, Value};

/// An index that is stored and declared.
pub(crate) struct BoundIndex<T> {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) source: Source<T>,
    pub(crate) is_built: bool,
    /// The prefix of its rows.
    pub(crate) prefix: Vec<u8>,
}

/// Everything needed to read and write documents of a collection.
pub(crate) struct Shape<T> {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) keys: Keys,
    pub(crate) generation: u64,
    /// Whether documents are being migrated to another schema version.
    pub(crate) is_migrating: bool,
    pub(crate) schema_version: u32,
    pub(crate) policy: Policy,
    pub(crate) indexes: Vec<BoundIndex<T>>,
}

impl<T: Document> Shape<T> {
    pub(crate) fn decode(&self, key: u64, row: &[u8]) -> Result<T> {
        document::decode(key, row, self.schema_version).map_err(|error| error.at(&self.name))
    }

    pub(crate) fn encode(&self, document: &T) -> Result<Vec<u8>> {
        document::encode(document, self.schema_version)
    }

    /// The values of a document in each index.
    pub(crate) fn values(&self, document: &T) -> Result<Vec<Values>> {
        let document = IndexedDocument::new(document);
        let indexes = self.indexes.iter();
        indexes.map(|index| index.values_of(&document)).collect()
    }

    /// Like [`Self::values`], for the cache: if a document violates an unbuilt index, it has no values there;
    /// the build reports the error.
    pub(crate) fn values_for_cache(&self, document: &T) -> Result<Vec<Values>> {
        let document = IndexedDocument::new(document);
        let indexes = self.indexes.iter();
        let values = indexes.map(|index| match index.values_of(&document) {
            Err(_) if !index.is_built => Ok(Values::new()),
            values => values,
        });
        values.collect()
    }

    /// The slot of an index that can be queried.
    pub(crate) fn slot(&self, name: &str) -> Result<usize> {
        // While an index is rebuilt, the old one with the same name is used.
        let is_named = |index: &BoundIndex<T>| index.name == name;
        let indexes = &self.indexes;
        let built = indexes
            .iter()
            .position(|index| is_named(index) && index.is_built);
        let slot = built.or_else(|| indexes.iter().position(is_named));
        let Some(slot) = slot else {
            let names: Vec<_> = self.indexes.iter().map(|index| &*index.name).collect();
            return Err(Error::new(
                ErrorKind::Missing,
                format!(
                    "{:?} has no index {name:?}; it has {}",
                    self.name,
                    if names.is_empty() {
                        "none".to_owned()
                    } else {
                        names.join(", ")
                    }
                ),
            ));
        };
        if self.indexes[slot].is_built {
            return Ok(slot);
        }
        let message = format!(
            "index {name:?} of {:?} is being built; if the build was interrupted, configuring the collection, or opening it in the program that declares it, resumes the build",
            self.name
        );
        Err(Error::new(ErrorKind::Building, message))
    }

    /// Whether both have the same cache content.
    pub(crate) fn has_same_cache_content(&self, other: &Self) -> bool {
        let ids = |shape: &Self| -> Vec<_> { shape.indexes.iter().map(|index| index.id).collect() };
        self.policy == other.policy
            && self.schema_version == other.schema_version
            && ids(self) == ids(other)
    }
}

impl<T: Document> BoundIndex<T> {
    pub(crate) fn values(&self, document: &T) -> Result<Values> {
        self.values_of(&IndexedDocument::new(document))
    }

    fn values_of(&self, document: &IndexedDocument<'_, T>) -> Result<Values> {
        self.source.values(&self.name, self.kind, document)
    }

    /// Rejects a value that the index cannot have: without components it would match everything, and with too
    /// many nothing.
    pub(crate) fn check(&self, value: &Value) -> Result<()> {
        let most = match &self.source {
            Source::Fields(fields) => fields.len(),
            Source::Program(..) | Source::Unknown(_) => COMPONENTS_MAX,
        };
        if (1..=most).contains(&value.components()) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{value} is not a value of index {:?}: it has {} components, and a value here has 1 to {most}",
            self.name,
            value.components()
        )))
    }

    /// Checks the bounds of a query in the same way.
    pub(crate) fn check_query(&self, query: &Query) -> Result<()> {
        for bound in [&query.from, &query.to] {
            if let Bound::Included(value) | Bound::Excluded(value) = bound {
                self.check(value)?;
            }
        }
        Ok(())
    }

    /// Whether this program can compute the values of a document.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.source, Source::Unknown(_))
    }
}

/// Joins the stored definition with the declaration; `sources` are the declared ones, by name.
pub(crate) fn bind<T: Document>(
    definition: &Definition,
    keys: Keys,
    policy: Policy,
    source: impl Fn(&str) -> Option<Source<T>>,
) -> Shape<T> {
    let indexes = definition.indexes.iter().map(|index| BoundIndex {
        id: index.id,
        name: index.name.clone(),
        kind: index.kind,
        source: match (&index.origin, source(&index.name)) {
            (_, Some(source)) if !index.is_leaving => source,
            (Origin::Program(revision), _) => Source::Unknown(*revision),
            (Origin::Fields(fields), _) => Source::Fields(fields.clone()),
        },
        is_built: index.is_built,
        prefix: keys.index(index.id),
    });
    Shape {
        name: definition.name.clone(),
        id: definition.id,
        generation: definition.generation,
        is_migrating: definition.migrating_to.is_some(),
        schema_version: definition.schema_version,
        policy,
        indexes: indexes.collect(),
        keys,
    }
}
