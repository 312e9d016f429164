//! Running the cases.

use std::path::PathBuf;

use super::case::Case;
use super::report::Report;
use crate::bench::output::Output;
use crate::error::Result;

/// What to measure.
pub struct Field {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// The sizes, ascending; each case has its own where there are none.
    pub sizes: Vec<u64>,
    /// Where stores are made: a folder for the embedded driver; `None` for memory.
    pub folder: Option<PathBuf>,
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(field: &Field, output: &mut Output) -> Result<()> {
    let mut report = Report::new(field.folder.as_deref(), output);
    for &case in &field.cases {
        let own = case.sizes();
        let sizes = match field.sizes.as_slice() {
            [] => &own,
            sizes => sizes,
        };
        for &size in sizes {
            case.run(&mut report, size)?;
        }
    }
    Ok(())
}
