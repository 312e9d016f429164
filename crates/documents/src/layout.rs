//! The keys of all rows in the key space. Every byte is described in `docs/formats.md`.

use espalier_keyspace::{KeyRange, tuple};

use crate::value::Value;
use crate::{Error, Result};

const DEFINITIONS: u8 = 0x00;
const IDS: u8 = 0x01;
const DOCUMENTS: u8 = 0x02;
const INDEXES: u8 = 0x03;
const BUILDS: u8 = 0x04;
/// Set in the byte after the prefix for rows in the memory of this process only.
const RAM: u8 = 0x80;

/// The maximum length of a document key in bytes.
const KEY_BYTES: usize = 9;

/// After the documents of a collection: larger than the first byte of any key.
const TAIL: u8 = 0xff;
const GENERATION: u8 = 0x00;
const STATE: u8 = 0x01;
const COUNT: u8 = 0x02;
const SEQUENCE: u8 = 0x03;

/// Where the rows of a collection are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the engine.
    Engine,
    /// In the memory of this process, and nowhere else.
    Ram,
}

/// The keys below a prefix.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    prefix: Vec<u8>,
}

impl Layout {
    pub(crate) fn new(prefix: &[u8]) -> Self {
        Self {
            prefix: prefix.to_vec(),
        }
    }

    fn key_prefix(&self, storage: Storage, id: u8) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 48);
        key.extend_from_slice(&self.prefix);
        key.push(match storage {
            Storage::Engine => id,
            Storage::Ram => id | RAM,
        });
        key
    }

    /// Whether a row is in the memory of this process only.
    pub(crate) fn is_ram(&self, key: &[u8]) -> bool {
        key.get(self.prefix.len()).is_some_and(|id| id & RAM != 0)
    }

    /// The row that defines a collection.
    pub(crate) fn definition(&self, storage: Storage, name: &str) -> Vec<u8> {
        let mut key = self.key_prefix(storage, DEFINITIONS);
        tuple::put_bytes(&mut key, name.as_bytes());
        key
    }

    /// The collection name in the key of a definition.
    pub(crate) fn defined_name(&self, row: &[u8]) -> String {
        let mut rest = &row[self.prefix.len() + 1..];
        match tuple::take(&mut rest) {
            Ok(tuple::Element::Bytes(name)) => String::from_utf8_lossy(&name).into_owned(),
            _ => "a collection".to_owned(),
        }
    }

    /// The rows of all definitions.
    pub(crate) fn definitions(&self, storage: Storage) -> KeyRange {
        KeyRange::prefix(&self.key_prefix(storage, DEFINITIONS))
    }

    /// The counter of collections.
    pub(crate) fn ids(&self, storage: Storage) -> Vec<u8> {
        self.key_prefix(storage, IDS)
    }

    /// The keys of a collection.
    pub(crate) fn collection(&self, storage: Storage, id: u64) -> Keys {
        let of = |range| {
            let mut key = self.key_prefix(storage, range);
            tuple::put_unsigned(&mut key, id);
            key
        };
        Keys {
            storage,
            documents: of(DOCUMENTS),
            indexes: of(INDEXES),
            builds: of(BUILDS),
        }
    }
}

/// The keys of a collection.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) storage: Storage,
    documents: Vec<u8>,
    indexes: Vec<u8>,
    builds: Vec<u8>,
}

