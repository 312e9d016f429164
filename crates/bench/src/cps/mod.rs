//! The performance tests of ONAP CPS, on devices of the same shape: stored, read, queried, changed and deleted
//! through the library.
//!
//! Rows have the titles of CPS' own tests; if a title has a number of devices or books, it is the size of the row.
//! The `peer` has CPS' own budget and our measurements of CPS. A *fragment* is a container or list entry.

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
