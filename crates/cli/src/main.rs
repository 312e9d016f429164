//! The `espalier` command.
//!
//! It connects the other crates and adds the command line, the configuration, logging, progress and the benches.
//! Commands work on an [`endpoint::Endpoint`]: a store that this process opens, or a server.

mod cli;
mod commands;
mod endpoint;
mod example;
mod logging;
mod modules;
mod mounts;
mod panics;
mod settings;
mod times;

use std::process::ExitCode;

// On `bench scale`, loads take a sixth less CPU time and exports a third less: docs/decisions/0063.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    panics::report();
    espalier_drivers::embedded::install_damage_handler();
    cli::run()
}
