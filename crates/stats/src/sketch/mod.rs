//! Sketches: what is kept of observed values, so that quantiles can be told with a relative error
//! of 1 %, and sketches of several buckets merged without any further error.
//!
//! A sketch counts values in bins that are 2 % wide (DDSketch, <https://arxiv.org/abs/1908.10693>).
//! Only bins that have a value are kept (`bins.rs`): libraries that keep an array of bins, 2,048 of
//! them, put the smallest values together where all span more than that, which is 18 powers of ten, and
//! tell quantiles of them that are off by any factor. Numbers span 632 powers of ten.
//! `stored.rs` is the encoding, which other languages read.

mod bins;
mod quantiles;
mod stored;

pub use quantiles::Sketch;
pub(crate) use stored::observed;
