//! Shared by the JSON and XML readers: resolves names to nodes, checks the structure, and reports every error
//! with its line and path. Invalid data never reaches the sink.

use std::{io, mem};

use super::entry_set::{ENTRIES_MAX, Entry, KeyValues};
use super::frame::{Frame, PathWriter};
use super::options::{Accept, MetadataMode, ParseError, ParseOptions, Root, Wrapping};
use super::sink::{Annotations, Mark, Sink, Stop, deletes};
use super::tree::TreeBuilder;
use crate::error::{DataError, ErrorTag, ErrorType, Errors};
use crate::schema::{Node, NodeId, NodeKind, Schema, ValueError};
use crate::value::Value;

/// Why reading stops before the end of the document.
#[derive(Debug)]
pub(super) enum Halt {
    /// The text is not JSON or XML, or exceeds a limit; the rest is not read.
    Invalid(Box<DataError>),
    /// Reading failed.
    Read(io::Error),
    /// The sink stopped.
    Stopped,
}

impl From<Stop> for Halt {
    fn from(_: Stop) -> Self {
        Self::Stopped
    }
}

/// The text violates the grammar of the format.
pub(super) fn malformed(mark: Mark, message: impl Into<String>) -> Halt {
    let error = DataError::new(ErrorTag::MalformedMessage, message)
        .of_type(ErrorType::Rpc)
        .on_line(mark.line);
    Halt::Invalid(Box::new(error))
}

/// A part of the document exceeds a length limit.
pub(super) fn too_big(mark: Mark, message: impl Into<String>) -> Halt {
    let error = DataError::new(ErrorTag::TooBig, message).on_line(mark.line);
    Halt::Invalid(Box::new(error))
}

/// The name of a child, as the format writes it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChildName<'a> {
    /// `name` or `module:name` (RFC 7951 §4).
    Json(&'a str),
    /// A namespace and a local name.
    Xml(&'a str, &'a str),
}

