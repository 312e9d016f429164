//! The rows that Clixon was measured with, on the same model: over NETCONF in one session, the same
//! through the library, and over RESTCONF on one keep-alive connection.
//!
//! The note of each row describes it. Deletes are real, and are reverted outside the measured time. Clixon's figures
//! are the `peer` of the rows.

mod candidate;
mod fixture;
mod library;
mod netconf;
mod restconf;
mod run;
mod startup;

pub use run::{Clixon, run};
