//! The operations that the server itself answers, whatever program is registered for them.

mod base;
mod change_modules;
mod compare;
mod get_schema;
mod parameters;
mod push;
mod server_operation;
mod subscriptions;

pub use change_modules::upgrade_json;
pub(crate) use server_operation::ServerOperation;
