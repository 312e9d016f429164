//! The binary, run as its users run it.

mod access_lists;
#[cfg(feature = "bench")]
mod bench;
mod clock;
mod collections;
mod commands;
mod configuration;
mod datastores;
mod disks;
mod documents;
mod engines;
mod errors;
mod example;
mod files;
mod guards;
mod guide;
mod help;
mod history;
mod inventory;
mod kill;
mod overwriting;
mod private_files;
mod process;
mod readable;
mod secrets;
mod server_certificates;
mod serving;
mod stats;
mod terminal_text;
mod transfer;
mod two_servers;
mod upgrade;
