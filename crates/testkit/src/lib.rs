//! What correct means, executable. For tests only: everything here panics when it is not so.
//!
//! - [`conformance`]: what every driver of a key space does, case by case;
//! - [`model`]: random operations on a driver, compared with a map;
//! - [`fault`]: a driver that fails when told to, over any other.

pub mod conformance;
pub mod fault;
pub mod model;
pub mod seed;
