//! The stored definition of a collection: its indexes and its schema version.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::limits::{COMPONENTS_MAX, INDEXES_MAX, NAME_BYTES_MAX};
use crate::{Error, Policy, Result};

/// How many documents a value may have, and how many values a document may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One document for a value.
    Unique,
    /// Many documents for a value, one value (at most) for a document.
    Partition,
    /// Many documents for a value, many values for a document.
    Tags,
}

impl Kind {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Partition => "partition",
            Self::Tags => "tags",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Unique, Self::Partition, Self::Tags]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                Error::argument(format!(
                    "{text:?} is not a kind of index; use unique, partition or tags"
                ))
            })
    }
}

/// An index whose values are members of JSON documents. Programs without the types of the documents (the
/// command line, HTTP) can write if all indexes are of this sort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldIndex {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// JSON pointers (RFC 6901), one for each component. An index of tags has one, to an array or to a single
    /// tag.
    pub fields: Vec<String>,
}

impl FieldIndex {
    /// Checks names, pointers and limits.
    pub(crate) fn check(&self) -> Result<()> {
        check_name("an index", &self.name)?;
        let place = format!("index {:?}", self.name);
        let count = self.fields.len();
        if count == 0 || count > COMPONENTS_MAX {
            let message = format!("{place} has {count} fields; it may have 1 to {COMPONENTS_MAX}");
            return Err(Error::limit(message));
        }
        if self.kind == Kind::Tags && count != 1 {
            let message = format!("{place} has {count} fields; an index of tags has exactly one");
            return Err(Error::argument(message));
        }
        for field in &self.fields {
            if !field.is_empty() && !field.starts_with('/') {
                return Err(Error::argument(format!(
                    "{place}: {field:?} is not a JSON pointer; write /{field}"
                )));
            }
            let mut escapes = field.split('~').skip(1);
            if !escapes.all(|rest| rest.starts_with(['0', '1'])) {
                return Err(Error::argument(format!(
                    "{place}: {field:?} is not a JSON pointer; write ~0 for ~ and ~1 for / in a name"
                )));
            }
        }
        Ok(())
    }
}

/// An index of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexInfo {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// The JSON pointers of its values; `None` if it is declared by a program.
    pub fields: Option<Vec<String>>,
    /// Whether it includes all documents.
    pub is_built: bool,
}

/// The stored definition of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name.
    pub name: String,
    /// The policy that servers use.
    pub policy: Policy,
    /// The version of the type of the documents.
    pub schema_version: u32,
    /// The indexes.
    pub indexes: Vec<IndexInfo>,
}

impl Info {
    /// The definition as a JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        let indexes = self.indexes.iter().map(|index| {
            json!({
                "name": index.name,
                "kind": index.kind,
                "fields": index.fields,
                "is-built": index.is_built,
            })
        });
        json!({
            "name": self.name,
            "policy": self.policy.as_str(),
            "schema-version": self.schema_version,
            "indexes": indexes.collect::<Vec<_>>(),
        })
    }
}

/// The stored form of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) generation: u64,
    pub(crate) schema_version: u32,
    /// The version that documents are being migrated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) migrating_to: Option<u32>,
    pub(crate) policy: String,
    pub(crate) next_index: u64,
    pub(crate) indexes: Vec<StoredIndex>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct StoredIndex {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) is_built: bool,
    /// Whether it is dropped when all others are built; it is kept if one of them cannot be built.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_leaving: bool,
}

/// The source of an index's values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    /// Members of the documents.
    Fields(Vec<String>),
    /// A function of the program, with this revision.
    Program(u32),
}

impl Definition {
    /// Sets a new generation after a change: a digest of the new definition and of the old generation. If a
    /// store is copied over this one, with other collections under the same numbers, its generations differ
    /// from those that open handles remember.
    pub(crate) fn renew(&mut self) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        self.encode()?.hash(&mut hasher);
        self.generation = hasher.finish();
        Ok(())
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::argument(error.to_string()))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::corrupt(format!("the definition of a collection: {error}")))
    }

    /// Whether there are indexes to build that any program can build from the documents.
    pub(crate) fn can_be_built_by_any_program(&self) -> bool {
        let mut unbuilt = self
            .indexes
            .iter()
            .filter(|index| !index.is_built)
            .peekable();
        let is_any = unbuilt.peek().is_some();
        let is_over_members = |index: &StoredIndex| matches!(index.origin, Origin::Fields(_));
        is_any && self.migrating_to.is_none() && unbuilt.all(is_over_members)
    }

    pub(crate) fn info(&self) -> Info {
        let staying = self.indexes.iter().filter(|index| !index.is_leaving);
        let indexes = staying.map(|index| IndexInfo {
            name: index.name.clone(),
            kind: index.kind,
            fields: match &index.origin {
                Origin::Fields(fields) => Some(fields.clone()),
                Origin::Program(_) => None,
            },
            is_built: index.is_built,
        });
        Info {
            name: self.name.clone(),
            policy: self.policy.parse().unwrap_or_default(),
            schema_version: self.schema_version,
            indexes: indexes.collect(),
        }
    }
}

/// Checks the name of a collection or of an index.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::argument(format!("{what} must have a name")));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::limit(format!(
            "the name of {what} has {} bytes; the limit is {NAME_BYTES_MAX}",
            name.len()
        )));
    }
    Ok(())
}

/// Checks the number of indexes, and that their names are distinct.
pub(crate) fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    if names.len() > INDEXES_MAX {
        let count = names.len();
        let message = format!("{count} indexes exceed the limit of {INDEXES_MAX}");
        return Err(Error::limit(message));
    }
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::argument(format!(
            "index {:?} is declared twice",
            pair[0]
        ))),
        None => Ok(()),
    }
}
