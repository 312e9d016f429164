//! A sink that counts the nodes it forwards.

use espalier_yang::data::{Annotations, Stop};
use espalier_yang::{Mark, NodeId, Sink, Value};

/// Forwards events, and counts nodes.
pub(in crate::tree) struct CountedNodes<'a> {
    /// The number of nodes so far.
    pub nodes: u64,
    sink: &'a mut dyn Sink,
}

impl<'a> CountedNodes<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self { nodes: 0, sink }
    }
}

impl Sink for CountedNodes<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.nodes += 1;
        self.sink.open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop> {
        self.nodes += 1;
        self.sink.leaf(node, value, mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop> {
        self.nodes += 1;
        self.sink.any(node, json, mark)
    }

    fn close(&mut self, mark: Mark) -> Result<(), Stop> {
        self.sink.close(mark)
    }

    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        self.sink.annotate(annotations)
    }

    fn bare(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.sink.bare(node, mark)
    }
}
