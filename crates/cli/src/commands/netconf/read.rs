//! `get`, `get-config`, `get-data`.

use clap::{Args, ValueEnum};
use espalier_protocols::netconf_client::operations::{self, DataOptions, ReadOptions};
use espalier_terminal::{Failure, Result};

use super::context::Context;
use super::filter::FilterOptions;
use super::output::{OutputFileOptions, print_data};
use super::payload::datastore;

/// Which default values are reported (RFC 6243).
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DefaultsMode {
    Explicit,
    ReportAll,
    ReportAllTagged,
    Trim,
}

/// What all operations that read have.
#[derive(Args, Debug)]
struct ReadArguments {
    #[command(flatten)]
    filter: FilterOptions,

    /// How default values are reported (RFC 6243) [default: as the server does]
    #[arg(long, value_name = "MODE")]
    with_defaults: Option<DefaultsMode>,
}

impl ReadArguments {
    fn options(&self, context: &Context) -> Result<ReadOptions> {
        let mode = self.with_defaults.and_then(|mode| mode.to_possible_value());
        Ok(ReadOptions {
            filter: self.filter.filter(context)?,
            with_defaults: mode.map(|mode| mode.get_name().to_owned()),
        })
    }
}

/// Print the running configuration and the state (RFC 6241 §7.7)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example get --subtree '<system xmlns=\"urn:example:system\"/>'
  espalier netconf maria@router.example get --xpath '/ietf-interfaces:interfaces' --output json
  espalier netconf maria@router.example get --out everything.xml")]
pub struct Get {
    #[command(flatten)]
    read: ReadArguments,

    #[command(flatten)]
    pub output_file: OutputFileOptions,
}

impl Get {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let operation = operations::get(&self.read.options(context)?);
        print_data(context, &operation, &self.output_file)
    }
}

/// Print the configuration of a datastore (RFC 6241 §7.1)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example get-config
  espalier netconf maria@router.example get-config --source candidate --subtree filter.xml
  espalier netconf maria@router.example get-config --out backup.xml")]
pub struct GetConfig {
    /// The datastore; a file of the server is copied first: copy-config file:///NAME candidate
    #[arg(long, value_name = "DATASTORE", default_value = "running")]
    source: String,

    #[command(flatten)]
    read: ReadArguments,

    #[command(flatten)]
    pub output_file: OutputFileOptions,
}

impl GetConfig {
    /// Checks the arguments.
    pub fn check(&self) -> Result<()> {
        if self.source.contains("://") {
            let message = "get-config reads a datastore, not a URL (RFC 6241 §7.1, §8.8.5)";
            return Err(Failure::usage(message).hint(format!(
                "copy it into a datastore first: copy-config {} candidate",
                self.source
            )));
        }
        datastore(&self.source)?;
        self.output_file.check()
    }

    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let operation = operations::get_config(&self.source, &self.read.options(context)?);
        print_data(context, &operation, &self.output_file)
    }
}

/// Print the data of a datastore of NMDA (RFC 8526 §3.1.1)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example get-data --datastore operational --with-origin
  espalier netconf maria@router.example get-data --datastore running --max-depth 2")]
pub struct GetData {
    /// The datastore: running, candidate, startup, intended, operational, ...
    #[arg(long, value_name = "DATASTORE", default_value = "operational")]
    datastore: String,

    #[command(flatten)]
    read: ReadArguments,

    /// Only configuration, or only state
    #[arg(long, value_name = "true|false")]
    config_filter: Option<bool>,

    /// The number of levels
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u16).range(1..))]
    max_depth: Option<u16>,

    /// Show the origin of values (RFC 8342 §5.3.4)
    #[arg(long)]
    with_origin: bool,

    #[command(flatten)]
    pub output_file: OutputFileOptions,
}

impl GetData {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let options = DataOptions {
            read: self.read.options(context)?,
            config_filter: self.config_filter,
            max_depth: self.max_depth,
            with_origin: self.with_origin,
        };
        let operation = operations::get_data(&self.datastore, &options);
        print_data(context, &operation, &self.output_file)
    }
}
