//! Random documents of a schema, valid and broken, and libyang's verdict on them.

pub mod documents;
pub mod judge;
pub mod libyang;
pub mod mutants;
pub mod texts;
