//! `espalier bench`.

mod options;
mod run;

pub use options::Bench;
