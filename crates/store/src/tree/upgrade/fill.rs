//! Gives values to leaves that stored data lack, for those that new modules make mandatory.

use espalier_yang::data::Stop;
use espalier_yang::schema::ModuleNames;
use espalier_yang::{
    DataError, ErrorTag, Errors, InstancePath, Keys, Mark, NodeId, NodeKind, Schema, Sink, Value,
};

use super::anchor_upgrade::state;
use super::report::{ChangedPlace, LeafFill, Places};
use crate::error::{Error, Result};
use crate::overlay::{ChangesWriter, Overlay};
use crate::tree::Tree;
use crate::tree::load::{LoadOptions, Loader};
use crate::tree::read::read;
use crate::tree::selection::Selection;

/// A leaf and the value that it gets where it is missing.
struct Fill {
    leaf: NodeId,
    value: Value,
}

/// The values for missing leaves, in a schema.
pub(crate) struct Fills {
    fills: Vec<Fill>,
    /// By schema node: whether a leaf to fill is below it.
    is_above: Vec<bool>,
}

impl Fills {
    /// Resolves leaves and values in the new schema.
    ///
    /// # Errors
    /// A path names no leaf of the configuration, or a key; a value is not one of its type.
    pub fn new(schema: &Schema, fills: &[LeafFill]) -> Result<Self> {
        let mut errors = Errors::new();
        let mut resolved = Self {
            fills: Vec::new(),
            is_above: vec![false; schema.nodes().len()],
        };
        for fill in fills {
            match resolve(schema, fill) {
                Ok(fill) => resolved.add(schema, fill),
                Err(error) => errors.push(error.at(fill.path.clone())),
            }
        }
        errors.into_result()?;
        Ok(resolved)
    }

    fn add(&mut self, schema: &Schema, fill: Fill) {
        let mut parent = schema.node(fill.leaf).parent;
        while let Some(node) = parent {
            self.is_above[node.0 as usize] = true;
            parent = schema.node(node).parent;
        }
        self.fills.push(fill);
    }

    /// Fills the leaves in the data of `overlay`, which are those of `tree`.
    pub fn apply(&self, tree: &Tree, overlay: &mut Overlay, filled: &mut Places) -> Result<()> {
        if self.fills.is_empty() {
            return Ok(());
        }
        let mut writer = ChangesWriter::new(overlay);
        let mut options = LoadOptions::default();
        let mut loader = Loader::new(tree, overlay, &mut writer, None, &mut options);
        let mut filler = Filler {
            schema: tree.schema(),
            fills: self,
            frames: vec![Frame::default()],
            skipped: 0,
            sink: &mut loader,
            filled,
        };
        let (stored, all) = (state(overlay, tree.compiled(), tree), Selection::default());
        let done = read(stored, None, &InstancePath::root(), &all, None, &mut filler);
        // The loader has the error why it stopped.
        let done = done.and_then(|_| filler.fill_innermost().map_err(|_| Error::Stopped));
        loader.finish(done)?;
        let changes = writer.into_changes();
        overlay.apply(&changes);
        Ok(())
    }
}

fn resolve(schema: &Schema, fill: &LeafFill) -> std::result::Result<Fill, DataError> {
    let path = InstancePath::parse_pattern(schema, &fill.path)?;
    let invalid = |message: &str| DataError::new(ErrorTag::InvalidValue, message.to_owned());
    if path.steps.iter().any(|step| step.keys != Keys::None) {
        return Err(invalid("the leaf is named for all entries, without keys"));
    }
    let node = path.target().map(|target| schema.node(target));
    let Some((node, NodeKind::Leaf(leaf))) = node.map(|node| (node, &node.kind)) else {
        return Err(invalid("only a leaf can be filled"));
    };
    if leaf.is_key || !node.is_config {
        return Err(invalid("neither a key nor state data can be filled"));
    }
    let names = ModuleNames {
        leaf_module: node.module,
    };
    let value = leaf.value_type.parse(schema, &fill.value, &names)?;
    Ok(Fill {
        leaf: node.id,
        value,
    })
}

/// An open container or list entry on the way to a leaf to fill; the first one is the datastore.
#[derive(Default)]
struct Frame {
    node: Option<NodeId>,
    keys: Vec<(NodeId, Value)>,
    /// The children that exist.
    seen: Vec<NodeId>,
    /// Whether the receiver knows it.
    is_sent: bool,
}

/// Reads all data, and sends on what is missing.
struct Filler<'a> {
    schema: &'a Schema,
    fills: &'a Fills,
    frames: Vec<Frame>,
    /// The number of open nodes without a leaf to fill below them.
    skipped: usize,
    sink: &'a mut dyn Sink,
    filled: &'a mut Places,
}

