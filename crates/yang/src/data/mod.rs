//! Data under a schema, as a stream of events and as trees.

mod sink;

pub use sink::{Annotation, Annotations, Mark, Operation, Sink, Stop};
