//! The command.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::operations::{ReadOptions, get_config};
use espalier_store::{each_tree_change, write_change_json, write_change_text};
use espalier_terminal::output::{self, Form, escaped};
use espalier_terminal::{Failure, Result, document};
use espalier_yang::Schema;
use espalier_yang::data::DataTree;

use crate::commands::netconf::connection::Client;
use crate::commands::netconf::context::{Context, OutputForm};
use crate::commands::netconf::filter::FilterOptions;
use crate::commands::netconf::payload::{WRAPPERS, elements, is_json, read_text};
use crate::commands::netconf::server_modules::{data_tree, json_tree, of_files};

/// Print the differences of the configurations of two servers, or of a server and a file, by node
#[derive(Args, Debug)]
#[command(after_help = "\
A and B are files with data as XML, or targets as those of other operations; a file of the name comes first. A line for each \
node: `+` only in B, `-` only in A, `~` with another value, or at another place in a list ordered by user. With --json each \
line is an object in the terms of YANG Patch (RFC 8072). The modules are fetched from the first server; --yang gives others. The \
exit status is 0 with and without differences, 1 or 2 after an error; with --exit-code it is 1 if there are differences.

Examples:
  espalier netconf diff maria@old.example maria@new.example
  espalier netconf diff backup.xml maria@router.example --json
  espalier netconf diff a.xml b.xml --yang modules")]
pub struct DiffCommand {
    /// The old configuration
    a: String,

    /// The new configuration
    b: String,

    /// The datastore of servers
    #[arg(long, value_name = "DATASTORE", default_value = "running")]
    source: String,

    /// End with the exit status 1 if there are differences
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    filter: FilterOptions,
}

/// A configuration.
enum Side {
    File(String),
    Server(Box<Context>),
}

impl DiffCommand {
    /// Compares.
    pub fn run(&self, client: &Client, form: &OutputForm) -> Result<()> {
        let sides = [
            self.side(client, form, &self.a)?,
            self.side(client, form, &self.b)?,
        ];
        let schema = schema(&sides, client)?;
        let [old, new] = &sides;
        let old = self.tree(&schema, old);
        let old = old.map_err(|failure| of_side(failure, &self.a))?;
        let new = self.tree(&schema, new);
        let new = new.map_err(|failure| of_side(failure, &self.b))?;
        let mut out = output::stdout(match form.json {
            true => Form::Json,
            false => Form::Text,
        });
        let mut changes = Vec::new();
        each_tree_change(&schema, &old.nodes, &new.nodes, &mut |found| {
            changes.push(found.change);
        });
        let is_different = !changes.is_empty();
        for change in changes {
            let mut line = Vec::new();
            match form.json {
                true => write_change_json(&mut line, &schema, &change),
                false => write_change_text(&mut line, &schema, &change),
            }
            let line = String::from_utf8_lossy(&line);
            match form.json {
                true => writeln!(out, "{line}")?,
                false => writeln!(out, "{}", escaped(&line))?,
            }
        }
        out.flush()?;
        match self.exit_code && is_different {
            true => Err(Failure::different()),
            false => Ok(()),
        }
    }

    fn side(&self, client: &Client, form: &OutputForm, text: &str) -> Result<Side> {
        if text == "-" || is_readable(text) {
            return Ok(Side::File(text.to_owned()));
        }
        if looks_like_file(text) {
            return match Path::new(text).exists() {
                true => Err(Failure::usage("this is no file with data").in_file(text)),
                false => Err(Failure::usage("there is no such file").in_file(text)),
            };
        }
        let target = client.parse_target(text)?;
        let context = Context::connect(client.clone(), &target, form);
        let context = context.map_err(|failure| failure.in_file(text));
        Ok(Side::Server(Box::new(context?)))
    }

    fn tree(&self, schema: &Schema, side: &Side) -> Result<DataTree> {
        match side {
            Side::File(file) => {
                let text = read_text(file)?;
                if is_json(&text) {
                    return json_tree(schema, &text);
                }
                let elements = elements(&text, file, &WRAPPERS)?;
                let document = format!("<data>{elements}</data>");
                let data = Element::parse(&document);
                let data = data.map_err(|error| Failure::data(error.0))?;
                data_tree(schema, &data)
            }
            Side::Server(context) => {
                let options = ReadOptions {
                    filter: self.filter.filter(context)?,
                    ..ReadOptions::default()
                };
                let reply = context.request(get_config(&self.source, &options))?;
                let data = reply.data();
                let data = data.map_err(|error| Failure::data(error.to_string()))?;
                data_tree(schema, &data)
            }
        }
    }
}

/// A failure with the side that it is of.
fn of_side(failure: Failure, side: &str) -> Failure {
    match failure.has_file() {
        true => failure,
        false => failure.in_file(document::display_name(side)),
    }
}

/// Whether there is a file of this name, or a pipe, as a shell makes one for `<(...)`.
fn is_readable(path: &str) -> bool {
    let found = fs::metadata(path).map(|found| found.file_type());
    found.is_ok_and(|kind| kind.is_file() || kind.is_fifo())
}

/// Whether an argument is the path of a file rather than a target.
fn looks_like_file(text: &str) -> bool {
    let is_target = text.contains("://") || text.starts_with("unix:") || text.contains('@');
    let extension = Path::new(text).extension().and_then(|text| text.to_str());
    let is_document = matches!(extension, Some("xml" | "json"));
    !is_target && (is_document || text.contains('/'))
}

fn schema(sides: &[Side; 2], client: &Client) -> Result<Arc<Schema>> {
    if !client.yang.is_empty() {
        return of_files(&client.yang);
    }
    let mut servers = sides.iter().filter_map(|side| match side {
        Side::Server(context) => Some(context),
        Side::File(_) => None,
    });
    match servers.next() {
        Some(context) => context.schema().map(Arc::clone),
        None => Err(Failure::usage("two files need the modules").hint("add --yang DIR")),
    }
}
