//! Sinks that need to know only whether there is an event.

use espalier_yang::data::Stop;
use espalier_yang::{Mark, NodeId, Schema, Sink, Value};

/// Stops a read at its first event.
#[derive(Default)]
pub(in crate::tree) struct FirstEvent {
    /// Whether there was one.
    pub is_found: bool,
}

impl FirstEvent {
    fn found(&mut self) -> Result<(), Stop> {
        self.is_found = true;
        Err(Stop)
    }
}

impl Sink for FirstEvent {
    fn open(&mut self, _: NodeId, _: Mark) -> Result<(), Stop> {
        self.found()
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> Result<(), Stop> {
        self.found()
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> Result<(), Stop> {
        self.found()
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        Ok(())
    }
}

/// Stops a read at its first node that is not a container without presence.
pub(super) struct FirstContent<'s> {
    schema: &'s Schema,
    /// Whether there was one.
    pub is_found: bool,
}

impl Sink for FirstContent<'_> {
    fn open(&mut self, node: NodeId, _: Mark) -> Result<(), Stop> {
        match self.schema.node(node).is_np_container() {
            true => Ok(()),
            false => self.found(),
        }
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> Result<(), Stop> {
        self.found()
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> Result<(), Stop> {
        self.found()
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        Ok(())
    }
}

impl<'s> FirstContent<'s> {
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            is_found: false,
        }
    }

    fn found(&mut self) -> Result<(), Stop> {
        self.is_found = true;
        Err(Stop)
    }
}
