//! Random documents of a schema, valid and invalid, and the results of libyang for them.

pub mod documents;
pub mod judge;
pub mod libyang;
pub mod mutants;
pub mod random_values;
