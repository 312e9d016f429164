//! The entries that a page can have, one after another.

use std::ops::ControlFlow;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item};
use espalier_yang::{Instances, Value};

use super::limits::{
    PAGE_ENTRIES_EXAMINED_MAX, PAGE_SORT_VALUE_BYTES_MAX, PAGE_XPATH_STEPS_MAX, too_big,
};
use super::output::Output;
use super::sort_key::SortKey;
use crate::error::{Error, Result};
use crate::fragment::take_entry_value;
use crate::keys::put_key_value;
use crate::tree::validate::{NodeRef, StoreInstances};

/// The list or leaf-list of a page.
#[derive(Clone, Copy)]
pub(super) struct PagedList<'a> {
    pub data: &'a StoreInstances<'a>,
    pub node: &'a Node,
    /// The key of the whole list.
    pub key: &'a [u8],
    /// The node that contains the list.
    pub parent: &'a NodeRef,
}

/// The entries of a list that the reader sees, and for which the condition is true. `T` is the data that the condition
/// sees.
pub(super) struct Entries<'a, T: Instances<Inner = NodeRef, Error = Error>> {
    pub list: PagedList<'a>,
    pub output: Output<'a>,
    evaluator: Evaluator<'a, T>,
    condition: Option<&'a Expression>,
    /// The entries that were examined and are not on the page.
    examined: u64,
    /// The nodes that evaluations visited.
    steps: u64,
}

/// Visits an entry by its key and a row of it.
pub(super) type VisitEntry<'v, 'a, T> =
    dyn FnMut(&mut Entries<'a, T>, &[u8], &[u8]) -> Result<ControlFlow<()>> + 'v;

impl<'a, T: Instances<Inner = NodeRef, Error = Error>> Entries<'a, T> {
    /// Those of a list.
    pub fn new(
        list: PagedList<'a>,
        output: Output<'a>,
        evaluator: Evaluator<'a, T>,
        condition: Option<&'a Expression>,
    ) -> Self {
        Self {
            list,
            output,
            evaluator,
            condition,
            examined: 0,
            steps: 0,
        }
    }

    /// Whether the entries in a range of keys are those of a page: no other test is needed than that of the output.
    pub fn are_ranges(&self) -> bool {
        self.condition.is_none() && self.output.sends_ranges()
    }

    /// Visits the entries in a range.
    pub fn each(
        &mut self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut VisitEntry<'_, 'a, T>,
    ) -> Result<()> {
        if super::scope::is_empty(range) {
            return Ok(());
        }
        let PagedList {
            data, node, key, ..
        } = self.list;
        data.scan_entries(key, node.id, range, direction, &mut |entry, row| match self
            .accepts(entry, row)?
        {
            true => visit(self, entry, row),
            false => Ok(ControlFlow::Continue(())),
        })
    }

    /// Counts an entry that is not on the page.
    ///
    /// # Errors
    /// `too-big` beyond [`PAGE_ENTRIES_EXAMINED_MAX`].
    pub fn examine(&mut self) -> Result<()> {
        self.examined += 1;
        match self.examined > PAGE_ENTRIES_EXAMINED_MAX {
            true => Err(too_big(
                "an examination of many entries",
                PAGE_ENTRIES_EXAMINED_MAX,
                "PAGE_ENTRIES_EXAMINED_MAX",
            )),
            false => Ok(()),
        }
    }

    fn accepts(&mut self, entry: &[u8], row: &[u8]) -> Result<bool> {
        let is_accepted = self.output.shows(entry, row)? && self.fulfils(entry, row)?;
        if !is_accepted {
            self.examine()?;
        }
        Ok(is_accepted)
    }

    fn fulfils(&mut self, entry: &[u8], row: &[u8]) -> Result<bool> {
        let Some(condition) = self.condition else {
            return Ok(true);
        };
        let item = self.item(entry, row)?;
        self.fulfils_condition(condition, &item)
    }

    /// Whether the condition is true for a default of the leaf-list.
    pub fn fulfils_default(&mut self, value: &Value) -> Result<bool> {
        let Some(condition) = self.condition else {
            return Ok(true);
        };
        let PagedList { node, parent, .. } = self.list;
        let item = Item::leaf(parent.clone(), node.id, value.clone());
        self.fulfils_condition(condition, &item)
    }

    fn fulfils_condition(&mut self, condition: &'a Expression, item: &Item<T>) -> Result<bool> {
        let is_true = self.evaluator.test_shared(condition, item)?;
        self.steps += self.evaluator.steps();
        match self.steps > PAGE_XPATH_STEPS_MAX {
            true => Err(too_big(
                "evaluations that visit many nodes",
                PAGE_XPATH_STEPS_MAX,
                "PAGE_XPATH_STEPS_MAX",
            )),
            false => Ok(is_true),
        }
    }

    /// The entry as a node of an expression.
    fn item(&self, entry: &[u8], row: &[u8]) -> Result<Item<T>> {
        let PagedList {
            data, node, parent, ..
        } = self.list;
        Ok(match node.is_list() {
            true => Item::Inner(data.entry_at(parent, node.id, entry)),
            false => Item::leaf(parent.clone(), node.id, take_entry_value(row)?),
        })
    }

    /// The place of an entry in the order of a leaf: of the value in use, without one after all others.
    pub fn sort_place(&self, key: &SortKey, entry: &[u8], row: &[u8]) -> Result<Vec<u8>> {
        let value = match self.item(entry, row)? {
            Item::Leaf(leaf) | Item::Text(leaf) => Some(leaf.value),
            Item::Inner(entry) => self.value_in(entry, key)?,
        };
        let mut place = vec![u8::from(value.is_none())];
        if let Some(value) = value {
            put_key_value(&mut place, &value);
        }
        place.truncate(PAGE_SORT_VALUE_BYTES_MAX);
        Ok(place)
    }

    fn value_in(&self, entry: NodeRef, key: &SortKey) -> Result<Option<Value>> {
        let mut holder = entry;
        for &container in &key.containers {
            match self.evaluator.container(&holder, container)? {
                Some(inner) => holder = inner,
                None => return Ok(None),
            }
        }
        let found = self.evaluator.leaf(&holder, key.leaf)?;
        Ok(found.map(|(value, _)| value))
    }
}