impl Filler<'_> {
    fn see(&mut self, node: NodeId) {
        if let Some(frame) = self.frames.last_mut()
            && frame.seen.last() != Some(&node)
        {
            frame.seen.push(node);
        }
    }

    /// Fills what the innermost node lacks, also in containers that exist only implicitly.
    fn fill_innermost(&mut self) -> std::result::Result<(), Stop> {
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        let (schema, fills) = (self.schema, self.fills);
        let lacks = |node: NodeId| {
            schema.node(node).parent == frame.node
                && !frame.seen.contains(&node)
                && is_case_chosen(schema, node, &frame.seen)
        };
        let missing = fills.fills.iter().filter(|fill| lacks(fill.leaf));
        let missing: Vec<&Fill> = missing.collect();
        let children = match frame.node {
            Some(node) => &schema.node(node).children[..],
            None => schema.roots(),
        };
        let is_implicit = |child: &NodeId| {
            let is_container = matches!(
                schema.node(*child).kind,
                NodeKind::Container { presence: false }
            );
            is_container && fills.is_above[child.0 as usize] && lacks(*child)
        };
        let implicit: Vec<NodeId> = children.iter().copied().filter(is_implicit).collect();
        for fill in missing {
            self.send_open()?;
            self.sink
                .leaf(fill.leaf, fill.value.clone(), Mark::default())?;
            let path = self.path(fill.leaf);
            let leaf = schema.node(fill.leaf).as_value();
            let change = match leaf.is_some_and(|leaf| leaf.value_type.has_secret_values()) {
                true => "it has a value now".to_owned(),
                false => format!("it is \"{}\" now", fill.value),
            };
            self.filled.push_listed(|| ChangedPlace {
                path: path.to_instance_identifier(schema),
                change,
            });
        }
        for container in implicit {
            self.frames.push(Frame {
                node: Some(container),
                ..Frame::default()
            });
            self.fill_innermost()?;
            self.leave()?;
        }
        Ok(())
    }

    /// Sends the open nodes that the receiver does not know yet.
    fn send_open(&mut self) -> std::result::Result<(), Stop> {
        for frame in &mut self.frames {
            let Some(node) = frame.node.filter(|_| !frame.is_sent) else {
                continue;
            };
            frame.is_sent = true;
            self.sink.open(node, Mark::default())?;
            for (key, value) in &frame.keys {
                self.sink.leaf(*key, value.clone(), Mark::default())?;
            }
        }
        Ok(())
    }

    fn leave(&mut self) -> std::result::Result<(), Stop> {
        match self.frames.pop() {
            Some(frame) if frame.is_sent => self.sink.close(Mark::default()),
            _ => Ok(()),
        }
    }

    fn path(&self, leaf: NodeId) -> InstancePath {
        let mut path = InstancePath::root();
        for frame in &self.frames {
            if let Some(node) = frame.node {
                let keys: Vec<Value> = frame.keys.iter().map(|(_, key)| key.clone()).collect();
                let keys = match keys.is_empty() {
                    true => Keys::None,
                    false => Keys::Values(keys),
                };
                path = path.child(node, keys);
            }
        }
        path.child(leaf, Keys::None)
    }
}

/// Whether a node is in no choice, or other nodes of its cases exist.
fn is_case_chosen(schema: &Schema, node: NodeId, seen: &[NodeId]) -> bool {
    schema.node(node).cases.iter().all(|case| {
        let mut seen = seen.iter();
        seen.any(|&other| schema.node(other).cases.contains(case))
    })
}

impl Sink for Filler<'_> {
    fn open(&mut self, node: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        if self.skipped > 0 {
            self.skipped += 1;
            return Ok(());
        }
        self.see(node);
        match self.fills.is_above[node.0 as usize] && self.schema.node(node).is_config {
            true => self.frames.push(Frame {
                node: Some(node),
                ..Frame::default()
            }),
            false => self.skipped = 1,
        }
        Ok(())
    }

    fn leaf(&mut self, node: NodeId, value: Value, _: Mark) -> std::result::Result<(), Stop> {
        if self.skipped > 0 {
            return Ok(());
        }
        self.see(node);
        let is_key = self
            .schema
            .node(node)
            .as_value()
            .is_some_and(|leaf| leaf.is_key);
        if let Some(frame) = self.frames.last_mut()
            && is_key
        {
            frame.keys.push((node, value));
        }
        Ok(())
    }

    fn any(&mut self, node: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        if self.skipped == 0 {
            self.see(node);
        }
        Ok(())
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        self.fill_innermost()?;
        self.leave()
    }
}
