//! What others are known to be slow at: cases that users of sysrepo, libyang and Clixon report.
//!
//! Each case runs at several sizes; a row of work on one entry says how it grew from the size
//! before. Constraints are validated in every commit, and what had to be fallen back on is noted.

mod access;
mod candidate;
mod case;
mod hosts;
mod many;
mod one_leaf;
mod readers;
mod references;
mod report;
mod rules;
mod run;
mod whens;

pub use case::Case;
pub use run::{Field, run};
