//! `espalier diff`.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use espalier_yang::InstancePath;

use crate::endpoint::{self, Differences, LineStyle};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;
use espalier_terminal::output::{self, Form};
use espalier_terminal::path;

/// Print the differences between two versions
#[derive(Args, Debug)]
#[command(after_help = "\
A line for each node: `+` created, `-` deleted, `~` changed (or moved, in a list ordered by user). \
With --json each line is an object in the terms of YANG Patch (RFC 8072), with the previous value as \
source-value. B may be older than A; version 0 is the empty datastore.

Examples:
  espalier diff 1 2 --store embedded:data    # what commit 2 changed
  espalier diff 0 2 --json --server http://127.0.0.1:8080
  espalier diff 1 2 '/ietf-interfaces:interfaces/interface=to-core-1' --store embedded:data

`espalier history` lists the versions. NO_COLOR in the environment turns colours off.")]
pub struct Diff {
    /// The old version
    #[arg(value_name = "A")]
    from: u64,

    /// The new version
    #[arg(value_name = "B")]
    to: u64,

    /// Only this node and everything below it
    path: Option<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Diff {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let endpoint = endpoint::open_existing(&settings)?;
        let path = match &self.path {
            Some(path) => path::parse(&*endpoint.schema()?, path)?,
            None => InstancePath::root(),
        };
        let differences = Differences {
            from: self.from,
            to: self.to,
            path: &path,
            style: match self.output_options.json {
                true => LineStyle::Json,
                false => LineStyle::Text,
            },
        };
        let is_json = self.output_options.json;
        let stdout: Box<dyn Write> = match is_json {
            true => Box::new(output::stdout(Form::Json)),
            // Lines are escaped below, before they get their colours.
            false => Box::new(io::stdout().lock()),
        };
        let mut out = io::BufWriter::new(stdout);
        let has_colours = !is_json
            && io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        endpoint.diff(&differences, &mut |line| {
            let shown = String::from_utf8_lossy(line);
            let shown = match is_json {
                true => shown,
                false => output::escaped(&shown).into_owned().into(),
            };
            if has_colours {
                write!(out, "\x1b[{}m", colour(line))?;
            }
            out.write_all(shown.as_bytes())?;
            out.write_all(match has_colours {
                true => b"\x1b[0m\n",
                false => b"\n",
            })?;
            Ok(())
        })?;
        Ok(out.flush()?)
    }
}

/// The colour of a line: green, red or yellow.
fn colour(line: &[u8]) -> u8 {
    match line.first() {
        Some(b'+') => 32,
        Some(b'-') => 31,
        _ => 33,
    }
}
