//! Edits of the naive tree.

use espalier_store::Edit;
use espalier_yang::data::{Annotation, Content, DataNode, DataTree, Operation};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{ErrorTag, InstancePath, Keys, NodeId, NodeKind, Schema, Value};

use crate::reference::{children_mut, entry_keys, has_content, is_leaf, is_rival, position, prune};

/// One change, for the store and for the naive tree.
#[derive(Clone, Debug)]
pub enum Change {
    Tree(InstancePath, DataTree, Operation),
    Delete(InstancePath),
    Remove(InstancePath),
    ReplaceAll(DataTree),
}

impl Change {
    pub fn to_edit(&self) -> Edit {
        match self.clone() {
            Self::Tree(at, tree, operation) => Edit::apply(at, tree, operation),
            Self::Delete(path) => Edit::delete(path),
            Self::Remove(path) => Edit::remove(path),
            Self::ReplaceAll(tree) => Edit::replace_all(tree),
        }
    }
}

/// Applies changes in order; on error returns the tag of the first error, and changes nothing.
pub fn apply(schema: &Schema, tree: &mut DataTree, changes: &[Change]) -> Result<(), ErrorTag> {
    let mut result = tree.clone();
    let mut naive = Naive {
        schema,
        errors: Vec::new(),
    };
    for change in changes {
        naive.change(&mut result.nodes, change);
        prune(schema, &mut result.nodes);
    }
    match naive.errors.first() {
        Some(&tag) => Err(tag),
        None => {
            *tree = result;
            Ok(())
        }
    }
}

enum Insert {
    First,
    Last,
    Before(Vec<Value>),
    After(Vec<Value>),
}

struct Naive<'s> {
    schema: &'s Schema,
    errors: Vec<ErrorTag>,
}

