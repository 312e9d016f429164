//! The line numbers of the data nodes in a document.

use espalier_yang::data::Stop;
use espalier_yang::{Errors, InstancePath, Keys, Mark, NodeId, Schema, Sink, Step, Value};

use crate::error::Result;

/// Adds lines to errors by their paths: the line of the nearest enclosing node if the node itself has none.
/// `document` parses the document into the sink; it may fail early.
pub(super) fn with_lines(
    errors: Errors,
    schema: &Schema,
    document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
) -> Errors {
    let mut lines = LineNumbers::default();
    lines.nodes.push(NodeLines::default());
    // The error of the parser is ignored: it is among `errors` already.
    let _ = document(&mut lines);
    errors.map(|error| {
        if error.line > 0 {
            return error;
        }
        let path = InstancePath::parse_cli_path(schema, &error.path);
        let line = path.map_or(1, |path| lines.line_of(schema, &path));
        error.on_line(line)
    })
}

/// The nodes of a document, the document itself first.
#[derive(Default)]
struct LineNumbers {
    nodes: Vec<NodeLines>,
    open: Vec<usize>,
}

#[derive(Default)]
struct NodeLines {
    line: u32,
    inner: Vec<(NodeId, usize)>,
    leaves: Vec<(NodeId, Option<Value>, u32)>,
}

impl LineNumbers {
    fn innermost(&mut self) -> &mut NodeLines {
        let at = self.open.last().copied().unwrap_or_default();
        &mut self.nodes[at]
    }

    fn line_of(&self, schema: &Schema, path: &InstancePath) -> u32 {
        let mut current = &self.nodes[0];
        for step in &path.steps {
            let inner = current.inner.iter().filter(|(node, _)| *node == step.node);
            let mut inner = inner.map(|&(_, at)| &self.nodes[at]);
            let found = match &step.keys {
                Keys::Position(position) => inner.nth(*position as usize - 1),
                Keys::Values(values) => inner.find(|entry| entry.has_keys(schema, step, values)),
                Keys::None => inner.next(),
            };
            match found {
                Some(found) => current = found,
                None => return current.leaf(step).unwrap_or(current.line).max(1),
            }
        }
        current.line.max(1)
    }
}

impl NodeLines {
    fn has_keys(&self, schema: &Schema, step: &Step, values: &[Value]) -> bool {
        let keys = schema.node(step.node).keys();
        let mut pairs = keys.iter().zip(values);
        pairs.all(|(key, value)| {
            let is_equal = |(node, held, _): &(NodeId, Option<Value>, u32)| {
                node == key && held.as_ref() == Some(value)
            };
            self.leaves.iter().any(is_equal)
        })
    }

    /// The line of a leaf, or of an entry of a leaf-list.
    fn leaf(&self, step: &Step) -> Option<u32> {
        let of_node = || self.leaves.iter().filter(|(node, ..)| *node == step.node);
        let found = match &step.keys {
            Keys::Values(values) => of_node().find(|(_, held, _)| held.as_ref() == values.first()),
            Keys::Position(position) => of_node().nth(*position as usize - 1),
            Keys::None => of_node().next(),
        };
        found.map(|(_, _, line)| *line)
    }
}

impl Sink for LineNumbers {
    fn open(&mut self, node: NodeId, mark: Mark) -> std::result::Result<(), Stop> {
        let at = self.nodes.len();
        self.innermost().inner.push((node, at));
        self.nodes.push(NodeLines {
            line: mark.line,
            ..NodeLines::default()
        });
        self.open.push(at);
        Ok(())
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> std::result::Result<(), Stop> {
        self.innermost().leaves.push((node, Some(value), mark.line));
        Ok(())
    }

    fn any(&mut self, node: NodeId, _json: &str, mark: Mark) -> std::result::Result<(), Stop> {
        self.innermost().leaves.push((node, None, mark.line));
        Ok(())
    }

    fn close(&mut self, _mark: Mark) -> std::result::Result<(), Stop> {
        self.open.pop();
        Ok(())
    }
}
