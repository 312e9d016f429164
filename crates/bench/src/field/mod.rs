//! What others are known to be slow at: cases that users of sysrepo, libyang and Clixon report.
//!
//! Each case runs at several sizes; a row of work on one entry says how it grew from the size
//! before. Constraints are validated in every commit, and what had to be fallen back on is noted.

mod access_network;
mod candidate;
mod case;
mod hosts;
mod list_rules;
mod many_edits;
mod one_leaf;
mod readers;
mod references;
mod report;
mod run;
mod when_conditions;

pub use case::Case;
pub use run::{Field, run};
