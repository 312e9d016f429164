//! Several processes over one engine: at what rate they read, and how soon each sees what another
//! one has changed.
//!
//! The processes are this program, called by itself. One list entry is read again and again, as
//! everywhere in the bench, and every answer is checked. More processes than cores read no faster
//! than the cores allow; a server on the same machine needs some of them too.

mod run;
mod worker;

pub use run::{Processes, run};
pub use worker::run as run_processes_worker;
