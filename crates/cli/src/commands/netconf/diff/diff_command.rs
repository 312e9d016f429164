//! The command.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::operations::{ReadOptions, elements_of, get_config};
use espalier_store::{each_tree_change, write_change_json, write_change_text};
use espalier_terminal::output::{self, Form, escaped};
use espalier_terminal::{Failure, Result};
use espalier_yang::Schema;
use espalier_yang::data::DataTree;

use crate::commands::netconf::connection::Client;
use crate::commands::netconf::context::{Context, OutputForm};
use crate::commands::netconf::filter::FilterOptions;
use crate::commands::netconf::payload::read_text;
use crate::commands::netconf::server_modules::{data_tree, of_files};

/// Print the differences of the configurations of two servers, or of a server and a file, by node
#[derive(Args, Debug)]
#[command(after_help = "\
A and B are files with data as XML, or targets as those of other operations; a file of the name comes first. A line for each \
node: `+` only in B, `-` only in A, `~` with another value, or at another place in a list ordered by user. With --json each \
line is an object in the terms of YANG Patch (RFC 8072). The modules are fetched from the first server; --yang gives others.

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
        let (old, new) = (self.tree(&schema, old)?, self.tree(&schema, new)?);
        let mut out = output::stdout(match form.json {
            true => Form::Json,
            false => Form::Text,
        });
        let mut changes = Vec::new();
        each_tree_change(&schema, &old.nodes, &new.nodes, &mut |found| {
            changes.push(found.change);
        });
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
        Ok(())
    }

    fn side(&self, client: &Client, form: &OutputForm, text: &str) -> Result<Side> {
        if text == "-" || Path::new(text).is_file() {
            return Ok(Side::File(text.to_owned()));
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
                let failed = |message: String| Failure::data(message).in_file(file);
                let elements = elements_of(&text, &["data", "config"]);
                let elements = elements.map_err(|error| failed(error.to_string()))?;
                let document = format!("<data>{elements}</data>");
                let data = Element::parse(&document);
                let data = data.map_err(|error| failed(error.to_string()))?;
                data_tree(schema, &data).map_err(|failure| failure.in_file(file))
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
