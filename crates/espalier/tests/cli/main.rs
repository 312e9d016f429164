//! The binary, run as its users run it.

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
mod process;
mod readable;
mod serving;
mod several;
mod stats;
mod transfer;
