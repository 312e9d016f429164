//! `espalier netconf diff`: the differences of two configurations.

mod diff_command;

pub use diff_command::DiffCommand;