impl Keys {
    /// The row of a document.
    pub(crate) fn document(&self, key: u64) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.documents.len() + KEY_BYTES);
        row.extend_from_slice(&self.documents);
        tuple::put_unsigned(&mut row, key);
        row
    }

    /// The key of the document of a row; `None` if it is not a document row.
    pub(crate) fn document_key(&self, row: &[u8]) -> Option<u64> {
        let rest = row.strip_prefix(self.documents.as_slice())?;
        if rest.first() == Some(&TAIL) {
            return None;
        }
        take_key(rest).ok()
    }

    /// The rows of the documents from one key up to, but not including, another.
    pub(crate) fn documents(&self, from: u64, before: Option<u64>) -> KeyRange {
        let end = match before {
            Some(before) => self.document(before),
            None => self.tail(0),
        };
        KeyRange::new(self.document(from), end)
    }

    /// All rows that change with a document, except index rows.
    pub(crate) fn watched(&self) -> KeyRange {
        KeyRange::prefix(&self.documents)
    }

    fn tail(&self, id: u8) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.documents.len() + 2);
        row.extend_from_slice(&self.documents);
        row.extend_from_slice(&[TAIL, id]);
        row
    }

    /// The row with the generation of the definition, a precondition of every change.
    pub(crate) fn generation(&self) -> Vec<u8> {
        self.tail(GENERATION)
    }

    /// The row with generation and next key, a precondition of every insertion.
    pub(crate) fn state(&self) -> Vec<u8> {
        self.tail(STATE)
    }

    /// The counter of documents.
    pub(crate) fn count(&self) -> Vec<u8> {
        self.tail(COUNT)
    }

    /// The counter of commits.
    pub(crate) fn sequence(&self) -> Vec<u8> {
        self.tail(SEQUENCE)
    }

    /// The prefix of the rows of an index.
    pub(crate) fn index(&self, index: u64) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.indexes.len() + 40);
        row.extend_from_slice(&self.indexes);
        tuple::put_unsigned(&mut row, index);
        row
    }

    /// The row with the progress of an index build.
    pub(crate) fn build(&self, index: u64) -> Vec<u8> {
        let mut row = self.builds.clone();
        tuple::put_unsigned(&mut row, index);
        row
    }

    /// All rows of the collection except its definition.
    pub(crate) fn everything(&self) -> [KeyRange; 3] {
        [&self.documents, &self.indexes, &self.builds].map(|prefix| KeyRange::prefix(prefix))
    }

    /// All rows of all indexes.
    pub(crate) fn all_indexes(&self) -> KeyRange {
        KeyRange::prefix(&self.indexes)
    }

    /// The index that a row belongs to.
    pub(crate) fn index_of(&self, row: &[u8]) -> Result<u64> {
        let rest = row.strip_prefix(self.indexes.as_slice());
        take_key(rest.ok_or_else(|| Error::corrupt("a row belongs to no index"))?)
    }
}

/// The row of a value in a unique index.
pub(crate) fn unique_row(index: &[u8], value: &Value) -> Vec<u8> {
    let mut row = Vec::with_capacity(index.len() + value.short().len() + KEY_BYTES);
    row.extend_from_slice(index);
    row.extend_from_slice(value.short());
    row
}

/// The row of a value and a document in an index that is not unique.
pub(crate) fn shared_row(index: &[u8], value: &Value, key: u64) -> Vec<u8> {
    let mut row = unique_row(index, value);
    tuple::put_unsigned(&mut row, key);
    row
}

/// The value of a row in a unique index: the key of the document, and the full value if its key is shortened.
pub(crate) fn unique_entry_value(value: &Value, key: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(KEY_BYTES);
    tuple::put_unsigned(&mut bytes, key);
    bytes.extend_from_slice(&shared_entry_value(value));
    bytes
}

/// The value of a row in an index that is not unique: the full value if its key is shortened.
pub(crate) fn shared_entry_value(value: &Value) -> Vec<u8> {
    if value.is_shortened() {
        value.full().to_vec()
    } else {
        Vec::new()
    }
}

/// Decodes a document key.
pub(crate) fn take_key(mut bytes: &[u8]) -> Result<u64> {
    split_key(&mut bytes)
}

/// Removes a document key from the front of `bytes`.
pub(crate) fn split_key(bytes: &mut &[u8]) -> Result<u64> {
    match tuple::take(bytes)? {
        tuple::Element::Integer(key) => {
            u64::try_from(key).map_err(|_| Error::corrupt("a stored key is negative"))
        }
        _ => Err(Error::corrupt("a stored key is not a number")),
    }
}

/// The state row of a collection: generation and next key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) generation: u64,
    pub(crate) next: u64,
}

impl State {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let (generation, next) = bytes
            .split_at_checked(8)
            .ok_or_else(|| Error::corrupt("the state of a collection is too short"))?;
        Ok(Self {
            generation: number(generation)?,
            next: number(next)?,
        })
    }
}

/// An 8-byte number.
pub(crate) fn number(bytes: &[u8]) -> Result<u64> {
    let bytes = bytes
        .try_into()
        .map_err(|_| Error::corrupt("a stored number does not have 8 bytes"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// The value of a counter; 0 if it does not exist.
pub(crate) fn counter(bytes: Option<&[u8]>) -> Result<u64> {
    bytes.map_or(Ok(0), number)
}
