//! List entries, and the order of those ordered by user (RFC 7950 §7.8.6).

use std::borrow::Cow;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::data::{Annotation, DataNode, Operation};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, Step, Value};

use rustc_hash::FxHashMap;

use super::apply::{EditApplier, ParentResource, TouchExtent};
use super::request::Insert;
use crate::error::Result;
use crate::keys::put_key_value;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{entry_prefix, in_subspace, is_order_index, order_key};

impl EditApplier<'_> {
    pub fn list_entry(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
    ) -> Result<()> {
        let schema = self.schema();
        let node = schema.node(data.node);
        let operation = data.operation().unwrap_or(inherited);
        let list = self.child_key(resource, data.node);
        let keys: Option<Vec<Value>> = data
            .keys(schema)
            .map(|keys| keys.into_iter().cloned().collect());
        let has_keys = keys.as_ref().is_some_and(|keys| !keys.is_empty());
        if self.is_whole_list(node, has_keys, operation) {
            return self.whole_list(resource, data, &list, operation);
        }
        let Some(keys) = keys else {
            self.fail_on(
                data,
                ErrorTag::MissingElement,
                format!("an entry of {} lacks a key", node.name),
            );
            return Ok(());
        };
        let step = |keys| Step {
            node: data.node,
            keys: Keys::Values(keys),
        };
        let result = match node.is_positional() {
            false => {
                let mut key = list;
                keys.iter().for_each(|value| put_key_value(&mut key, value));
                self.path.steps.push(step(keys));
                self.sorted_entry(resource, data, inherited, key)
            }
            true => {
                self.path.steps.push(step(keys.clone()));
                self.ordered_entry(resource, data, inherited, &list, &keys)
            }
        };
        self.path.steps.pop();
        result
    }

    pub fn whole_list(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        list: &[u8],
        operation: Operation,
    ) -> Result<()> {
        self.path.steps.push(Step {
            node: data.node,
            keys: Keys::None,
        });
        let exists = self.state().any(&KeyRange::strictly_below(list))?;
        let result = self.delete_inner(resource, data, list, exists, operation);
        self.path.steps.pop();
        result
    }

    fn sorted_entry(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
        key: Vec<u8>,
    ) -> Result<()> {
        let exists = !resource.is_new && self.overlay_has(&key)?;
        self.apply_inner(resource, data, inherited, key, exists)
    }

    /// Applies an entry of a list ordered by user, or of a keyless list (where every entry is new).
    fn ordered_entry(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
        list: &[u8],
        keys: &[Value],
    ) -> Result<()> {
        let operation = data.operation().unwrap_or(inherited);
        let index = order_key(list, keys);
        let stored = match keys.is_empty() {
            true => None,
            false => self.stored_position(&index)?,
        };
        let may_move = self.may_move(operation);
        let insert = self.insert(data)?;
        let deletes = operation.deletes();
        let position = match (&stored, insert) {
            (Some(_), Some(insert)) if may_move => {
                let moved = self.move_entry(list, keys, &insert, data)?;
                self.touch(resource, TouchExtent::Within);
                moved
            }
            (Some(stored), _) => stored.clone(),
            (None, _) if deletes => {
                return self.delete_inner(resource, data, list, false, operation);
            }
            (None, _) if operation == Operation::None => {
                self.fail_on(data, ErrorTag::DataMissing, "the node does not exist");
                return Ok(());
            }
            (None, insert) => self.new_position(list, &insert.unwrap_or(Insert::Last), data)?,
        };
        if !self.errors.is_empty() {
            return Ok(());
        }
        let key = [list, &position].concat();
        if !keys.is_empty() {
            match deletes {
                true => self.delete(index),
                false => self.overlay.put(index, position),
            }
        }
        self.apply_inner(resource, data, inherited, key, stored.is_some())
    }

    /// The position stored under a key of the order index.
    pub fn stored_position(&mut self, index: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = self.overlay.get_new(index)?;
        Ok(found.map(Cow::into_owned))
    }

    /// Whether an edit with this operation can move an existing entry: also one that only moves it
    /// ([`super::Edit::moved`]), which has the position itself.
    pub fn may_move(&self, operation: Operation) -> bool {
        match operation {
            Operation::Merge | Operation::Replace => true,
            Operation::None => self.placement.is_some(),
            _ => false,
        }
    }

    /// The position of an entry: that of the edit, which its first entry takes, else from the annotations.
    pub fn insert(&mut self, data: &DataNode) -> Result<Option<Insert>> {
        if let Some(placement) = self.placement.take() {
            return Ok(Some(placement));
        }
        let mut insert = None;
        let mut point = None;
        for annotation in &data.annotations {
            match annotation {
                Annotation::Insert(place) => insert = Some(place.clone()),
                Annotation::Key(predicates) => point = self.key_point(data, predicates),
                Annotation::Value(text) => point = self.value_point(data, text),
                _ => {}
            }
        }
        Ok(match (insert.as_deref(), point) {
            (None, _) => None,
            (Some("first"), _) => Some(Insert::First),
            (Some("last"), _) => Some(Insert::Last),
            (Some("before"), Some(point)) => Some(Insert::Before(point)),
            (Some("after"), Some(point)) => Some(Insert::After(point)),
            (Some("before" | "after"), None) => {
                let message = "insert before or after needs the entry to insert at";
                let missing = match self.schema().node(data.node).is_list() {
                    true => "key",
                    false => "value",
                };
                let error = DataError::new(ErrorTag::MissingAttribute, message);
                self.fail_with(data, error.on_attribute(missing));
                None
            }
            (Some(other), _) => {
                let message =
                    format!("insert is “{other}”; it may be first, last, before or after");
                let error = DataError::new(ErrorTag::BadAttribute, message);
                self.fail_with(data, error.on_attribute("insert"));
                None
            }
        })
    }

    /// The entry that `yang:key` refers to: predicates on the list of the edited entry.
    fn key_point(&mut self, data: &DataNode, predicates: &str) -> Option<Vec<Value>> {
        let schema = self.schema();
        let resource = self.path.parent().unwrap_or_default();
        let list = resource
            .child(data.node, Keys::None)
            .to_instance_identifier(schema);
        let point = InstancePath::parse_cli_path(schema, &format!("{list}{predicates}"));
        match point.map(|mut point| point.steps.pop().map(|step| step.keys)) {
            Ok(Some(Keys::Values(keys))) => Some(keys),
            Ok(_) => {
                let message = "the key to insert at names no entry";
                let error = DataError::new(ErrorTag::BadAttribute, message);
                self.fail_with(data, error.on_attribute("key"));
                None
            }
            Err(error) => {
                let error = DataError::new(ErrorTag::BadAttribute, error.message);
                self.fail_with(data, error.on_attribute("key"));
                None
            }
        }
    }

    /// The entry that `yang:value` refers to.
    fn value_point(&mut self, data: &DataNode, text: &str) -> Option<Vec<Value>> {
        let schema = self.schema();
        let node = schema.node(data.node);
        let names = ModuleNames {
            leaf_module: node.module,
        };
        match node.as_value()?.value_type.parse(schema, text, &names) {
            Ok(value) => Some(vec![value]),
            Err(error) => {
                let error = DataError::new(ErrorTag::BadAttribute, error.message);
                self.fail_with(data, error.on_attribute("value"));
                None
            }
        }
    }

    /// An encoded position for a new entry.
    pub fn new_position(
        &mut self,
        list: &[u8],
        insert: &Insert,
        data: &DataNode,
    ) -> Result<Vec<u8>> {
        let (before, after) = match self.neighbours(list, insert)? {
            Some(neighbours) => neighbours,
            None => {
                // RFC 7950 §15.7.
                let message = "the entry to insert at does not exist";
                let error = DataError::new(ErrorTag::BadAttribute, message);
                let attribute = match self.schema().node(data.node).is_list() {
                    true => "key",
                    false => "value",
                };
                let error = error.with_app_tag("missing-instance");
                self.fail_with(data, error.on_attribute(attribute));
                return Ok(Vec::new());
            }
        };
        let position = match Position::between(before.as_ref(), after.as_ref()) {
            Some(position) => position,
            None => {
                self.renumber(list)?;
                return self.new_position(list, insert, data);
            }
        };
        let mut bytes = Vec::new();
        position.put(&mut bytes);
        self.last = matches!(insert, Insert::Last).then(|| (list.to_vec(), position));
        Ok(bytes)
    }

    /// The position of the last entry of a list; cached after an entry was appended.
    fn last_position(&self, list: &[u8]) -> Result<Option<Position>> {
        match &self.last {
            Some((cached, position)) if cached == list => Ok(Some(position.clone())),
            _ => self.end_position(list, &KeyRange::strictly_below(list), Direction::Backward),
        }
    }

    /// The positions before and after the place of a new entry; `None` if the entry to insert at does not
    /// exist.
    #[allow(clippy::type_complexity)]
    fn neighbours(
        &self,
        list: &[u8],
        insert: &Insert,
    ) -> Result<Option<(Option<Position>, Option<Position>)>> {
        let all = KeyRange::strictly_below(list);
        let (point, is_before) = match insert {
            Insert::First => {
                return Ok(Some((
                    None,
                    self.end_position(list, &all, Direction::Forward)?,
                )));
            }
            Insert::Last => {
                return Ok(Some((self.last_position(list)?, None)));
            }
            Insert::Before(keys) => (self.state().position(list, keys)?, true),
            Insert::After(keys) => (self.state().position(list, keys)?, false),
        };
        let Some(point) = point else { return Ok(None) };
        let entry = [list, &point].concat();
        let point = Some(Position::take(&mut point.as_slice())?);
        Ok(Some(match is_before {
            true => {
                let range = KeyRange {
                    start: all.start,
                    end: Some(entry),
                };
                (self.end_position(list, &range, Direction::Backward)?, point)
            }
            false => {
                let start = KeyRange::prefix(&entry).end.unwrap_or(entry);
                let range = KeyRange {
                    start,
                    end: all.end,
                };
                (point, self.end_position(list, &range, Direction::Forward)?)
            }
        }))
    }

    /// The position of the first (or last) entry in a range of a list.
    fn end_position(
        &self,
        list: &[u8],
        range: &KeyRange,
        from: Direction,
    ) -> Result<Option<Position>> {
        let state = self.state();
        let mut cursor = state.snapshot.scan(range, from)?;
        let Some((key, _)) = cursor.next()? else {
            return Ok(None);
        };
        Position::take(&mut &key[list.len()..]).map(Some)
    }

    /// Moves an existing entry with its content.
    pub fn move_entry(
        &mut self,
        list: &[u8],
        keys: &[Value],
        insert: &Insert,
        data: &DataNode,
    ) -> Result<Vec<u8>> {
        let is_itself =
            matches!(insert, Insert::Before(point) | Insert::After(point) if point == keys);
        let new = match is_itself {
            true => None,
            false => Some(self.new_position(list, insert, data)?),
        };
        // Read now: assigning a position may have renumbered the list.
        let stored = self.state().position(list, keys)?.unwrap_or_default();
        let Some(new) = new.filter(|new| !new.is_empty()) else {
            return Ok(stored);
        };
        let (old_key, new_key) = ([list, &stored].concat(), [list, &new].concat());
        for (key, touch) in self.take_touched(&old_key) {
            let key = [&new_key, &key[old_key.len()..]].concat();
            self.touched.insert(key, touch);
        }
        for subspace in [Subspace::Tree, Subspace::Order, Subspace::Stamp] {
            self.rename(
                &in_subspace(&old_key, subspace),
                &in_subspace(&new_key, subspace),
            )?;
        }
        Ok(new)
    }

    /// Replaces the prefix `old` by `new` in every key.
    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        self.clear_cached_keys();
        let range = KeyRange::prefix(old);
        let moved = self.collect(&range)?;
        if !moved.is_empty() {
            self.overlay.delete_range(&range);
        }
        for (key, value) in moved {
            self.overlay.put([new, &key[old.len()..]].concat(), value);
        }
        Ok(())
    }

    fn collect(&self, range: &KeyRange) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let state = self.state();
        let mut cursor = state.snapshot.scan(range, Direction::Forward)?;
        let mut pairs = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            pairs.push((key.to_vec(), value.to_vec()));
        }
        Ok(pairs)
    }

    /// Renumbers the entries of a list in the same order, so that there is room between any two.
    fn renumber(&mut self, list: &[u8]) -> Result<()> {
        self.clear_cached_keys();
        let mut new_positions: FxHashMap<Vec<u8>, Vec<u8>> = FxHashMap::default();
        for (key, _) in self.collect(&KeyRange::strictly_below(list))? {
            let old = entry_prefix(list, &key)?[list.len()..].to_vec();
            let next = new_positions.len() as i64;
            new_positions.entry(old).or_insert_with(|| {
                let mut bytes = Vec::new();
                Position::at(next).put(&mut bytes);
                bytes
            });
        }
        for subspace in [Subspace::Tree, Subspace::Order, Subspace::Stamp] {
            self.renumber_in(&in_subspace(list, subspace), &new_positions)?;
        }
        for (key, touch) in self.take_touched(list) {
            let entry = entry_prefix(list, &key)?.len();
            let new = new_positions.get(&key[list.len()..entry]);
            let new = new.map_or(&key[list.len()..entry], Vec::as_slice);
            self.touched
                .insert([list, new, &key[entry..]].concat(), touch);
        }
        Ok(())
    }

    fn renumber_in(
        &mut self,
        list: &[u8],
        new_positions: &FxHashMap<Vec<u8>, Vec<u8>>,
    ) -> Result<()> {
        let range = KeyRange::strictly_below(list);
        let pairs = self.collect(&range)?;
        if !pairs.is_empty() {
            self.overlay.delete_range(&range);
        }
        for (key, value) in pairs {
            if is_order_index(list, &key) {
                let value = new_positions.get(&value).cloned().unwrap_or(value);
                self.overlay.put(key, value);
                continue;
            }
            let entry = entry_prefix(list, &key)?.len();
            let new = new_positions.get(&key[list.len()..entry]);
            let new = new.map_or(&key[list.len()..entry], Vec::as_slice);
            self.overlay.put([list, new, &key[entry..]].concat(), value);
        }
        Ok(())
    }
}
