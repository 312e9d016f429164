//! The value of a fragment: the leaves of one container or list entry, packed.
//!
//! A leaf is its local id (variable length), a tag for the kind of value, and the payload. Key leaves come
//! first, in the order of the `key` statement; the others follow by local id. A value includes its kind, so a
//! fragment is decoded without its schema, and an old fragment still decodes after the schema has grown. The
//! value of a leaf-list entry is one packed value without an id.

/// Appends an integer in 7-bit groups, least significant first.
pub(crate) use espalier_keyspace::compact_encoding::put_number as put_varint;
use espalier_keyspace::compact_encoding::take_number;
use espalier_yang::Value;

use crate::error::{Error, Result};
use crate::keys::LocalId;

// Values carry their type, so that fragments are read without a schema: docs/decisions/0002.
const INT32: u8 = 0;
const INT64: u8 = 1;
const UINT32: u8 = 2;
const UINT64: u8 = 3;
const DECIMAL64: u8 = 4;
const FALSE: u8 = 5;
const TRUE: u8 = 6;
const EMPTY: u8 = 7;
const STRING: u8 = 8;
const BINARY: u8 = 9;
const IDENTITY: u8 = 10;
const INSTANCE_IDENTIFIER: u8 = 11;
const ANY: u8 = 12;

/// The content of one leaf slot of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    /// The value of a leaf.
    Value(Value),
    /// The content of an `anydata` or `anyxml` node, as JSON.
    Any(Box<str>),
}

/// The leaves of one fragment, unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Key leaves in key order, then the others by local id.
    pub leaves: Vec<(LocalId, Packed)>,
    /// How many of `leaves` are keys.
    pub keys: usize,
}

impl Fragment {
    /// Unpacks a stored value. `keys` is how many key leaves the node has.
    pub fn decode(bytes: &[u8], keys: usize) -> Result<Self> {
        let leaves = Reader::new(bytes).collect::<Result<Vec<_>>>()?;
        if leaves.len() < keys {
            return Err(Error::corrupt("a list entry lacks its keys"));
        }
        Ok(Self { leaves, keys })
    }

    /// Packs the leaves.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.leaves.len() * 12);
        for (id, packed) in &self.leaves {
            put_leaf(&mut bytes, *id, packed);
        }
        bytes
    }

    /// Sets a leaf that is not a key, or replaces an existing leaf.
    pub fn set(&mut self, id: LocalId, packed: Packed) {
        if let Some(slot) = self.leaves.iter_mut().find(|(other, _)| *other == id) {
            slot.1 = packed;
            return;
        }
        let after = self.leaves[self.keys..].partition_point(|(other, _)| *other < id);
        self.leaves.insert(self.keys + after, (id, packed));
    }

    /// The values of the key leaves.
    pub fn key_values(self) -> Result<Vec<Value>> {
        let keys = self.leaves.into_iter().take(self.keys);
        keys.map(|(_, packed)| match packed {
            Packed::Value(value) => Ok(value),
            Packed::Any(_) => Err(Error::corrupt("a key of a list entry holds anydata")),
        })
        .collect()
    }

    /// The leaf with an id.
    pub fn get(&self, id: LocalId) -> Option<&Packed> {
        self.leaves
            .iter()
            .find(|(other, _)| *other == id)
            .map(|(_, packed)| packed)
    }

    /// Removes the leaf with an id; returns whether it existed.
    pub fn remove(&mut self, id: LocalId) -> bool {
        let before = self.leaves.len();
        self.leaves.retain(|(other, _)| *other != id);
        self.leaves.len() < before
    }
}

/// Appends one leaf of a fragment.
pub(crate) fn put_leaf(bytes: &mut Vec<u8>, id: LocalId, packed: &Packed) {
    put_varint(bytes, id.0.into());
    match packed {
        Packed::Value(value) => put_value(bytes, value),
        Packed::Any(json) => put_text(bytes, ANY, json.as_bytes()),
    }
}

/// Appends one leaf that has a value.
pub(crate) fn put_leaf_value(bytes: &mut Vec<u8>, id: LocalId, value: &Value) {
    put_varint(bytes, id.0.into());
    put_value(bytes, value);
}

/// Appends one packed value.
pub(crate) fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Int32(value) => put_number(bytes, INT32, zigzag((*value).into())),
        Value::Int64(value) => put_number(bytes, INT64, zigzag(*value)),
        Value::Uint32(value) => put_number(bytes, UINT32, (*value).into()),
        Value::Uint64(value) => put_number(bytes, UINT64, *value),
        Value::Decimal64(value, digits) => {
            bytes.extend_from_slice(&[DECIMAL64, *digits]);
            put_varint(bytes, zigzag(*value));
        }
        Value::Boolean(value) => bytes.push(if *value { TRUE } else { FALSE }),
        Value::Empty => bytes.push(EMPTY),
        Value::String(text) => put_text(bytes, STRING, text.as_bytes()),
        Value::Binary(content) => put_text(bytes, BINARY, content),
        Value::Identity(text) => put_text(bytes, IDENTITY, text.as_bytes()),
        Value::InstanceIdentifier(text) => put_text(bytes, INSTANCE_IDENTIFIER, text.as_bytes()),
    }
}

