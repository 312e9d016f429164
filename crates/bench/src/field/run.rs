//! Running the cases.

use super::case::Case;
use super::report::Report;
use crate::output::Output;
use crate::place::Place;
use espalier_terminal::Result;

/// What to measure.
pub struct Field {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// The sizes, ascending; each case has its own where there are none.
    pub sizes: Vec<u64>,
    /// Where.
    pub places: Vec<Place>,
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(field: &Field, output: &mut Output) -> Result<()> {
    for place in &field.places {
        cases(field, &mut Report::new(place, output))?;
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
