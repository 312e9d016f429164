//! Schema mount (RFC 8528): mounted schemas in one compiled schema, their data and constraints.

mod errors;
mod fixture;
mod inline;
mod libyang;
mod network_elements;
mod network_instances;
mod shared;
