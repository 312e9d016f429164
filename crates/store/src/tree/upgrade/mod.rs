//! Converts stored data when the modules of a schema set change.
//!
//! [`nodes`] maps each old schema node to the new one, and finds the subtrees with the same storage format,
//! which are never read. [`convert`] reads the other rows of a datastore in the old schema and writes those
//! of the new one, and reports every place that does not conform. [`anchor_upgrade`] does this for all datastores
//! of an anchor and puts the result into the batch that also changes the catalog; [`candidate`] does it for
//! candidates. Older versions are read with the schema of their time ([`past_schemas`]).
//!
//! Converting a datastore to its own schema checks it ([`repair`]): this is how `check` finds values and
//! rows that do not conform to the schema, and how `repair` removes them.

mod anchor_upgrade;
mod candidate;
mod convert;
mod convert_entry;
mod fill;
mod load;
mod nodes;
mod past_schemas;
mod repair;
mod report;

pub use convert::UNKNOWN_NODE;
pub use repair::{Removed, Repair, RepairOutput};
pub use report::{
    ChangedPlace, DatastoreUpgrade, LeafFill, PLACES_MAX, Places, UnknownData, UpgradeOptions,
    UpgradeReport,
};

pub use load::UpgradeLoad;

pub(crate) use anchor_upgrade::AnchorUpgrade;
pub(in crate::tree) use convert::{ConvertedPast, convert_all, convert_strictly};
pub(crate) use fill::Fills;
pub(crate) use nodes::NodeMapping;
pub(crate) use past_schemas::past_schema_records;
pub(in crate::tree) use past_schemas::{past_schema_at, release_past_schemas};