/// The destination of events.
enum Output<'a> {
    /// The caller's sink, immediately.
    Sink(&'a mut dyn Sink),
    /// A tree, so that annotations can be added later.
    Buffered(TreeBuilder, &'a mut dyn Sink),
}

/// Checks what a parser reads against the schema and passes it on.
pub(super) struct Assembler<'a> {
    pub(super) schema: &'a Schema,
    pub(super) options: &'a ParseOptions,
    root: Root,
    output: Output<'a>,
    errors: Errors,
    frames: Vec<Frame>,
    /// The number of open `frames`; the others are kept for reuse.
    depth: usize,
    /// The number of entry hashes in all open frames.
    hash_count: usize,
    /// The last recorded child: the position of an error if a limit stops reading.
    last_child: Option<NodeId>,
    /// Whether the annotations of the next node delete it. Such a node can be given again: an edit can delete an
    /// entry and create it anew.
    deletes_next: bool,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        root: Root,
        sink: &'a mut dyn Sink,
        options: &'a ParseOptions,
    ) -> Self {
        let mut document = Frame::default();
        document.reset(schema, None, Mark::default());
        Self {
            schema,
            options,
            root,
            output: Output::Sink(sink),
            errors: Errors::new(),
            frames: vec![document],
            depth: 1,
            hash_count: 0,
            last_child: None,
            deletes_next: false,
        }
    }

    /// Buffers the document in a tree until it is complete.
    pub(super) fn buffered(mut self) -> Self {
        if let Output::Sink(sink) = self.output {
            self.output = Output::Buffered(TreeBuilder::new(), sink);
        }
        self
    }

    /// Returns whether the open node has had this child.
    pub(super) fn has_child(&self, id: NodeId) -> bool {
        self.frames[self.depth - 1].has_single(id)
    }

    pub(super) fn keeps_metadata(&self) -> bool {
        self.options.metadata == MetadataMode::Kept
    }

    /// Returns whether a document of this root contains exactly one node.
    pub(super) fn is_single(&self) -> bool {
        self.root != Root::Datastore
    }

    /// Returns whether the parser is at the top level of the document.
    pub(super) fn is_at_root(&self) -> bool {
        self.depth == 1
    }

    /// The node whose children are being read; `None` at the top level.
    pub(super) fn parent(&self) -> Option<NodeId> {
        match (self.frames[self.depth - 1].node, self.root) {
            (Some(node), _) => Some(node),
            (None, Root::Datastore) => None,
            (None, Root::Resource(node)) => self.schema.node(node).parent,
            (None, Root::ChildOf(parent)) => parent,
        }
    }

    /// The child with a name; reports an error if there is none.
    pub(super) fn find(&mut self, name: ChildName<'_>, mark: Mark) -> Option<NodeId> {
        if let Some(id) = self.frames[self.depth - 1].expected(name) {
            return Some(id);
        }
        match self.look_up(name).and_then(|id| self.check_allowed(id)) {
            Ok(id) => {
                self.frames[self.depth - 1].cache_name(name, id);
                Some(id)
            }
            Err(error) => {
                self.report(error, None, mark);
                None
            }
        }
    }

    fn look_up(&self, name: ChildName<'_>) -> Result<NodeId, DataError> {
        let parent = self.parent();
        let (module, local) = match name {
            ChildName::Json(name) => match name.split_once(':') {
                Some((module, local)) => (self.schema.module_by_name(module), local),
                None => match parent {
                    Some(parent) => (Some(self.schema.node(parent).module), name),
                    None => {
                        let message = format!("'{name}' needs its module: 'module:{name}'");
                        let error = DataError::new(ErrorTag::UnknownElement, message);
                        return Err(error.on_element(name));
                    }
                },
            },
            ChildName::Xml(namespace, local) => (self.schema.module_by_namespace(namespace), local),
        };
        let Some(module) = module else {
            let message = match name {
                ChildName::Json(name) => format!("no module of this name: '{name}'"),
                ChildName::Xml("", local) => format!("'{local}' has no namespace"),
                ChildName::Xml(namespace, local) => {
                    format!("no module has the namespace '{namespace}' of '{local}'")
                }
            };
            let namespace = match name {
                ChildName::Json(name) => name.split_once(':').map_or("", |(module, _)| module),
                ChildName::Xml(namespace, _) => namespace,
            };
            let error = DataError::new(ErrorTag::UnknownNamespace, message);
            return Err(error.on_element(local).in_namespace(namespace));
        };
        self.schema.child(parent, module, local).ok_or_else(|| {
            let module = &self.schema.module(module).name;
            let message = match parent {
                Some(parent) => {
                    let parent = &self.schema.node(parent).name;
                    format!("'{parent}' has no child '{module}:{local}'")
                }
                None => format!("no top-level node '{module}:{local}'"),
            };
            DataError::new(ErrorTag::UnknownElement, message).on_element(local)
        })
    }

    /// Checks whether a node is allowed in this document at this position.
    fn check_allowed(&self, id: NodeId) -> Result<NodeId, DataError> {
        let node = self.schema.node(id);
        let is_target = self.is_at_root() && self.root == Root::Resource(id);
        if let Root::Resource(target) = self.root
            && self.is_at_root()
            && !is_target
        {
            let target = self.schema.qualified_name(target);
            let message = format!("the document contains '{}', not '{target}'", node.name);
            let error = DataError::new(ErrorTag::UnknownElement, message);
            return Err(error.on_element(&*node.name));
        }
        if !is_target && !is_data(node) {
            let message = format!("'{}' is not a data node", node.name);
            let error = DataError::new(ErrorTag::UnknownElement, message);
            return Err(error.on_element(&*node.name));
        }
        if self.options.accept == Accept::Config && !node.is_config && is_data(node) {
            let message = format!(
                "'{}' is state data; only configuration is accepted",
                node.name
            );
            // RFC 7950 §8.3.1.
            let error = DataError::new(ErrorTag::UnknownElement, message);
            return Err(error.on_element(&*node.name));
        }
        Ok(id)
    }

    /// Records a child, and reports it if it is a duplicate or belongs to another case. Called once per member in
    /// JSON, once per element in XML.
    pub(super) fn record_child(&mut self, id: NodeId, occurrence: Occurrence, mark: Mark) {
        self.last_child = Some(id);
        let node = self.schema.node(id);
        let may_mix_cases = node.cases.is_empty() || self.keeps_metadata();
        let frame = &mut self.frames[self.depth - 1];
        if occurrence == Occurrence::Once && !frame.record_single(id) {
            let message = format!("'{}' is given twice", node.name);
            self.report(
                DataError::new(ErrorTag::BadElement, message),
                Some(id),
                mark,
            );
        } else if !may_mix_cases && let Some((choice, other)) = frame.record_cases(&node.cases, id)
        {
            let message = format!(
                "'{}' and '{}' belong to two cases of the choice '{}'",
                self.schema.node(other).name,
                node.name,
                self.schema.choices()[choice as usize].name,
            );
            self.report(
                DataError::new(ErrorTag::BadElement, message),
                Some(id),
                mark,
            );
        }
    }

    /// Checks the envelope of a whole document: the number of envelopes, and of `nodes` outside of them.
    pub(super) fn check_envelope(&mut self, envelopes: usize, nodes: usize, mark: Mark) {
        let is_required = match self.options.wrapping {
            Wrapping::Optional => false,
            Wrapping::ResourceOrNodes => nodes == 0,
        };
        let (tag, message) = match (envelopes, nodes) {
            (1, 0) => return,
            (0, _) if !is_required => return,
            (0, _) => (
                ErrorTag::MissingElement,
                "the body is not the datastore resource, “ietf-restconf:data” (RFC 8040 §3.4)",
            ),
            _ => (
                ErrorTag::BadElement,
                "the datastore envelope is not the only node",
            ),
        };
        self.report(DataError::new(tag, message), None, mark);
    }

    /// Opens a container, list entry or other interior node.
    pub(super) fn open(&mut self, id: NodeId, mark: Mark) -> Result<(), Halt> {
        let node = self.schema.node(id);
        let mut position = 0;
        if let Some(list) = node.as_list() {
            let entries = self.frames[self.depth - 1].entries_of(id);
            entries.count += 1;
            if list.keys.is_empty() {
                position = entries.count;
            }
        }
        if self.depth == self.frames.len() {
            self.frames.push(Frame::default());
        }
        let frame = &mut self.frames[self.depth];
        frame.reset(self.schema, Some(id), mark);
        frame.position = position;
        frame.is_deleted = mem::take(&mut self.deletes_next);
        if self.depth == 1 && frame.keys.len() == self.options.target_keys.len() {
            let keys = self.options.target_keys.iter().cloned();
            frame.keys = keys.map(Some).collect();
        }
        self.depth += 1;
        self.emit(|sink| sink.open(id, mark))
    }

    /// A leaf or leaf-list entry, with its value or its error.
    pub(super) fn leaf(
        &mut self,
        id: NodeId,
        value: Result<Value, ValueError>,
        mark: Mark,
    ) -> Result<(), Halt> {
        let is_deleted = mem::take(&mut self.deletes_next);
        let Some(leaf) = self.schema.node(id).as_value() else {
            return Ok(());
        };
        let value = match value {
            Ok(value) => value,
            Err(error) => {
                self.frames[self.depth - 1].has_wrong_key |= leaf.is_key;
                self.report(error.into(), Some(id), mark);
                return Ok(());
            }
        };
        if leaf.is_key {
            self.record_key(id, &value);
        }
        if self.schema.node(id).is_leaf_list() && !is_deleted {
            self.leaf_list_entry(id, &value, mark)?;
        }
        self.emit(|sink| sink.leaf(id, value, mark))
    }

    fn record_key(&mut self, id: NodeId, value: &Value) {
        let frame = &mut self.frames[self.depth - 1];
        let keys = frame
            .node
            .map_or(&[][..], |node| self.schema.node(node).keys());
        if let Some(index) = keys.iter().position(|&key| key == id) {
            frame.keys[index] = Some(value.clone());
        }
    }

    fn leaf_list_entry(&mut self, id: NodeId, value: &Value, mark: Mark) -> Result<(), Halt> {
        if !self.schema.node(id).is_config {
            return Ok(());
        }
        let keys = KeyValues::from_elem(value.clone(), 1);
        if let Entry::Duplicate(_) = self.insert_entry(id, keys, mark)? {
            let mut path = self.path();
            path.node(id);
            path.predicate(".", value);
            let error = DataError::new(ErrorTag::BadElement, "the value is given twice");
            self.errors.push(error.at(path.finish()).on_line(mark.line));
        }
        Ok(())
    }

    /// Adds an entry of a list or leaf-list in the open node.
    fn insert_entry(&mut self, id: NodeId, keys: KeyValues, mark: Mark) -> Result<Entry, Halt> {
        let entries = self.frames[self.depth - 1].entries_of(id);
        let before = entries.len();
        let entry = entries.insert(keys);
        self.hash_count += entries.len() - before;
        if self.hash_count > ENTRIES_MAX {
            let message = format!("more than {ENTRIES_MAX} entries (ENTRIES_MAX)");
            return Err(too_big(mark, message));
        }
        Ok(entry)
    }

    /// An `anydata` or `anyxml`, its content as JSON.
    pub(super) fn any(&mut self, id: NodeId, json: &str, mark: Mark) -> Result<(), Halt> {
        self.deletes_next = false;
        self.emit(|sink| sink.any(id, json, mark))
    }

    /// A leaf without a value.
    pub(super) fn bare(&mut self, id: NodeId, mark: Mark) -> Result<(), Halt> {
        self.deletes_next = false;
        self.emit(|sink| sink.bare(id, mark))
    }

    /// The annotations of the next node.
    pub(super) fn annotate(&mut self, annotations: Annotations) -> Result<(), Halt> {
        if annotations.is_empty() {
            return Ok(());
        }
        self.deletes_next = deletes(&annotations);
        self.emit(|sink| sink.annotate(annotations))
    }

    /// The annotations of the instances of an earlier child. Only if buffered.
    pub(super) fn annotate_children(&mut self, id: NodeId, all: Vec<Annotations>, mark: Mark) {
        if let Output::Buffered(tree, _) = &mut self.output
            && self.errors.is_empty()
            && let Err(error) = tree.annotate_children(id, all, mark)
        {
            self.report(error, Some(id), mark);
        }
    }

    /// The annotations of the open node. Only if buffered.
    pub(super) fn annotate_open(&mut self, annotations: Annotations) {
        if let Output::Buffered(tree, _) = &mut self.output {
            tree.annotate_open(annotations);
        }
    }

    /// Closes the node that [`Self::open`] opened.
    pub(super) fn close(&mut self, mark: Mark) -> Result<(), Halt> {
        self.depth -= 1;
        let frame = &self.frames[self.depth];
        self.hash_count -= frame.hash_count();
        if let Some(id) = frame.node
            && !frame.keys.is_empty()
            && !frame.has_wrong_key
        {
            self.check_keys(id)?;
        }
        self.emit(|sink| sink.close(mark))
    }

    /// Checks the keys of the entry that was just closed: none is missing, and they are unique.
    fn check_keys(&mut self, id: NodeId) -> Result<(), Halt> {
        let schema = self.schema;
        let frame = &mut self.frames[self.depth];
        let mark = frame.mark;
        let names = schema.node(id).keys().iter().zip(&frame.keys);
        let missing = names
            .filter(|(_, value)| value.is_none())
            .map(|(key, _)| &*schema.node(*key).name)
            .collect::<Vec<_>>();
        if let [first, ..] = missing[..] {
            let message = format!("the list entry lacks its key '{}'", missing.join("' and '"));
            let error = DataError::new(ErrorTag::MissingElement, message);
            self.report_entry(error.on_element(first));
            return Ok(());
        }
        if frame.is_deleted {
            return Ok(());
        }
        let keys: KeyValues = frame.keys.iter_mut().filter_map(Option::take).collect();
        if let Entry::Duplicate(keys) = self.insert_entry(id, keys, mark)? {
            self.frames[self.depth].keys = keys.into_iter().map(Some).collect();
            let message = "another entry of this list has the same keys";
            self.report_entry(DataError::new(ErrorTag::BadElement, message));
        }
        Ok(())
    }

    /// Reports an error at a child of the open node or at the open node itself.
    pub(super) fn report(&mut self, error: DataError, child: Option<NodeId>, mark: Mark) {
        let mut path = self.path();
        if let Some(child) = child {
            path.node(child);
        }
        self.errors.push(error.at(path.finish()).on_line(mark.line));
    }

    /// Reports an error of the entry that was just closed.
    fn report_entry(&mut self, error: DataError) {
        let mut path = self.path();
        let mark = self.frames[self.depth].mark;
        path.frame(&self.frames[self.depth]);
        self.errors.push(error.at(path.finish()).on_line(mark.line));
    }

    fn path(&self) -> PathWriter<'a> {
        let mut path = PathWriter::new(self.schema, &self.options.place);
        self.frames[..self.depth]
            .iter()
            .for_each(|frame| path.frame(frame));
        path
    }

    fn emit(&mut self, event: impl FnOnce(&mut dyn Sink) -> Result<(), Stop>) -> Result<(), Halt> {
        if !self.errors.is_empty() {
            return Ok(());
        }
        match &mut self.output {
            Output::Sink(sink) => Ok(event(*sink)?),
            Output::Buffered(tree, _) => {
                if event(tree).is_err() {
                    let error = tree.too_big();
                    self.report(error, None, Mark::default());
                }
                Ok(())
            }
        }
    }

    /// Adds the current node to an error that ended reading, if the error is about that node.
    fn with_path(&self, error: DataError) -> DataError {
        if error.tag != ErrorTag::TooBig || !error.path.is_empty() {
            return error;
        }
        let mut path = self.path();
        let open = self.frames[self.depth - 1].node;
        if let Some(last_child) = self.last_child.filter(|last_child| {
            Some(*last_child) != open && self.schema.node(*last_child).parent == self.parent()
        }) {
            path.node(last_child);
        }
        error.at(path.finish())
    }

    /// Ends the document, complete or not.
    pub(super) fn finish(mut self, end: Result<(), Halt>) -> Result<(), ParseError> {
        match end {
            Ok(()) => {}
            Err(Halt::Invalid(error)) => {
                let error = self.with_path(*error);
                self.errors.push(error);
            }
            Err(Halt::Read(error)) => return Err(ParseError::Read(error)),
            Err(Halt::Stopped) => return Err(ParseError::Stopped),
        }
        self.errors.into_result().map_err(ParseError::Invalid)?;
        match self.output {
            Output::Sink(_) => Ok(()),
            Output::Buffered(tree, sink) => {
                let tree = tree
                    .finish()
                    .map_err(|error| ParseError::Invalid(error.into()))?;
                tree.emit(sink).map_err(|Stop| ParseError::Stopped)
            }
        }
    }
}

/// How often a child may be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// Once: leaves, containers, and complete lists in JSON.
    Once,
    /// Any number of times: list entries in XML.
    Repeated,
}

/// Returns whether a node can occur in a data tree.
fn is_data(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Container { .. }
            | NodeKind::List(_)
            | NodeKind::Leaf(_)
            | NodeKind::LeafList(_)
            | NodeKind::AnyData
            | NodeKind::AnyXml
    )
}
