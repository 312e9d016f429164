//! `espalier access import-permissions`: the owners and modes of sysrepo's modules as access rules.

mod command;
mod listing;
mod rules;

pub use command::ImportPermissions;
