//! `espalier edit`.

use std::io::Read;

use clap::Args;

use crate::endpoint::{self, Change, EditParameters, TestChoice};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::{self, Format};
use espalier_terminal::{Failure, Result};

/// The maximum size of a document of edits; larger ones are loaded.
pub const EDIT_BYTES_MAX: u64 = 64 << 20;

/// Change many nodes in one commit, each by its own operation
#[derive(Args, Debug)]
#[command(after_help = "\
The operation of a node (merge, replace, create, delete, remove; RFC 6241 §7.2) is given as metadata. A node \
without an operation has that of its parent; a top-level node has merge.

JSON:
  {\"ietf-interfaces:interfaces\": {\"interface\": [
    {\"@\": {\"ietf-netconf:operation\": \"delete\"}, \"name\": \"eth0\"},
    {\"name\": \"eth1\", \"description\": \"uplink\"}]}}
XML:
  <interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\"
              xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">
    <interface nc:operation=\"delete\"><name>eth0</name></interface>
  </interfaces>

Examples:
  espalier edit change.json --store embedded:data
  espalier edit change.json --test-option test-only --store embedded:data
  espalier edit - --format xml --server http://127.0.0.1:8080 < change.xml")]
pub struct Edit {
    /// The document; `-` is standard input
    file: String,

    /// The format; by default, that of the file name extension
    #[arg(long)]
    format: Option<Format>,

    #[command(flatten)]
    parameters: EditParameters,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Edit {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let (input, _) = document::open(&self.file)?;
        let mut text = Vec::new();
        input.take(EDIT_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > EDIT_BYTES_MAX {
            return Err(
                Failure::data(format!("an edit has at most {EDIT_BYTES_MAX} bytes"))
                    .in_file(document::display_name(&self.file))
                    .hint("`espalier load` accepts documents of any size"),
            );
        }
        let format = self
            .format
            .unwrap_or_else(|| Format::of_text(&self.file, &text));
        // Opened last, as opening may upgrade the modules.
        let endpoint = endpoint::open(&settings)?;
        let changed = endpoint
            .change(Change::Document {
                text,
                format,
                parameters: self.parameters,
            })
            .map_err(|failure| failure.in_file(document::display_name(&self.file)))?;
        let text = match (self.parameters.test_option, changed.is_changed) {
            (TestChoice::TestOnly, _) => "valid; nothing was done",
            (_, Some(false)) => "nothing differs",
            _ => "",
        };
        changed.print(self.output_options.json, text)
    }
}
