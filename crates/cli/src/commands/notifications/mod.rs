//! `espalier notifications` and `espalier notify`.

mod command;
mod events;
mod notify;
mod routes;
mod settings;
mod source;

pub use command::NotificationsCommand;
pub use notify::Notify;
pub(super) use routes::add;
