//! The binary, run as its users run it.

mod bench;
mod collections;
mod commands;
mod configuration;
mod datastores;
mod documents;
mod engines;
mod errors;
mod example;
mod files;
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
mod serving;
mod several;
mod stats;
mod terminal_text;
mod transfer;
mod trust;
