//! `espalier netconf diff`: the differences of two configurations.

mod compare;
mod diff_command;

pub use diff_command::DiffCommand;
