//! `espalier example`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli;
use crate::error::{Failure, Result};
use crate::example;
use crate::settings::Talk;

/// Write an example to start from: models and data
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier example network -o network
  espalier load network/network.json --yang network --store embedded:data")]
pub struct Example {
    /// Which example
    name: Name,

    /// The folder to write into
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// How many devices
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    devices: u32,

    #[command(flatten)]
    pub talk: Talk,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    /// Devices with interfaces, addresses and links, on ietf-interfaces and ietf-ip
    Network,
}

impl Example {
    /// Runs it.
    pub fn run(&self) -> Result<()> {
        let Name::Network = self.name;
        example::write(&self.output, self.devices).map_err(|error| {
            Failure::data(format!("the example cannot be written: {error}"))
                .in_file(self.output.display())
        })?;
        let folder = self.output.display();
        let value = json!({"folder": self.output, "devices": self.devices});
        let text = format!(
            "wrote models and data of {} devices to {folder}",
            self.devices
        );
        cli::answer(self.talk.json, &value, &text)
    }
}
