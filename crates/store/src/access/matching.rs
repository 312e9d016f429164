//! The entries that rules name by key.

use espalier_yang::{Keys, NodeId, Value};

use crate::keys::{put_key_value, skip_key_values};

/// The number of a condition in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConditionId(pub u32);

/// A condition on the entries of a list or leaf-list on the way to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    /// The list or leaf-list.
    pub node: NodeId,
    /// A value for each key, `None` if any matches; encoded as in tree keys.
    keys: Vec<Option<Vec<u8>>>,
    /// The condition that must hold for an enclosing entry.
    pub outer: Option<ConditionId>,
    /// The encoded keys, if none is open.
    entry: Option<Vec<u8>>,
}

/// The keys of an entry.
pub(crate) enum EntryKeys<'a> {
    /// Those of a step of a path.
    Of(&'a Keys),
    /// The values themselves.
    Values(&'a [Value]),
    /// The part of a tree key that identifies the entry in its list.
    Encoded(&'a [u8]),
}

impl Condition {
    pub fn new(node: NodeId, keys: &[Option<Value>], outer: Option<ConditionId>) -> Self {
        let encode = |value: &Value| {
            let mut key = Vec::new();
            put_key_value(&mut key, value);
            key
        };
        let keys: Vec<Option<Vec<u8>>> = keys
            .iter()
            .map(|value| value.as_ref().map(encode))
            .collect();
        let entry: Option<Vec<Vec<u8>>> = keys.iter().cloned().collect();
        Self {
            node,
            keys,
            outer,
            entry: entry.map(|parts| parts.concat()),
        }
    }

    pub fn matches(&self, keys: &EntryKeys<'_>) -> bool {
        match keys {
            EntryKeys::Of(Keys::Values(values)) => self.matches_values(values),
            EntryKeys::Of(_) => false,
            EntryKeys::Values(values) => self.matches_values(values),
            EntryKeys::Encoded(encoded) => match &self.entry {
                Some(entry) => entry == encoded,
                None => self.matches_encoded(encoded),
            },
        }
    }

    fn matches_values(&self, values: &[Value]) -> bool {
        let mut encoded = Vec::new();
        for value in values {
            put_key_value(&mut encoded, value);
        }
        self.matches_encoded(&encoded)
    }

    fn matches_encoded(&self, mut encoded: &[u8]) -> bool {
        for key in &self.keys {
            let mut rest = encoded;
            if skip_key_values(&mut rest, 1).is_err() {
                return false;
            }
            let value = &encoded[..encoded.len() - rest.len()];
            if key.as_ref().is_some_and(|key| key != value) {
                return false;
            }
            encoded = rest;
        }
        encoded.is_empty()
    }
}

/// The conditions that hold for an instance and the entries that enclose it, each with the depth of its entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveConditions(Vec<(usize, ConditionId)>);

impl ActiveConditions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn holds(&self, condition: ConditionId) -> bool {
        self.0.iter().any(|&(_, active)| active == condition)
    }

    pub(super) fn add(&mut self, depth: usize, condition: ConditionId) {
        self.0.push((depth, condition));
    }

    /// Forgets the conditions of entries at a depth or deeper.
    pub fn leave(&mut self, depth: usize) {
        while self.0.last().is_some_and(|&(at, _)| at >= depth) {
            self.0.pop();
        }
    }
}
