//! Several processes over one engine: their read rate, and the time until each sees a change made by another process.
//!
//! The processes are this program, started by itself. They read one list entry repeatedly, and every result is
//! checked. More processes than cores read no faster than the cores allow; a server on the same machine needs some of
//! them too.

mod run;
mod worker;

pub use run::{Processes, run};
pub use worker::run as run_processes_worker;
