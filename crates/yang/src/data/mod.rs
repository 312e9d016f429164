//! Data under a schema, as a stream of events and as trees.
//!
//! [`json`] and [`xml`] read a document of any size into a [`Sink`], and print the events that a sink
//! receives. Both resolve names, check the structure and report errors in one private assembler, so the two
//! formats accept the same trees. [`DataTree`] holds small documents; [`TreeInstances`] makes one readable for
//! XPath, [`WithOperation`] makes one readable as part of other data. [`subtree_filter`] has the filters of RFC 6241.

mod assemble;
mod entry_set;
mod frame;
mod instances;
pub mod json;
mod metadata;
mod operation;
mod options;
mod origin;
mod output_buffer;
mod sink;
pub mod subtree_filter;
mod tree;
pub mod xml;

pub use entry_set::ENTRIES_MAX;
pub use instances::{Place, TreeInstances};
pub use operation::{DataOrOperation, WithOperation};
pub use options::{
    Accept, Envelope, Layout, MetadataMode, ParseError, ParseOptions, PrintError, PrintOptions,
    Root, Wrapping,
};
pub use origin::Origin;
pub use sink::{Annotation, Annotations, Mark, Operation, Sink, Stop};
pub use tree::{Content, DataNode, DataTree, NODES_MAX, TreeBuilder};
