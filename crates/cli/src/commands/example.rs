//! `espalier example`.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::example;
use crate::settings::OutputOptions;
use espalier_terminal::output;
use espalier_terminal::output_file::{self, Existing};
use espalier_terminal::{Failure, Result};

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

    /// Replace existing files with other contents
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    /// Devices with interfaces, addresses and links, on ietf-interfaces and ietf-ip
    Network,
}

impl Example {
    /// Runs the command.
    pub fn run(&self) -> Result<()> {
        let Name::Network = self.name;
        let failed = |error: io::Error| {
            Failure::data(format!("the example cannot be written: {error}"))
                .in_file(self.output.display())
        };
        let mut files = example::files(&self.output, self.devices).map_err(failed)?;
        // A file with the same contents is not written again.
        files.retain(|(file, text)| !fs::read(file).is_ok_and(|found| found == *text));
        for (file, _) in &files {
            output_file::check(file, Existing::of(self.force), None)?;
        }
        fs::create_dir_all(&self.output).map_err(failed)?;
        for (file, text) in &files {
            fs::write(file, text).map_err(failed)?;
        }
        let folder = self.output.display();
        let value = json!({"folder": self.output, "devices": self.devices});
        let text = format!(
            "wrote models and data of {} devices to {folder}",
            self.devices
        );
        output::print_result(self.output_options.json, &value, &text)
    }
}
