//! `espalier stats`: statistics from the command line, one file for each group of its commands.

mod command;
mod configure;
mod import;
mod keys;
mod place;
mod print;
mod range;
mod series;
mod status;
mod values;
mod write;

pub use command::Stats;
