//! A collection as this program sees it: what is stored about it, joined with what is declared.

use crate::definition::{Definition, Kind, Origin};
use crate::document::{self, Document};
use crate::extract::{Source, Values};
use crate::layout::Keys;
use crate::{Error, ErrorKind, Policy, Result};

/// An index that is stored and declared.
pub(crate) struct BoundIndex<T> {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) source: Source<T>,
    pub(crate) is_built: bool,
    /// What its rows begin with.
    pub(crate) prefix: Vec<u8>,
}

/// What is needed to read and write documents of a collection.
pub(crate) struct Shape<T> {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) keys: Keys,
    pub(crate) generation: u64,
    /// Whether documents are being brought to another schema version.
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
        let indexes = self.indexes.iter();
        indexes.map(|index| index.values(document)).collect()
    }

    /// The slot of an index that can be asked.
    pub(crate) fn slot(&self, name: &str) -> Result<usize> {
        let slot = self.indexes.iter().position(|index| index.name == name);
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
        let message = format!("index {name:?} of {:?} is being built", self.name);
        Err(Error::new(ErrorKind::Building, message))
    }

    /// Whether the same is kept in memory for both.
    pub(crate) fn keeps_the_same(&self, other: &Self) -> bool {
        let ids = |shape: &Self| -> Vec<_> { shape.indexes.iter().map(|index| index.id).collect() };
        self.policy == other.policy
            && self.schema_version == other.schema_version
            && ids(self) == ids(other)
    }
}

impl<T: Document> BoundIndex<T> {
    pub(crate) fn values(&self, document: &T) -> Result<Values> {
        self.source.values(&self.name, self.kind, document)
    }

    /// Whether this program can tell the values of a document.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.source, Source::Unknown(_))
    }
}

/// Joins what is stored with what is declared; `sources` are the declared ones, by name.
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
            (Origin::Program(revision), None) => Source::Unknown(*revision),
            (Origin::Fields(fields), None) => Source::Fields(fields.clone()),
            (_, Some(source)) => source,
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
