//! `espalier audit`: who did what.

mod audit_command;
mod log;
mod print;
mod records;
mod settings;

pub use audit_command::AuditCommand;
pub use log::failure;
