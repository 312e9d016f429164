//! Identity: users, passwords, tokens, certificates, limits.

mod authenticator;
mod authorized_keys;
mod certificates;
mod fixture;
mod http;
mod login_limit;
mod passwords;
mod tokens;
mod users;
