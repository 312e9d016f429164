//! Reports of all rows at the end, and the comparison with earlier rows.

mod baseline;
mod growth;
mod html;
mod markdown;
mod page;
mod plot;
mod raw_ratio;
mod reasons;
mod summary;
mod targets;

pub use baseline::{Baseline, rows_of};
pub use page::Page;
pub use summary::summary;