impl Naive<'_> {
    fn change(&mut self, roots: &mut Vec<DataNode>, change: &Change) {
        match change {
            Change::Tree(at, tree, operation) => self.at(roots, &at.steps, &tree.nodes, *operation),
            Change::Delete(path) => self.delete(roots, &path.steps, Operation::Delete),
            Change::Remove(path) => self.delete(roots, &path.steps, Operation::Remove),
            Change::ReplaceAll(tree) => {
                roots.clear();
                self.children(roots, &tree.nodes, Operation::Merge);
            }
        }
    }

    /// Edits below a path; containers without presence on the path are created.
    fn at(
        &mut self,
        siblings: &mut Vec<DataNode>,
        steps: &[espalier_yang::Step],
        nodes: &[DataNode],
        operation: Operation,
    ) {
        let Some((step, rest)) = steps.split_first() else {
            return self.children(siblings, nodes, operation);
        };
        let schema = self.schema;
        let found = position(schema, siblings, step.node, &step.keys);
        let index = match found {
            Some(index) => index,
            None if schema.node(step.node).is_np_container() => {
                siblings.push(DataNode::new(step.node, Content::Inner(Vec::new())));
                siblings.len() - 1
            }
            None => return self.errors.push(ErrorTag::DataMissing),
        };
        self.at(children_mut(&mut siblings[index]), rest, nodes, operation);
        if found.is_none() && has_content(schema, &siblings[index]) {
            self.remove_rivals(siblings, step.node);
        }
    }

    fn delete(
        &mut self,
        siblings: &mut Vec<DataNode>,
        steps: &[espalier_yang::Step],
        operation: Operation,
    ) {
        let schema = self.schema;
        let Some((step, rest)) = steps.split_first() else {
            return siblings.clear();
        };
        let node = schema.node(step.node);
        let is_whole = step.keys == Keys::None && (node.is_list() || node.is_leaf_list());
        let found = position(schema, siblings, step.node, &step.keys);
        match found {
            Some(index) if !rest.is_empty() => {
                self.delete(children_mut(&mut siblings[index]), rest, operation);
            }
            _ if rest.is_empty() && node.as_value().is_some_and(|value| value.is_key) => {
                self.errors.push(ErrorTag::OperationNotSupported);
            }
            Some(_) if is_whole => siblings.retain(|one| one.node != step.node),
            Some(index) => drop(siblings.remove(index)),
            None => self.missing(operation),
        }
    }

    fn missing(&mut self, operation: Operation) {
        if operation == Operation::Delete {
            self.errors.push(ErrorTag::DataMissing);
        }
    }

    /// The leaves first, then the others in order.
    fn children(&mut self, siblings: &mut Vec<DataNode>, nodes: &[DataNode], inherited: Operation) {
        let schema = self.schema;
        for data in nodes {
            let node = schema.node(data.node);
            if is_leaf(node) && !node.as_value().is_some_and(|value| value.is_key) {
                self.leaf(siblings, data, data.operation().unwrap_or(inherited));
            }
        }
        for data in nodes {
            let operation = data.operation().unwrap_or(inherited);
            match schema.node(data.node).kind {
                NodeKind::LeafList(_) | NodeKind::List(_) => self.entry(siblings, data, operation),
                NodeKind::Container { .. } => self.container(siblings, data, operation),
                _ => {}
            }
        }
    }

    fn leaf(&mut self, siblings: &mut Vec<DataNode>, data: &DataNode, operation: Operation) {
        let found = siblings.iter().position(|one| one.node == data.node);
        match (operation, found) {
            (Operation::None, _) => {}
            (Operation::Delete | Operation::Remove, Some(index)) => drop(siblings.remove(index)),
            (Operation::Delete | Operation::Remove, None) => self.missing(operation),
            (Operation::Create, Some(_)) => self.errors.push(ErrorTag::DataExists),
            (_, found) => {
                match found {
                    Some(index) => siblings[index].content = data.content.clone(),
                    None => siblings.push(DataNode::new(data.node, data.content.clone())),
                }
                self.remove_rivals(siblings, data.node);
            }
        }
    }

    fn remove_rivals(&self, siblings: &mut Vec<DataNode>, node: NodeId) {
        siblings.retain(|one| !is_rival(self.schema, node, one.node));
    }

    fn container(&mut self, siblings: &mut Vec<DataNode>, data: &DataNode, operation: Operation) {
        let schema = self.schema;
        let found = siblings
            .iter()
            .position(|one| one.node == data.node && has_content(schema, one));
        match (operation, found) {
            (Operation::Delete | Operation::Remove, Some(index)) => drop(siblings.remove(index)),
            (Operation::Delete | Operation::Remove, None) => self.missing(operation),
            (Operation::Create, Some(_)) => self.errors.push(ErrorTag::DataExists),
            (Operation::None, None) if !schema.node(data.node).is_np_container() => {
                self.errors.push(ErrorTag::DataMissing);
            }
            _ => self.inner(siblings, data, operation, found),
        }
    }

    /// A container or entry at an index, which is created if it does not exist.
    fn inner(
        &mut self,
        siblings: &mut Vec<DataNode>,
        data: &DataNode,
        operation: Operation,
        found: Option<usize>,
    ) {
        let schema = self.schema;
        let index = found.unwrap_or_else(|| {
            let keys = key_leaves(schema, data);
            siblings.push(DataNode::new(data.node, Content::Inner(keys)));
            siblings.len() - 1
        });
        if operation == Operation::Replace {
            siblings[index].content = Content::Inner(key_leaves(schema, data));
        }
        let for_children = match operation {
            Operation::Create | Operation::Replace => Operation::Merge,
            other => other,
        };
        self.children(
            children_mut(&mut siblings[index]),
            data.children(),
            for_children,
        );
        if operation != Operation::None || has_content(schema, &siblings[index]) {
            self.remove_rivals(siblings, data.node);
        }
    }

    fn entry(&mut self, siblings: &mut Vec<DataNode>, data: &DataNode, operation: Operation) {
        let schema = self.schema;
        let node = schema.node(data.node);
        let keys = entry_keys(schema, data);
        let deletes = matches!(operation, Operation::Delete | Operation::Remove);
        if deletes && keys.is_empty() {
            let before = siblings.len();
            siblings.retain(|one| one.node != data.node);
            if siblings.len() == before {
                self.missing(operation);
            }
            return;
        }
        let is_state_value = node.is_leaf_list() && !node.is_config;
        let found = siblings.iter().position(|one| {
            one.node == data.node
                && !keys.is_empty()
                && (deletes || !is_state_value)
                && entry_keys(schema, one) == keys
        });
        match (operation, found) {
            (Operation::Delete | Operation::Remove, Some(index)) => drop(siblings.remove(index)),
            (Operation::Delete | Operation::Remove, None) => self.missing(operation),
            (Operation::Create, Some(_)) => self.errors.push(ErrorTag::DataExists),
            (Operation::None, _) if node.is_leaf_list() => {}
            (Operation::None, None) => self.errors.push(ErrorTag::DataMissing),
            (_, found) => self.place(siblings, data, operation, found, &keys),
        }
    }

    /// Inserts an entry at its place, and edits its content.
    fn place(
        &mut self,
        siblings: &mut Vec<DataNode>,
        data: &DataNode,
        operation: Operation,
        found: Option<usize>,
        keys: &[Value],
    ) {
        let schema = self.schema;
        let insert = match operation {
            Operation::None => None,
            _ => self.insert(data),
        };
        let mut index = found;
        let is_itself =
            matches!(&insert, Some(Insert::Before(at) | Insert::After(at)) if at == keys);
        if schema.node(data.node).is_positional()
            && (found.is_none() || insert.is_some() && !is_itself)
        {
            let insert = insert.unwrap_or(Insert::Last);
            if !self.has_point(siblings, data, &insert) {
                return self.errors.push(ErrorTag::BadAttribute);
            }
            let entry = match found {
                Some(index) => siblings.remove(index),
                None => self.new_entry(data),
            };
            let at = self.place_of(siblings, data, &insert);
            siblings.insert(at, entry);
            index = Some(at);
        }
        match &data.content {
            Content::Value(_) if index.is_none() => siblings.push(self.new_entry(data)),
            Content::Value(_) => {}
            _ => return self.inner(siblings, data, operation, index),
        }
        self.remove_rivals(siblings, data.node);
    }

    fn new_entry(&self, data: &DataNode) -> DataNode {
        let content = match &data.content {
            Content::Value(value) => Content::Value(value.clone()),
            _ => Content::Inner(key_leaves(self.schema, data)),
        };
        DataNode::new(data.node, content)
    }

    fn has_point(&self, siblings: &[DataNode], data: &DataNode, insert: &Insert) -> bool {
        match insert {
            Insert::First | Insert::Last => true,
            Insert::Before(keys) | Insert::After(keys) => siblings
                .iter()
                .any(|one| one.node == data.node && entry_keys(self.schema, one) == *keys),
        }
    }

    fn place_of(&self, siblings: &[DataNode], data: &DataNode, insert: &Insert) -> usize {
        let is_entry = |one: &DataNode| one.node == data.node;
        let is_point =
            |one: &DataNode, keys: &[Value]| is_entry(one) && entry_keys(self.schema, one) == keys;
        let at = match insert {
            Insert::First => siblings.iter().position(is_entry),
            Insert::Last => siblings.iter().rposition(is_entry).map(|last| last + 1),
            Insert::Before(keys) => siblings.iter().position(|one| is_point(one, keys)),
            Insert::After(keys) => siblings
                .iter()
                .position(|one| is_point(one, keys))
                .map(|point| point + 1),
        };
        at.unwrap_or(siblings.len())
    }

    fn insert(&self, data: &DataNode) -> Option<Insert> {
        let mut point = None;
        let mut place = None;
        for annotation in &data.annotations {
            match annotation {
                Annotation::Insert(text) => place = Some(text.clone()),
                Annotation::Key(text) => point = Some(self.key_point(data, text)),
                Annotation::Value(text) => {
                    let leaf = self.schema.node(data.node);
                    let names = ModuleNames {
                        leaf_module: leaf.module,
                    };
                    let value_type = &leaf.as_value().unwrap().value_type;
                    point = Some(vec![value_type.parse(self.schema, text, &names).unwrap()]);
                }
                _ => {}
            }
        }
        match place.as_deref()? {
            "first" => Some(Insert::First),
            "last" => Some(Insert::Last),
            "before" => Some(Insert::Before(point?)),
            _ => Some(Insert::After(point?)),
        }
    }

    /// The generator writes each predicate as `[name='value']`, with quotes doubled.
    fn key_point(&self, data: &DataNode, text: &str) -> Vec<Value> {
        let mut rest = text;
        let mut values = Vec::new();
        for &key in self.schema.node(data.node).keys() {
            let key = self.schema.node(key);
            rest = rest.strip_prefix(&format!("[{}='", key.name)).unwrap();
            let mut value = String::new();
            loop {
                let (part, after) = rest.split_once('\'').unwrap();
                value.push_str(part);
                rest = after;
                let Some(after) = rest.strip_prefix('\'') else {
                    break;
                };
                value.push('\'');
                rest = after;
            }
            rest = rest.strip_prefix(']').unwrap();
            let names = ModuleNames {
                leaf_module: key.module,
            };
            let value_type = &key.as_value().unwrap().value_type;
            values.push(value_type.parse(self.schema, &value, &names).unwrap());
        }
        values
    }
}

fn key_leaves(schema: &Schema, data: &DataNode) -> Vec<DataNode> {
    let keys = schema.node(data.node).keys().iter();
    keys.filter_map(|&key| data.child(key))
        .map(|key| DataNode::new(key.node, key.content.clone()))
        .collect()
}
