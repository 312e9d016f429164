//! Data under a schema, as a stream of events and as trees.
//!
//! [`json`] and [`xml`] read a document of any size into a [`Sink`], and print what a sink
//! receives. Both find nodes, check structure and report mistakes through one private assembler,
//! so the two formats accept the same trees. [`DataTree`] holds what is small; [`TreeInstances`] answers
//! XPath's questions about one, [`WithOperation`] about one that stands in other data.

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
