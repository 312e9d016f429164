//! Bodies for the whole datastore that are too large for memory: streamed from a file into the store, in
//! one commit.

use std::cell::Cell;
use std::io::Read;

use espalier_store::{LoadMode, LoadOptions, View};
use espalier_yang::data::{Annotations, MetadataMode, ParseOptions, Root, Stop};
use espalier_yang::{InstancePath, Keys, Mark, NodeId, Schema, Sink, Value};
use http::{Method, StatusCode};

use super::document::KeyCollector;
use super::preconditions::{CheckFailure, Presence};
use super::write_request::{Job, WriteResult};
use crate::restconf::codec;
use crate::restconf::error::Result;
use crate::restconf::media::Format;

impl Job {
    /// Loads a document: PUT replaces the datastore, PATCH merges into it, POST creates one top-level node.
    pub(super) fn load(&self, format: Format, mut input: impl Read) -> Result<WriteResult> {
        let (mode, root, status) = match self.method {
            Method::POST => (LoadMode::Create, Root::ChildOf(None), StatusCode::CREATED),
            Method::PUT => (LoadMode::Replace, Root::Datastore, StatusCode::NO_CONTENT),
            _ => (LoadMode::Merge, Root::Datastore, StatusCode::NO_CONTENT),
        };
        let status = Cell::new(status);
        let parse = ParseOptions {
            accept: self.accept,
            metadata: MetadataMode::Plain,
            place: InstancePath::root(),
            wrapping: self.wrapping,
            ..ParseOptions::default()
        };
        let failure = CheckFailure::default();
        let check = |view: &View| {
            if mode == LoadMode::Replace {
                status.set(Presence::of(view, self.path())?.put_status());
            }
            self.check_existing(view)
        };
        let check = |view: &View| failure.keep(check(view));
        let options = LoadOptions {
            mode,
            author: &self.author,
            comment: &self.who.comment,
            guard: Some(&check),
            ..LoadOptions::default()
        };
        let schema = self.schema();
        let mut top = TopNode::default();
        let mut document = |sink: &mut dyn Sink| {
            let mut sink = TopNodeRecorder {
                schema,
                top: &mut top,
                sink,
            };
            codec::parse(schema, format, root, &mut input, &mut sink, &parse).map_err(Into::into)
        };
        let report = self.target.of.load(options, &mut document);
        let report = report.map_err(|error| failure.explain(error))?;
        let path = match (&self.method, top.node) {
            (&Method::POST, Some(node)) => {
                let keys = top.keys.keys(schema.node(node).keys());
                let keys = top.value.map_or(keys, |value| Keys::Values(vec![value]));
                self.path().child(node, keys)
            }
            _ => InstancePath::root(),
        };
        WriteResult::new(self, status.get(), &path, &report.commit)
    }
}

/// The first top-level node of a document, and its keys.
#[derive(Default)]
struct TopNode {
    depth: usize,
    node: Option<NodeId>,
    keys: KeyCollector,
    /// The value, if it is a leaf-list entry.
    value: Option<Value>,
}

/// Forwards events and records the first top-level node.
struct TopNodeRecorder<'a> {
    schema: &'a Schema,
    top: &'a mut TopNode,
    sink: &'a mut dyn Sink,
}

type Event = std::result::Result<(), Stop>;

impl Sink for TopNodeRecorder<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Event {
        if self.top.depth == 0 {
            self.top.node.get_or_insert(node);
        }
        self.top.depth += 1;
        self.sink.open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Event {
        match self.top.depth {
            0 => {
                self.top.node.get_or_insert(node);
                if self.schema.node(node).is_leaf_list() {
                    self.top.value.get_or_insert_with(|| value.clone());
                }
            }
            1 if self
                .schema
                .node(node)
                .as_value()
                .is_some_and(|leaf| leaf.is_key) =>
            {
                self.top.keys.add(node, &value);
            }
            _ => {}
        }
        self.sink.leaf(node, value, mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Event {
        if self.top.depth == 0 {
            self.top.node.get_or_insert(node);
        }
        self.sink.any(node, json, mark)
    }

    fn close(&mut self, mark: Mark) -> Event {
        self.top.depth -= 1;
        self.sink.close(mark)
    }

    fn annotate(&mut self, annotations: Annotations) -> Event {
        self.sink.annotate(annotations)
    }

    fn bare(&mut self, node: NodeId, mark: Mark) -> Event {
        self.sink.bare(node, mark)
    }
}
