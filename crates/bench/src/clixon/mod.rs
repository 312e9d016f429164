//! The rows that Clixon was measured with, on the same model: through the library where they are
//! NETCONF's, and over RESTCONF on one keep-alive connection.
//!
//! What each row does is written beside it. Deletes are real, and what was deleted is put back
//! outside the measured time. Clixon's figures stand beside as `peer`.

mod candidate;
mod fixture;
mod library;
mod resource;
mod run;
mod startup;

pub use run::{Clixon, run};
