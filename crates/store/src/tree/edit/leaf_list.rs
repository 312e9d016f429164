//! Leaf-list entries: each has a key of its own.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::data::{DataNode, Operation};
use espalier_yang::{ErrorTag, Keys, Step, Value};

use super::apply::{EditApplier, ParentResource, TouchExtent};
use super::request::Insert;
use crate::error::Result;
use crate::fragment::{put_value, take_entry_value};
use crate::keys::put_key_value;
use crate::tree::locate::order_key;

impl EditApplier<'_> {
    pub fn leaf_list_entry(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
    ) -> Result<()> {
        let node = self.schema().node(data.node);
        let operation = data.operation().unwrap_or(inherited);
        let list = self.child_key(resource, data.node);
        let Some(value) = data.value() else {
            if self.is_whole_list(node, false, operation) {
                return self.whole_list(resource, data, &list, operation);
            }
            self.fail_on(
                data,
                ErrorTag::InvalidValue,
                "the leaf-list entry has no value",
            );
            return Ok(());
        };
        self.path.steps.push(Step {
            node: data.node,
            keys: Keys::Values(vec![value.clone()]),
        });
        let creates = !operation.deletes() && operation != Operation::None;
        if creates {
            self.delete_other_cases(resource, node)?;
        }
        let is_changed = match (node.is_positional(), node.is_config) {
            (false, _) => self.sorted_value(data, operation, list, value)?,
            (true, true) => self.ordered_value(data, operation, &list, value)?,
            (true, false) => self.state_value(data, operation, &list, value)?,
        };
        if is_changed {
            self.touch(resource, TouchExtent::Within);
        }
        self.path.steps.pop();
        Ok(())
    }

    /// Applies an entry of a leaf-list ordered by system.
    fn sorted_value(
        &mut self,
        data: &DataNode,
        operation: Operation,
        mut key: Vec<u8>,
        value: &Value,
    ) -> Result<bool> {
        put_key_value(&mut key, value);
        let exists = self.overlay_has(&key)?;
        if !self.check_operation(data, operation, exists) {
            return Ok(false);
        }
        match operation {
            Operation::Delete | Operation::Remove => self.delete(key),
            _ => self.overlay.put(key, packed(value)),
        }
        Ok(true)
    }

    /// Applies an entry of a leaf-list ordered by user.
    fn ordered_value(
        &mut self,
        data: &DataNode,
        operation: Operation,
        list: &[u8],
        value: &Value,
    ) -> Result<bool> {
        let keys = std::slice::from_ref(value);
        let index = order_key(list, keys);
        let stored = self.stored_position(&index)?;
        let may_move = self.may_move(operation);
        let insert = self.insert(data)?;
        let deletes = operation.deletes();
        let moves = stored.is_some() && insert.is_some() && may_move;
        if !moves && !self.check_operation(data, operation, stored.is_some()) {
            return Ok(false);
        }
        if let (true, Some(stored)) = (deletes, &stored) {
            self.delete([list, stored].concat());
            self.delete(index);
            return Ok(true);
        }
        let position = match (moves, insert) {
            (true, Some(insert)) => self.move_entry(list, keys, &insert, data)?,
            (_, insert) => self.new_position(list, &insert.unwrap_or(Insert::Last), data)?,
        };
        if !position.is_empty() {
            self.overlay.put([list, &position].concat(), packed(value));
            self.overlay.put(index, position);
        }
        Ok(true)
    }

    /// Applies an entry of a state leaf-list, where values may repeat (RFC 7950 §7.7): adds a new one each
    /// time; a delete removes the first equal one.
    fn state_value(
        &mut self,
        data: &DataNode,
        operation: Operation,
        list: &[u8],
        value: &Value,
    ) -> Result<bool> {
        if operation.deletes() {
            let found = self.first_equal(list, value)?;
            if let Some(key) = &found {
                self.delete(key.clone());
            } else {
                self.check_operation(data, operation, false);
            }
            return Ok(found.is_some());
        }
        if operation != Operation::None {
            let position = self.new_position(list, &Insert::Last, data)?;
            self.overlay.put([list, &position].concat(), packed(value));
        }
        Ok(operation != Operation::None)
    }

    fn first_equal(&self, list: &[u8], value: &Value) -> Result<Option<Vec<u8>>> {
        let state = self.state();
        let range = KeyRange::strictly_below(list);
        let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, stored)) = cursor.next()? {
            if take_entry_value(stored)? == *value {
                return Ok(Some(key.to_vec()));
            }
        }
        Ok(None)
    }

    /// Whether an operation changes an entry; records an error if it is not allowed.
    fn check_operation(&mut self, data: &DataNode, operation: Operation, exists: bool) -> bool {
        match (operation, exists) {
            (Operation::Create, true) => {
                self.fail_on(
                    data,
                    ErrorTag::DataExists,
                    "the entry to create exists already",
                );
                false
            }
            (Operation::Delete, false) => {
                self.fail_on(
                    data,
                    ErrorTag::DataMissing,
                    "the entry to delete does not exist",
                );
                false
            }
            (Operation::Delete | Operation::Remove, exists) => exists,
            (Operation::None, _) => false,
            (_, exists) => !exists,
        }
    }
}

fn packed(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_value(&mut bytes, value);
    bytes
}
