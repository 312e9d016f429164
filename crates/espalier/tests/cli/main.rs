//! The binary, run as its users run it.

mod access_lists;
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
mod process;
mod readable;
mod serving;
mod several;
mod stats;
mod transfer;
