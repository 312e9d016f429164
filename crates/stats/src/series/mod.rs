//! Computations on the values of a range: aggregates, timelines, categories, expressions.

mod aggregate;
mod expression;
mod format;
mod points;

pub use aggregate::Aggregate;
pub use expression::Expression;
pub use format::{Categories, Timelines};
pub use points::Series;
