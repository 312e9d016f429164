//! One leaf in a commit, validated in full.

use super::hosts::Hosts;
use super::report::{CHANGES_MAX, Report, peer};
use crate::error::Result;

/// Measures it at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let mut hosts = Hosts::load(report, size)?;
    let peers = match size {
        1_000 => vec![(SYSREPO, 0.003_594), (CLIXON, 0.012_3)],
        10_000 => vec![(SYSREPO, 0.031_32), (CLIXON, 0.137_3)],
        100_000 => vec![(SYSREPO, 0.548_2), (CLIXON, 1.582_4)],
        1_000_000 => vec![(CLIXON, 17.2)],
        _ => Vec::new(),
    };
    let peers = peers
        .into_iter()
        .map(|(name, seconds)| peer(name, seconds, "measured by us: cpu, a model without rules"));
    let changes = hosts.port_changes(CHANGES_MAX.min(20 * size))?;
    let row = report.row(&hosts.stand, "one-leaf commit", size);
    let row = row.note("a must, a when and a unique read the leaf");
    report.changes(&hosts.stand, row.peers(peers), &changes)?;
    let changes = hosts.site_changes(CHANGES_MAX.min(20 * size))?;
    let row = report.row(&hosts.stand, "one-leaf commit of a reference", size);
    report.changes(&hosts.stand, row, &changes)
}

const SYSREPO: &str = "sysrepo, modify an item";
const CLIXON: &str = "Clixon, write one and commit";
