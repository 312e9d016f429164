//! The performance tests of ONAP CPS, on devices of the same shape: stored, read, asked, changed
//! and deleted through the library.
//!
//! Rows have the titles of CPS' own tests; where a title has a number of devices or books, that is
//! the size of the row. CPS' own budget stands beside as `peer`, and what we measured of it. A
//! *fragment* is a container or list entry.

mod deletes;
mod delta;
mod devices;
mod fixture;
mod queries;
mod reads;
mod run;
mod updates;
mod writes;

pub use devices::DEVICES_MAX;
pub use run::{Cps, run};
