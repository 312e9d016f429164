//! The catalog: dataspaces, the schema sets and the anchors in them.
//!
//! | key after the subspace | value |
//! |---|---|
//! | `1`, dataspace | its id |
//! | `2`, dataspace id, schema set | id and the modules, each by the hash of its text |
//! | `3`, hash | the text of a module, shared by every schema set that has it |
//! | `4`, dataspace id, anchor | its id and its schema set |
//! | `5`, dataspace id, schema set id, anchor id | the name of the anchor |
//! | `6`, schema set id | how often its modules were replaced |
//!
//! Every operation reads and writes a constant number of these, whatever the number of anchors.

mod anchor;
mod anchor_row;
mod dataspace;
mod keys;
mod name;
mod schema_set;
mod schema_set_row;
mod upgrade;
mod validation_level;

pub use anchor::AnchorInfo;
pub(crate) use anchor::{anchors_of, id_in as anchor_id_in};
pub(crate) use anchor_row::AnchorRow;
pub(crate) use dataspace::dataspaces_of;
pub use schema_set::SchemaSetInfo;
pub(crate) use schema_set_row::{Record, modules_precondition};
pub use validation_level::Validation;
