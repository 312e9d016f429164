//! Runs the cases.

use super::case::Case;
use super::report::Report;
use crate::configuration::Configuration;
use crate::output::Output;
use espalier_terminal::Result;

/// The parameters of the suite.
pub struct Field {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// The sizes, ascending; empty for the default sizes of each case.
    pub sizes: Vec<u64>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(field: &Field, output: &mut Output) -> Result<()> {
    for configuration in &field.configurations {
        cases(field, &mut Report::new(configuration, output))?;
    }
    Ok(())
}

fn cases(field: &Field, report: &mut Report<'_>) -> Result<()> {
    for &case in &field.cases {
        let own = case.sizes();
        let sizes = match field.sizes.as_slice() {
            [] => &own,
            sizes => sizes,
        };
        for &size in sizes {
            case.run(report, size)?;
        }
    }
    Ok(())
}