/// Unpacks the value of a leaf-list entry.
pub(crate) fn take_entry_value(bytes: &[u8]) -> Result<Value> {
    match (Reader { rest: bytes }).packed()? {
        Packed::Value(value) => Ok(value),
        Packed::Any(_) => Err(Error::corrupt("a leaf-list entry holds anydata")),
    }
}

/// Reads the leaves of a fragment one by one, without collecting them.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn leaf(&mut self) -> Result<(LocalId, Packed)> {
        let id = u32::try_from(self.varint()?).map_err(|_| truncated())?;
        Ok((LocalId(id), self.packed()?))
    }

    /// The leaf with an id; the other leaves are not unpacked.
    pub fn find(mut self, id: LocalId) -> Result<Option<Packed>> {
        while !self.rest.is_empty() {
            if self.varint()? == u64::from(id.0) {
                return self.packed().map(Some);
            }
            self.skip_value()?;
        }
        Ok(None)
    }

    /// Skips a packed value.
    fn skip_value(&mut self) -> Result<()> {
        let tag = self.take(1)?[0];
        match tag {
            INT32 | INT64 | UINT32 | UINT64 => self.varint().map(|_| ()),
            DECIMAL64 => {
                self.take(1)?;
                self.varint().map(|_| ())
            }
            FALSE | TRUE | EMPTY => Ok(()),
            _ => self.content().map(|_| ()),
        }
    }

    fn packed(&mut self) -> Result<Packed> {
        let (&tag, rest) = self.rest.split_first().ok_or_else(truncated)?;
        self.rest = rest;
        let value = match tag {
            INT32 => Value::Int32(narrow(unzigzag(self.varint()?))?),
            INT64 => Value::Int64(unzigzag(self.varint()?)),
            UINT32 => Value::Uint32(narrow(self.varint()?)?),
            UINT64 => Value::Uint64(self.varint()?),
            DECIMAL64 => {
                let digits = self.take(1)?[0];
                Value::Decimal64(unzigzag(self.varint()?), digits.min(18))
            }
            FALSE => Value::Boolean(false),
            TRUE => Value::Boolean(true),
            EMPTY => Value::Empty,
            STRING => Value::String(self.text()?.into()),
            BINARY => Value::Binary(self.content()?.into()),
            IDENTITY => Value::Identity(self.text()?.into()),
            INSTANCE_IDENTIFIER => Value::InstanceIdentifier(self.text()?.into()),
            ANY => return Ok(Packed::Any(self.text()?.into())),
            tag => return Err(Error::corrupt(format!("a value has the unknown tag {tag}"))),
        };
        Ok(Packed::Value(value))
    }

    fn varint(&mut self) -> Result<u64> {
        take_varint(&mut self.rest)
    }

    fn content(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.varint()?).map_err(|_| truncated())?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.content()?).map_err(|_| Error::corrupt("a string is not UTF-8"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        self.rest.split_off(..length).ok_or_else(truncated)
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<(LocalId, Packed)>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.leaf())
    }
}

fn put_number(bytes: &mut Vec<u8>, tag: u8, value: u64) {
    bytes.push(tag);
    put_varint(bytes, value);
}

fn put_text(bytes: &mut Vec<u8>, tag: u8, content: &[u8]) {
    put_number(bytes, tag, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// Takes an integer that [`put_varint`] wrote.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    take_number(bytes).ok_or_else(truncated)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn narrow<T, U: TryFrom<T>>(value: T) -> Result<U> {
    U::try_from(value).map_err(|_| truncated())
}

fn truncated() -> Error {
    Error::corrupt("a stored value ends within a leaf")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Value> {
        vec![
            Value::Int32(-1),
            Value::Int64(i64::MIN),
            Value::Uint32(u32::MAX),
            Value::Uint64(u64::MAX),
            Value::Decimal64(-314, 2),
            Value::Boolean(true),
            Value::Empty,
            Value::string("å\u{1f600}"),
            Value::Binary([0, 255].into()),
            Value::Identity("m:i".into()),
            Value::InstanceIdentifier("/m:a".into()),
        ]
    }

    #[test]
    fn a_fragment_reads_back_as_written_and_no_prefix_of_it_panics() {
        let mut fragment = Fragment::default();
        for (index, value) in values().into_iter().enumerate() {
            fragment.set(LocalId(300 - index as u32), Packed::Value(value));
        }
        fragment.set(LocalId(1), Packed::Any("{\"a\":1}".into()));
        let bytes = fragment.encode();
        assert_eq!(Fragment::decode(&bytes, 0).unwrap(), fragment);
        for end in 0..bytes.len() {
            let _ = Fragment::decode(&bytes[..end], 0);
        }
    }
}
