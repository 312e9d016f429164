//! One leaf in a commit, validated in full.

use super::hosts::Hosts;
use super::report::{CHANGES_MAX, Report};
use espalier_terminal::Result;

/// Measures the case at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let mut hosts = Hosts::load(report, size)?;
    let changes = hosts.port_changes(CHANGES_MAX.min(20 * size))?;
    let row = report.row(&hosts.store, "one-leaf commit", size);
    let row = row.note("a must, a when and a unique read the leaf");
    report.changes(&hosts.store, row, &changes)?;
    let changes = hosts.site_changes(CHANGES_MAX.min(20 * size))?;
    let row = report.row(&hosts.store, "one-leaf commit of a reference", size);
    report.changes(&hosts.store, row, &changes)
}
