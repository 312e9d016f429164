//! Sketches: summaries of observed values from which quantiles are estimated with a relative error of 1 %,
//! and which can be merged without additional error.
//!
//! A sketch counts values in bins that are 2 % wide (DDSketch, <https://arxiv.org/abs/1908.10693>). Only bins
//! with values are stored (`bins.rs`): libraries with a fixed array of 2,048 bins combine the smallest values
//! if all values span more than 18 powers of ten, and their estimates for those are off by any factor.
//! Numbers span 632 powers of ten. `encoding.rs` is the encoding, which other languages can read.

mod bins;
mod encoding;
mod estimate;

pub(crate) use encoding::observed;
pub use estimate::Sketch;
