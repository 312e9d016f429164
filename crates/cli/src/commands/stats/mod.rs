//! `espalier stats`: statistics from the command line, one file for each group of its commands.

mod arguments;
mod command;
mod configure;
mod import;
mod keys;
mod print;
mod range;
mod series;
mod status;
mod values;
mod write;

pub use command::Stats;
