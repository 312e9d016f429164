//! The bench command's suites.
//!
//! Every suite measures with [`harness`], prints [`row::Row`]s (one format for all of them), and
//! checks every answer it times. Beside a figure stands that of the raw engine doing the same
//! reads and writes: [`recorder`] notes what the store asks of its driver, [`raw`] does it again
//! on the engine alone.

mod asking;
mod clixon;
mod command;
mod cps;
mod dataset;
mod dodb;
mod engine;
mod field;
mod figures;
mod harness;
mod http;
mod measured;
mod memory;
mod output;
mod pieces;
mod place;
mod processes;
mod raw;
mod recorder;
mod report;
mod row;
mod scale;
mod scale_rows;
mod stand;
mod sysrepo;
mod trifle;

pub use clixon::{Clixon, run as run_clixon};
pub use command::Bench;
pub use cps::{Cps, DEVICES_MAX, run as run_cps};
pub use dodb::{Dodb, run as run_dodb};
pub use engine::{Durability, Engine};
pub use field::{Case, Field, run as run_field};
pub use output::{Destination, Output};
pub use place::Place;
pub use processes::{Processes, run as run_processes, run_processes_part};
pub use report::rows_of;
pub use scale::{Scale, run as run_scale};
pub use sysrepo::{Sysrepo, run as run_sysrepo};
pub use trifle::{Trifle, run as run_trifle};
