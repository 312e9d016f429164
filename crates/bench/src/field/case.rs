//! The cases of the suite.

use clap::ValueEnum;

use super::report::Report;
use super::{
    access_network, access_rules, anchors, candidate, history, list_rules, many_edits,
    notifications, one_leaf, readers, references, when_conditions,
};
use espalier_terminal::Result;

/// A case. Its letter is the prefix of its rows' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Entries that each refer to another list: commit all at once; then change one
    A,
    /// Subscribers' devices (ONUs) of about 50 nodes in several lists, one commit each
    B,
    /// Constraints on entries that read their whole list
    C,
    /// Nodes under `when`: load all; then change one condition, which removes its nodes
    D,
    /// Ten changes of a long list, through the candidate
    E,
    /// Many one-leaf edits in one commit
    F,
    /// Delete a list that another list refers to
    G,
    /// A reader's latency while another session commits
    H,
    /// Change one leaf, under constraints of each kind
    OneLeaf,
    /// A read, a commit and an export, with and without 200 access rules
    Access,
    /// A read of one of many anchors over RESTCONF; the size is the number of anchors
    Anchors,
    /// A notification to many subscribers of a stream; the size is their number
    Notifications,
    /// Many commits of one leaf: their rate, memory and disk; the size is the number of commits
    History,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
        Self::H,
        Self::OneLeaf,
        Self::Access,
        Self::Anchors,
        Self::Notifications,
        Self::History,
    ];

    /// A tenth of the size at which the case was reported, and that size; for anchors, few and many; for notifications, the number
    /// of subscribers; for the history, few commits, because more of them take long.
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
            Self::Access => [10_000, 1_000_000],
            Self::Anchors => [10, 100_000],
            Self::Notifications => [100, 1_000],
            Self::History => [20_000, 40_000],
        }
    }

    /// Measures the case at a size.
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
            Self::Access => access_rules::run(report, size),
            Self::Anchors => anchors::run(report, size),
            Self::Notifications => notifications::run(report, size),
            Self::History => history::run(report, size),
        }
    }
}
