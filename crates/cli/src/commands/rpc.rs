//! `espalier rpc`.

use std::io::{Read, Write};

use clap::Args;

use crate::commands::edit::EDIT_BYTES_MAX;
use crate::endpoint::{self, Invocation};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::{self, Format, Found};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Invoke an RPC, or an action of an entry or container
#[derive(Args, Debug)]
#[command(after_help = "\
Programs that are connected to a server answer the operations of models (docs/guide/providers.md); the server itself \
answers those of ietf-netconf, ietf-netconf-monitoring and ietf-factory-default. The input is checked against the \
model, and completed with defaults; the output is printed.

Examples:
  espalier rpc ietf-netconf:discard-changes --store embedded:data
  espalier rpc get-schema identifier=espalier-network --server http://127.0.0.1:8080
  espalier rpc '/acme:rack=1/reset' delay=5 --server http://db.example:8080
  espalier rpc acme:install --input install.json --server http://db.example:8080")]
pub struct Rpc {
    /// The RPC, or the path of the action
    path: String,

    /// Leaves of the input
    #[arg(value_name = "NAME=VALUE", value_parser = argument, conflicts_with = "input")]
    arguments: Vec<(String, String)>,

    /// A document with the input, as in {"module:input": {...}}; `-` is standard input
    #[arg(long, value_name = "FILE")]
    input: Option<String>,

    /// The format of the output
    #[arg(long, default_value = "json")]
    format: Format,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

fn argument(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write it as NAME=VALUE, as in delay=5")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Rpc {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let document = self.input.as_deref().map(read).transpose()?;
        let endpoint = endpoint::open_existing(&settings)?;
        let invocation = Invocation {
            path: self.path.clone(),
            arguments: self.arguments.clone(),
            document,
            format: self.format,
        };
        let mut text = Vec::new();
        match endpoint.invoke(&invocation, &mut text)? {
            Found::Something => {
                let mut out = output::stdout(self.format.form());
                Ok(out.write_all(&text)?)
            }
            Found::Nothing => output::print_result(
                self.output_options.json,
                &serde_json::json!({"output": null}),
                "",
            ),
        }
    }
}

/// Reads a document of limited size, and its format.
fn read(file: &str) -> Result<(Vec<u8>, Format)> {
    let (input, _) = document::open(file)?;
    let mut text = Vec::new();
    input.take(EDIT_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > EDIT_BYTES_MAX {
        return Err(
            Failure::data(format!("an input has at most {EDIT_BYTES_MAX} bytes"))
                .in_file(document::display_name(file)),
        );
    }
    let format = Format::of_text(file, &text);
    Ok((text, format))
}
