//! The cases.

use clap::ValueEnum;

use super::report::Report;
use super::{
    access_network, candidate, list_rules, many_edits, one_leaf, readers, references,
    when_conditions,
};
use espalier_terminal::Result;

/// A case. The letter is the one in the names of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Entries that each refer to another list, committed at once; then one changed
    A,
    /// Subscribers' devices (ONUs) of some 50 nodes over several lists, one commit each
    B,
    /// Rules on entries that read their whole list
    C,
    /// Nodes under `when`, and one that goes
    D,
    /// Ten changes of a long list through the candidate
    E,
    /// Many one-leaf edits in one commit
    F,
    /// Deleting a list that another refers to
    G,
    /// A reader's latency while another session commits
    H,
    /// One leaf, under rules of each kind
    OneLeaf,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
        Self::H,
        Self::OneLeaf,
    ];

    /// A tenth of the size that the case is known at, and that size.
    pub fn sizes(self) -> [u64; 2] {
        match self {
            Self::A => [4_000, 40_000],
            Self::B => [102, 1_024],
            Self::C => [1_000, 10_000],
            Self::D => [45_700, 457_000],
            Self::E => [100_000, 1_000_000],
            Self::F => [1_000, 10_000],
            Self::G | Self::H => [10_000, 100_000],
            Self::OneLeaf => [1_000, 1_000_000],
        }
    }

    /// Measures it at a size.
    pub fn run(self, report: &mut Report<'_>, size: u64) -> Result<()> {
        match self {
            Self::A => references::commit_all(report, size),
            Self::B => access_network::run(report, size),
            Self::C => list_rules::run(report, size),
            Self::D => when_conditions::run(report, size),
            Self::E => candidate::run(report, size),
            Self::F => many_edits::run(report, size),
            Self::G => references::delete_all(report, size),
            Self::H => readers::run(report, size),
            Self::OneLeaf => one_leaf::run(report, size),
        }
    }
}
