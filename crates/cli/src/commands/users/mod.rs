//! `espalier user`, `espalier token` and `espalier access`: who may use a server, and what they may do.

mod access;
mod import_permissions;
mod token;
mod user;
mod user_store;

pub use access::AccessCommand;
pub use token::Token;
pub use user::User;
