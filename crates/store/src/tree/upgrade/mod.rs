//! Data under other modules: what a change of a schema set does to everything that is stored.
//!
//! [`nodes`] finds the node of the new schema that each old one became, and the subtrees that are stored
//! alike under both, which are never read. [`convert`] reads the other rows of a datastore by the old
//! schema and makes those of the new one, with every place that does not fit. [`prepare`] does this for
//! all datastores of an anchor and puts the result into the batch that also changes the catalog;
//! [`candidate`] does it for candidates. Older versions are read by the schema of their time ([`past`]).
//!
//! Converting a datastore to its own schema examines it ([`examine`]): that is how `check` finds values
//! and rows that the schema does not have, and how `repair` takes them out.

mod candidate;
mod convert;
mod entry;
mod examine;
mod load;
mod nodes;
mod past;
mod prepare;
mod report;

pub use examine::{Removed, Repair, RepairOutput};
pub use report::{
    ChangedPlace, DatastoreUpgrade, PLACES_MAX, Places, UnknownData, UpgradeOptions, UpgradeReport,
};

pub use load::UpgradeLoad;

pub(in crate::tree) use convert::{convert_all, convert_strictly};
pub(crate) use nodes::Correspondence;
pub(crate) use past::past_records;
pub(in crate::tree) use past::{models_at, release_past};
pub(crate) use prepare::AnchorUpgrade;
