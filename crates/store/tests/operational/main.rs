//! The operational state datastore (RFC 8342 §5.3): pushed state, provided state, and how they are merged
//! with the configuration.

mod filtered;
mod fixture;
mod measure;
mod merge;
mod naive;
mod origins;
mod providers;
mod pushes;
mod random_origins;
mod random_runs;
mod unapplied;
