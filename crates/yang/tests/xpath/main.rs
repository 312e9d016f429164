//! XPath evaluation: examples, and comparison with libyang.

mod accessible;
mod axes;
mod caching;
mod cases;
mod fixture;
mod oracle;
mod random_data;
mod random_expressions;
mod random_schema;
mod speed;
mod visited_nodes;
