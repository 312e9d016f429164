//! Cases that users of sysrepo, libyang and Clixon report as slow.
//!
//! Each case runs at several sizes. The note of a row on one entry has its growth since the previous size.
//! Constraints are validated in every commit; the note has the number of fallbacks of the validation.

mod access_network;
mod access_rules;
mod anchors;
mod candidate;
mod case;
mod history;
mod hosts;
mod list_rules;
mod many_edits;
mod notifications;
mod one_leaf;
mod readers;
mod references;
mod report;
mod run;
mod when_conditions;

pub use case::Case;
pub use hosts::{
    MODEL as HOSTS_MODEL, document as hosts_document, leaf as host_leaf, name as host_name,
};
pub use run::{Field, run};
