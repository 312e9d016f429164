//! Converts one fragment or leaf-list entry: its values, keys and position.

use espalier_yang::schema::Node;
use espalier_yang::{DataError, ErrorTag, NodeId, NodeKind, Value};

use super::convert::{Converter, Frame, MismatchPolicy, NODE_IS_STATE, NODE_REMOVED};
use super::nodes::{is_presence_container, is_same_kind, kind_name};
use crate::error::Result;
use crate::fragment::{Fragment, Packed, put_value, take_entry_value};
use crate::keys::{LocalId, put_key_value, put_local_id};
use crate::position::Position;
use crate::tree::locate::order_key;

/// An old node and the corresponding new one.
type NodePair = (NodeId, NodeId);

/// The keys of a list entry in both schemas.
struct EntryKeys<'k> {
    node: NodePair,
    /// The old key of the whole list.
    old_list: &'k [u8],
    /// The rest of the old key of the entry.
    old_rest: &'k [u8],
    old_keys: &'k [Value],
    new_keys: &'k [Value],
}

impl Converter<'_> {
    /// Enters a container or list entry, whose own row has `value`; false if nothing of it is kept.
    pub fn enter(
        &mut self,
        (old, new): NodePair,
        key: &[u8],
        list: usize,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        let node = self.old.schema().node(old);
        let Some(value) = value else {
            if node.is_list() {
                let path = self.path(&key[..list], None);
                let problem = "the list entry that contains this data does not exist";
                self.report_mismatch(DataError::new(ErrorTag::DataMissing, problem).at(path));
                self.clear(key);
                return Ok(false);
            }
            let new_key = self.container_key(new);
            self.frames
                .push(Frame::new(Some(old), Some(new), key, new_key));
            return Ok(true);
        };
        if !node.is_list() {
            let new_key = self.container_key(new);
            let frame = Frame::new(Some(old), Some(new), key, new_key);
            self.frames.push(frame);
            self.fragment(value)?;
            return Ok(true);
        }
        self.list_entry((old, new), key, list, value)
    }

    fn container_key(&mut self, new: NodeId) -> Vec<u8> {
        let mut key = self.innermost().new_key.clone();
        put_local_id(&mut key, self.new.layout.id(new));
        key
    }

    fn list_entry(
        &mut self,
        (old, new): NodePair,
        key: &[u8],
        list: usize,
        value: &[u8],
    ) -> Result<bool> {
        let mut frame = Frame::new(Some(old), Some(new), key, Vec::new());
        frame.has_row = true;
        let count = self.old.schema().node(old).keys().len();
        let old_keys = Fragment::decode(value, count)?.key_values()?;
        // The frame is pushed while its leaves are converted, so that they have a path.
        self.frames.push(frame);
        let leaves = self.leaves(value)?;
        let keys = leaves.and_then(|leaves| self.split_keys(new, leaves));
        let Some((fragment, new_keys)) = keys else {
            self.frames.pop();
            self.clear(key);
            return Ok(false);
        };
        let Some(mut frame) = self.frames.pop() else {
            return Ok(false);
        };
        let keys_of_entry = EntryKeys {
            node: (old, new),
            old_list: &key[..list],
            old_rest: &key[list..],
            old_keys: &old_keys,
            new_keys: &new_keys,
        };
        let new_key = self.entry_key(&keys_of_entry)?;
        if new_key != key {
            self.result.moved.insert(key.to_vec(), new_key.clone());
        }
        let is_first = self.put_converted((key, value), new_key.clone(), fragment.encode());
        frame.new_key = new_key;
        self.frames.push(frame);
        self.mark_content();
        if !is_first {
            let path = self.path(key, None);
            self.report_duplicate(path);
        }
        Ok(true)
    }

    /// Converts an entry of a leaf-list.
    pub fn leaf_list_entry(
        &mut self,
        (old, new): NodePair,
        key: &[u8],
        list: usize,
        value: &[u8],
    ) -> Result<()> {
        let before = take_entry_value(value)?;
        let Some(after) = self.convert_value((old, new), key, &before) else {
            self.result.lost.delete(key.to_vec());
            self.delete(key.to_vec());
            self.delete_order_row(old, &key[..list], std::slice::from_ref(&before));
            return Ok(());
        };
        let keys_of_entry = EntryKeys {
            node: (old, new),
            old_list: &key[..list],
            old_rest: &key[list..],
            old_keys: std::slice::from_ref(&before),
            new_keys: std::slice::from_ref(&after),
        };
        let new_key = self.entry_key(&keys_of_entry)?;
        let mut bytes = Vec::new();
        put_value(&mut bytes, &after);
        self.mark_content();
        if !self.put_converted((key, value), new_key, bytes) {
            let path = self.path(key, None);
            self.report_duplicate(path);
        }
        Ok(())
    }

    /// The new key of an entry; also converts its row in the order index.
    fn entry_key(&mut self, keys_of_entry: &EntryKeys<'_>) -> Result<Vec<u8>> {
        let (old, new) = (
            self.old.schema().node(keys_of_entry.node.0),
            self.new.schema.node(keys_of_entry.node.1),
        );
        let mut new_list = self.innermost().new_key.clone();
        put_local_id(&mut new_list, self.new.layout.id(new.id));
        let mut new_key = new_list.clone();
        if new.is_positional() {
            match old.is_positional() {
                true => new_key.extend_from_slice(keys_of_entry.old_rest),
                false => self.next_position(new.id, &mut new_key),
            }
        } else {
            let keys = keys_of_entry.new_keys.iter();
            keys.for_each(|value| put_key_value(&mut new_key, value));
        }
        let is_reordered = old.is_positional() != new.is_positional();
        if is_reordered || old.keys().len() != new.keys().len() || is_key_order_new(keys_of_entry) {
            let mut whole = keys_of_entry.old_list.to_vec();
            whole.extend_from_slice(keys_of_entry.old_rest);
            let path = self.path(&whole, None);
            self.report_converted(path, || "the entry has another position".to_owned());
        }
        let before = has_order_index(old, keys_of_entry.old_keys)
            .then(|| order_key(keys_of_entry.old_list, keys_of_entry.old_keys));
        let after = has_order_index(new, keys_of_entry.new_keys).then(|| {
            let key = order_key(&new_list, keys_of_entry.new_keys);
            (key, new_key[new_list.len()..].to_vec())
        });
        let is_first = match (before, after) {
            (Some(old_key), Some((key, position))) => {
                let stored = self
                    .old
                    .snapshot
                    .get(&old_key)?
                    .map(|held| held.into_owned());
                // Also if the index was wrong: the position in the entry's key is correct.
                let held = stored.unwrap_or_default();
                self.put_converted((&old_key, &held), key, position)
            }
            (Some(old_key), None) => {
                self.delete(old_key);
                true
            }
            (None, Some((key, position))) => self.put(key, position, true),
            (None, None) => true,
        };
        if !is_first {
            let whole = [keys_of_entry.old_list, keys_of_entry.old_rest].concat();
            let path = self.path(&whole, None);
            self.report_duplicate(path);
        }
        Ok(new_key)
    }

    fn next_position(&mut self, node: NodeId, key: &mut Vec<u8>) {
        let positions = &mut self.innermost().positions;
        let next = Position::between(positions.get(&node), None);
        let next = next.unwrap_or_else(|| Position::at(i64::MAX));
        next.put(key);
        positions.insert(node, next);
    }

    fn delete_order_row(&mut self, old: NodeId, list: &[u8], keys: &[Value]) {
        if has_order_index(self.old.schema().node(old), keys) {
            self.delete(order_key(list, keys));
        }
    }

    /// Converts the row of the innermost frame, which is not a list entry.
    pub fn fragment(&mut self, value: &[u8]) -> Result<()> {
        let Some(leaves) = self.leaves(value)? else {
            return Ok(());
        };
        let frame = self.innermost();
        frame.has_row = true;
        let (old_key, new_key) = (frame.old_key.clone(), frame.new_key.clone());
        let (old, new) = (frame.old, frame.new);
        if leaves.is_empty() && !is_presence_container(&self.new.schema, new) {
            self.delete(old_key);
            if is_presence_container(self.old.schema(), old) {
                // It still exists, and so does an enclosing container that has presence now.
                self.mark_content();
            }
            return Ok(());
        }
        let mut leaves = leaves;
        leaves.sort_by_key(|(id, _)| *id);
        let fragment = Fragment { leaves, keys: 0 };
        self.mark_content();
        self.put_converted((&old_key, value), new_key, fragment.encode());
        Ok(())
    }

    /// The leaves of the innermost frame in the new schema; none if one of its keys does not conform.
    fn leaves(&mut self, value: &[u8]) -> Result<Option<Vec<(LocalId, Packed)>>> {
        let fragment = Fragment::decode(value, 0)?;
        let parent = self.innermost().old;
        let mut leaves = Vec::with_capacity(fragment.leaves.len());
        let mut has_keys = true;
        let mut lost = Vec::new();
        for (id, packed) in &fragment.leaves {
            let (id, packed) = (*id, packed.clone());
            let Some(old) = self.old.layout().child(parent, id) else {
                let path = self.hidden_path(parent, id)?;
                self.report_unknown(
                    path,
                    "this node is not in the modules of the store: it was hidden",
                );
                lost.push(id);
                continue;
            };
            match self.leaf(old, packed)? {
                Some(leaf) => leaves.push(leaf),
                None => {
                    has_keys &= !is_key(self.old.schema().node(old));
                    lost.push(id);
                }
            }
        }
        if has_keys && !lost.is_empty() {
            self.record_lost(fragment, &lost);
        }
        // Entries with nonconforming keys are errors already, unless all nonconforming data is dropped.
        Ok((has_keys || self.mismatch_policy != MismatchPolicy::DropAll).then_some(leaves))
    }

    /// Records the old row of the innermost frame without some leaves.
    fn record_lost(&mut self, mut fragment: Fragment, lost: &[LocalId]) {
        fragment.leaves.retain(|(id, _)| !lost.contains(id));
        let (key, old) = (self.innermost().old_key.clone(), self.innermost().old);
        let needs_none = old.is_none_or(|old| self.old.schema().node(old).is_np_container());
        match fragment.leaves.is_empty() && needs_none {
            true => self.result.lost.delete(key),
            false => self.result.lost.put(key, fragment.encode()),
        }
    }

    fn leaf(&mut self, old: NodeId, packed: Packed) -> Result<Option<(LocalId, Packed)>> {
        let key = self.innermost().old_key.clone();
        let Some(new) = self.nodes.new_node(old) else {
            let path = self.path(&key, Some(old));
            self.report_unknown(path, NODE_REMOVED);
            return Ok(None);
        };
        let (old_node, new_node) = (self.old.schema().node(old), self.new.schema.node(new));
        if self.is_config_lost(old_node, new_node) {
            let path = self.path(&key, Some(old));
            self.report_unknown(path, NODE_IS_STATE);
            return Ok(None);
        }
        if !is_same_kind(old_node, new_node) {
            let problem = format!("{} became {}", kind_name(old_node), kind_name(new_node));
            let path = self.path(&key, Some(old));
            self.report_mismatch(DataError::new(ErrorTag::BadElement, problem).at(path));
            return Ok(None);
        }
        if !self.check_case(new, None)? {
            return Ok(None);
        }
        let id = self.new.layout.id(new);
        match (packed, &new_node.kind) {
            // RFC 7951, section 5.5: anydata is an object. anyxml may be any value (section 5.6).
            (Packed::Any(json), NodeKind::AnyData) if !json.trim_start().starts_with('{') => {
                let problem = "anyxml became anydata, and the stored value is not an object";
                let path = self.path(&key, Some(old));
                self.report_mismatch(DataError::new(ErrorTag::InvalidValue, problem).at(path));
                Ok(None)
            }
            (Packed::Any(json), NodeKind::AnyData | NodeKind::AnyXml) => {
                Ok(Some((id, Packed::Any(json))))
            }
            (Packed::Value(value), NodeKind::Leaf(_)) => {
                let value = self.convert_value((old, new), &key, &value);
                Ok(value.map(|value| (id, Packed::Value(value))))
            }
            _ => {
                let problem = format!("the stored data is not a value of {}", kind_name(new_node));
                let path = self.path(&key, Some(old));
                self.report_mismatch(DataError::new(ErrorTag::BadElement, problem).at(path));
                Ok(None)
            }
        }
    }

    /// A value in the new schema; none if it does not conform, which is reported.
    fn convert_value(&mut self, (old, new): NodePair, key: &[u8], value: &Value) -> Option<Value> {
        if self.nodes.is_same_below(old) {
            return Some(value.clone());
        }
        let node = self.new.schema.node(new);
        let of = &node.as_value()?.value_type;
        let leaf = (!node.is_leaf_list()).then_some(old);
        match of.convert(&self.new.schema, node.module, value) {
            Ok(converted) => {
                if converted != *value {
                    let path = self.path(key, leaf);
                    let is_secret = of.has_secret_values() || self.was_secret(old);
                    self.report_converted(path, || match is_secret {
                        true => "the value is another one now".to_owned(),
                        false => change_of_value(value, &converted),
                    });
                }
                Some(converted)
            }
            Err(error) => {
                let path = self.path(key, leaf);
                let mut error = DataError::from(error);
                if self.was_secret(old) {
                    error.message = "the value is not one of the new type".into();
                }
                self.report_mismatch(error.at(path));
                None
            }
        }
    }

    fn was_secret(&self, old: NodeId) -> bool {
        let leaf = self.old.schema().node(old).as_value();
        leaf.is_some_and(|leaf| leaf.value_type.has_secret_values())
    }

    /// The fragment of a list entry, and its keys; none if one is missing, which is reported.
    fn split_keys(
        &mut self,
        list: NodeId,
        mut leaves: Vec<(LocalId, Packed)>,
    ) -> Option<(Fragment, Vec<Value>)> {
        let mut keys = Vec::new();
        for &key in self.new.schema.node(list).keys() {
            let id = self.new.layout.id(key);
            match leaves.iter().position(|(other, _)| *other == id) {
                Some(at) => keys.push(leaves.remove(at)),
                None => {
                    self.missing_key(key);
                    return None;
                }
            }
        }
        leaves.sort_by_key(|(id, _)| *id);
        let values = keys.iter().filter_map(|(_, packed)| match packed {
            Packed::Value(value) => Some(value.clone()),
            Packed::Any(_) => None,
        });
        let values: Vec<Value> = values.collect();
        let count = keys.len();
        keys.append(&mut leaves);
        let fragment = Fragment {
            leaves: keys,
            keys: count,
        };
        Some((fragment, values))
    }

    /// Reports a missing key, unless it is missing because its value does not conform.
    fn missing_key(&mut self, key: NodeId) {
        let place = self.innermost().old_key.clone();
        let name = self.new.schema.node(key).name.clone();
        let parent = self.innermost().old;
        let id = self.new.layout.id(key);
        let was_key = self.old.layout().child(parent, id);
        if was_key.is_some_and(|old| is_key(self.old.schema().node(old))) {
            return;
        }
        let path = self.path(&place, None);
        let problem = format!("the entry lacks '{name}', which is a key in the new modules");
        self.report_mismatch(DataError::new(ErrorTag::MissingElement, problem).at(path));
    }
}

fn is_key(node: &Node) -> bool {
    node.as_value().is_some_and(|value| value.is_key)
}

/// Whether the order index has a row for an entry.
fn has_order_index(node: &Node, keys: &[Value]) -> bool {
    node.is_positional() && node.is_config && !keys.is_empty()
}

/// Maximum length of a value in messages, in characters.
const VALUE_IN_MESSAGE_MAX: usize = 60;

fn change_of_value(before: &Value, after: &Value) -> String {
    let short = |value: &Value| {
        let text = value.to_string();
        match text.char_indices().nth(VALUE_IN_MESSAGE_MAX) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    };
    let (before, after) = (short(before), short(after));
    match before == after {
        true => format!("\"{before}\" is stored as its new type"),
        false => format!("\"{before}\" is \"{after}\" now"),
    }
}

/// Whether an entry has the same keys in another order.
fn is_key_order_new(keys_of_entry: &EntryKeys<'_>) -> bool {
    let is_known = |value: &Value| keys_of_entry.old_keys.contains(value);
    keys_of_entry.old_keys != keys_of_entry.new_keys && keys_of_entry.new_keys.iter().all(is_known)
}
