//! `espalier documents`: document collections from the command line, one file for each group of its
//! commands.

mod arguments;
mod check;
mod command;
mod configure;
mod delete;
mod export_import;
mod find;
mod get;
mod ls;
mod print;
mod update;
mod watch;
mod write;

pub use command::Documents;
