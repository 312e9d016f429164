//! `espalier serve`: serves a store.

mod audit;
mod call_home_text;
mod exposure;
mod listen_options;
mod login;
mod netconf;
mod netconf_options;
mod reload;
mod self_signed;
#[allow(
    clippy::module_inception,
    reason = "the folder is named by its command"
)]
mod serve;
mod unix_socket;

pub use serve::Serve;
