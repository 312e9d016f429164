//! Data under a schema, as a stream of events and as trees.
//!
//! [`json`] and [`xml`] read a document of any size into a [`Sink`], and print the events that a sink
//! receives. Both resolve names, check the structure and report errors in one private assembler, so the two
//! formats accept the same trees. [`DataTree`] holds small documents; [`TreeInstances`] makes one readable for
//! XPath, [`WithOperation`] makes one readable as part of other data.

mod assemble;
mod frame;
mod instances;
pub mod json;
mod metadata;
mod operation;
mod options;
mod origin;
mod pieces;
mod seen;
mod sink;
mod tree;
pub mod xml;

pub use instances::{Place, TreeInstances};
pub use operation::{DataOrOperation, WithOperation};
pub use options::{
    Accept, Envelope, Layout, Metadata, ParseError, ParseOptions, PrintError, PrintOptions, Root,
    Wrapping,
};
pub use origin::Origin;
pub use seen::ENTRIES_MAX;
pub use sink::{Annotation, Annotations, Mark, Operation, Sink, Stop};
pub use tree::{Content, DataNode, DataTree, NODES_MAX, TreeBuilder};
