//! XPath evaluation: examples, and comparison with libyang.

mod accessible;
mod axes;
mod cases;
mod fixture;
mod oracle;
mod plans;
mod random_data;
mod random_expressions;
mod random_schema;
mod shared;
mod speed;
