//! Reads of what a filter selects at and below one instance.

use espalier_yang::data::{DataNode, Stop, TreeBuilder};
use espalier_yang::{InstancePath, Mark, NodeId, Sink, Value};

use super::tracked_filter::TrackedFilter;
use crate::error::Result;
use crate::tree::view::View;

impl TrackedFilter {
    /// What it selects at a path: the node, without those around it; the entries of a whole list; the top-level nodes for
    /// the root.
    ///
    /// # Errors
    /// `too-big` beyond `nodes_max` nodes.
    pub(super) fn nodes_at(
        &self,
        view: &View,
        path: &InstancePath,
        nodes_max: usize,
    ) -> Result<Vec<DataNode>> {
        let mut builder = TreeBuilder::with_limit(nodes_max);
        self.read_at(view, path, &mut builder)?;
        let mut nodes = builder.finish()?.nodes;
        for (index, step) in path.steps.iter().enumerate() {
            nodes.retain(|node| node.node == step.node);
            if index + 1 < path.steps.len() {
                let children = nodes.into_iter().map(|node| node.content);
                nodes = children.flat_map(children_of).collect();
            }
        }
        Ok(nodes)
    }

    /// Whether it selects something at or below a path to one instance.
    pub(super) fn selects_at(&self, view: &View, path: &InstancePath) -> Result<bool> {
        let mut reached = ReachedTarget {
            target: path.target(),
            depth: path.steps.len(),
            open: 0,
            is_reached: false,
        };
        self.read_at(view, path, &mut reached)?;
        Ok(reached.is_reached)
    }

    fn read_at(&self, view: &View, path: &InstancePath, sink: &mut dyn Sink) -> Result<()> {
        if path.is_root() {
            return self.read(view, sink);
        }
        let plan = self.plan().within(self.schema(), path)?;
        match plan.is_empty() {
            true => Ok(()),
            false => view.read_plan(&plan, self.selection(), sink),
        }
    }
}

fn children_of(content: espalier_yang::data::Content) -> Vec<DataNode> {
    match content {
        espalier_yang::data::Content::Inner(children) => children,
        _ => Vec::new(),
    }
}

/// Stops a read at the first event of an instance.
struct ReachedTarget {
    target: Option<NodeId>,
    depth: usize,
    /// The number of open nodes.
    open: usize,
    is_reached: bool,
}

impl ReachedTarget {
    fn reach(&mut self, node: NodeId) -> std::result::Result<(), Stop> {
        self.is_reached = self.open + 1 == self.depth && Some(node) == self.target;
        match self.is_reached {
            true => Err(Stop),
            false => Ok(()),
        }
    }
}

impl Sink for ReachedTarget {
    fn open(&mut self, node: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        self.reach(node)?;
        self.open += 1;
        Ok(())
    }

    fn leaf(&mut self, node: NodeId, _: Value, _: Mark) -> std::result::Result<(), Stop> {
        self.reach(node)
    }

    fn any(&mut self, node: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        self.reach(node)
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        self.open -= 1;
        Ok(())
    }
}
