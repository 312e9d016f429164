//! Computations on the values of a range: aggregates, timelines, categories, expressions.

mod aggregate;
mod expression;
mod plot;
mod points;

pub use aggregate::Aggregate;
pub use expression::Expression;
pub use plot::{Categories, Timelines};
pub use points::Series;
