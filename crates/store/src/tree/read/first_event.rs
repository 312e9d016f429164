//! A sink that needs to know only whether there is an event.

use espalier_yang::data::Stop;
use espalier_yang::{Mark, NodeId, Sink, Value};

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
