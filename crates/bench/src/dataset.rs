//! The data of the suite `scale`: one list of a small model, of any length.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use espalier_store::Edit;
use espalier_yang::data::{Content, DataNode, DataTree, Stop};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Keys, Mark, NodeId, Schema, Sink, Value};

use espalier_terminal::{Failure, Result};

/// The model's text.
const MODEL: &str = include_str!("../../../models/espalier-bench-scale.yang");

const MODULE: &str = "espalier-bench-scale";

/// The schema's source.
pub fn source() -> SchemaSource {
    SchemaSource {
        modules: vec![ModuleSource {
            name: MODULE.to_owned(),
            revision: Some("2026-11-21".to_owned()),
            text: MODEL.to_owned(),
        }],
        ..SchemaSource::default()
    }
}

/// Writes the model's text.
pub fn write_model(file: &Path) -> io::Result<()> {
    std::fs::write(file, MODEL)
}

/// Writes a document of `size` entries.
pub fn write_document(file: &Path, size: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    write!(out, "{{\"{MODULE}:scale\":{{\"entry\":[")?;
    for number in 0..size {
        let comma = if number == 0 { "" } else { "," };
        let (name, text) = (entry_name(number), first_text(number));
        write!(
            out,
            "{comma}{{\"name\":\"{name}\",\"number\":{number},\"text\":\"{text}\"}}"
        )?;
    }
    write!(out, "]}}}}")?;
    out.flush()
}

/// The key of an entry. Names sort in the order of their numbers.
pub fn entry_name(number: u64) -> String {
    format!("entry-{number:08}")
}

fn first_text(number: u64) -> String {
    format!("the text of entry {number}")
}

/// The nodes of the model.
#[derive(Clone, Copy)]
pub struct Nodes {
    scale: NodeId,
    entry: NodeId,
    name: NodeId,
    number: NodeId,
    text: NodeId,
}

impl Nodes {
    /// Looks up the nodes in a schema.
    pub fn of(schema: &Schema) -> Result<Self> {
        let module = schema.module_by_name(MODULE);
        let child = |parent, name| {
            let node = module.and_then(|module| schema.child(parent, module, name));
            node.ok_or_else(|| Failure::data(format!("the bench's model has no {name}")))
        };
        let scale = child(None, "scale")?;
        let entry = child(Some(scale), "entry")?;
        Ok(Self {
            scale,
            entry,
            name: child(Some(entry), "name")?,
            number: child(Some(entry), "number")?,
            text: child(Some(entry), "text")?,
        })
    }

    /// The path of the whole list.
    pub fn list(self) -> InstancePath {
        InstancePath::root()
            .child(self.scale, Keys::None)
            .child(self.entry, Keys::None)
    }

    /// The keys of an entry.
    pub fn keys(self, number: u64) -> Keys {
        Keys::Values(vec![Value::string(entry_name(number))])
    }

    /// The path of an entry.
    pub fn path(self, number: u64) -> InstancePath {
        InstancePath::root()
            .child(self.scale, Keys::None)
            .child(self.entry, self.keys(number))
    }

    /// The edit that changes an entry's text.
    pub fn set_text(self, number: u64, text: &str) -> Edit {
        let leaf = DataNode::new(self.text, Content::Value(Value::string(text)));
        let tree = DataTree { nodes: vec![leaf] };
        Edit::merge(self.path(number), tree)
    }
}

/// Receives entries, and stores the values that show whether they are the expected ones.
pub struct ReceivedEntries {
    nodes: Nodes,
    /// The number of entries.
    pub entries: u64,
    /// The sum of their numbers.
    pub sum: u64,
    /// The number of the first entry.
    pub first: Option<u64>,
    /// The text of the last entry.
    pub text: Option<Value>,
    /// The name of the last entry.
    pub name: Option<Value>,
}

impl ReceivedEntries {
    /// Creates an empty receiver.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            entries: 0,
            sum: 0,
            first: None,
            text: None,
            name: None,
        }
    }

    /// Fails unless exactly this entry was received.
    pub fn expect_entry(&self, number: u64) -> Result<()> {
        let name = Value::string(entry_name(number));
        let is_right = self.entries == 1
            && self.sum == number
            && self.name == Some(name)
            && self.text.is_some();
        expect(is_right, || {
            format!("reading entry {number} returned something else")
        })
    }
}

/// Fails with `message` if a result is wrong.
pub fn expect(is_right: bool, message: impl FnOnce() -> String) -> Result<()> {
    if is_right {
        return Ok(());
    }
    Err(Failure::data(format!("wrong result: {}", message())))
}

impl Sink for ReceivedEntries {
    fn open(&mut self, node: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        self.entries += u64::from(node == self.nodes.entry);
        Ok(())
    }

    fn leaf(&mut self, node: NodeId, value: Value, _: Mark) -> std::result::Result<(), Stop> {
        if node == self.nodes.number {
            let number = value
                .as_integer()
                .and_then(|number| u64::try_from(number).ok());
            self.sum += number.unwrap_or(0);
            self.first = self.first.or(number);
        } else if node == self.nodes.text {
            self.text = Some(value);
        } else if node == self.nodes.name {
            self.name = Some(value);
        }
        Ok(())
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        Ok(())
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        Ok(())
    }
}
