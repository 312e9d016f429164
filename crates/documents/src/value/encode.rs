//! The encoding of values.

use espalier_keyspace::tuple;
use smallvec::SmallVec;

use crate::limits::{COMPONENTS_MAX, VALUE_BYTES_MAX};
use crate::{Error, Result};

/// Values up to this size need no allocation.
const INLINE_BYTES: usize = 24;

const STRING: u8 = 0x02;
const BINARY: u8 = 0x03;
const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;
const ESCAPED_ZERO: u8 = 0x01;
const ESCAPED_ONE: u8 = 0x02;

/// The encoding of a value in resident indexes.
pub(crate) type Bytes = SmallVec<[u8; INLINE_BYTES]>;

/// An indexed value: one component, or several that are compared in order. Strings, numbers, booleans and
/// bytes have their usual order within their type; numbers sort by value, independently of their type.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    full: Bytes,
    short: Option<Box<[u8]>>,
    components: u8,
}

impl Value {
    /// A value with these components.
    pub fn of(value: impl super::IntoValue) -> Option<Self> {
        value.into_value()
    }

    /// Bytes that identify the value among those of an index: at most a few hundred, independently of its
    /// length. [`crate::Index::marked`] finds the value by its mark.
    pub fn mark(&self) -> &[u8] {
        self.short()
    }

    /// Whether its mark is shorter than its encoding: it has a string of more than some hundred bytes.
    pub fn is_long(&self) -> bool {
        self.is_shortened()
    }

    /// The full encoding.
    pub(crate) fn full(&self) -> &[u8] {
        &self.full
    }

    /// The encoding in keys.
    pub(crate) fn short(&self) -> &[u8] {
        self.short.as_deref().unwrap_or(&self.full)
    }

    /// Whether the two encodings differ.
    pub(crate) fn is_shortened(&self) -> bool {
        self.short.is_some()
    }

    /// The number of components.
    pub(crate) fn components(&self) -> usize {
        usize::from(self.components)
    }

    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<()> {
        if self.components() > COMPONENTS_MAX {
            return Err(Error::limit(format!(
                "an indexed value of {} components exceeds the limit of {COMPONENTS_MAX}",
                self.components
            )));
        }
        if self.full.len() > VALUE_BYTES_MAX {
            return Err(Error::limit(format!(
                "an indexed value of {} bytes exceeds the limit of {VALUE_BYTES_MAX}",
                self.full.len()
            )));
        }
        Ok(())
    }

    /// Appends a component that is never shortened.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.full.extend_from_slice(bytes);
        if let Some(short) = self.short.take() {
            self.short = Some([&short, bytes].concat().into());
        }
        self.components = self.components.saturating_add(1);
    }

    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.push_bytes(STRING, text);
    }

    pub(super) fn push_binary(&mut self, bytes: &[u8]) {
        self.push_bytes(BINARY, bytes);
    }

    fn push_bytes(&mut self, tag: u8, bytes: &[u8]) {
        if self.short.is_some() || tuple::is_shortened(bytes.len()) {
            let mut short = self.short().to_vec();
            match tag {
                STRING => tuple::put_bytes(&mut short, bytes),
                _ => tuple::put_binary(&mut short, bytes),
            }
            self.short = Some(short.into());
        }
        self.full.push(tag);
        escape(&mut self.full, bytes);
        self.full.push(END);
        self.components = self.components.saturating_add(1);
    }
}

fn escape(out: &mut Bytes, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte <= ESCAPE) {
        out.extend_from_slice(&rest[..at]);
        let escaped = [ESCAPED_ZERO, ESCAPED_ONE][usize::from(rest[at])];
        out.extend_from_slice(&[ESCAPE, escaped]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
