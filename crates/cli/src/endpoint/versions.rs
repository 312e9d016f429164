//! Requests for earlier versions, and their execution on a store.

use std::io::Write;
use std::sync::Arc;

use espalier_service::SessionDatastore;
use espalier_store::{PageNames, View, write_change_json, write_change_text};
use espalier_yang::data::Envelope;
use espalier_yang::path::Fields;
use espalier_yang::{InstancePath, Schema};
use serde::{Deserialize, Serialize};

use crate::endpoint::Read;
use espalier_terminal::Result;
use espalier_terminal::document::{self, Format, Found};

/// Two versions to compare.
pub struct Differences<'a> {
    /// The version to compare from.
    pub from: u64,
    /// The version to compare to.
    pub to: u64,
    /// The node that is compared, with its descendants.
    pub path: &'a InstancePath,
    /// The format of a line.
    pub style: LineStyle,
}

/// The format of a line for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineStyle {
    /// Text.
    Text,
    /// A JSON object.
    Json,
}

/// A request to restore a version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// The version.
    pub version: u64,
    /// The author of the commit.
    pub author: String,
    /// The comment of the commit.
    pub comment: String,
}

/// Passes each line of a comparison to `line`, without its newline. An error of `line` ends the comparison.
pub fn diff_lines(
    of: &SessionDatastore,
    differences: &Differences<'_>,
    line: &mut dyn FnMut(&[u8]) -> espalier_store::Result<()>,
) -> espalier_store::Result<()> {
    let path = differences.path;
    let named = path.to_instance_identifier(of.schema());
    let mut cached: Option<(Arc<Schema>, InstancePath)> = None;
    let mut buffer = Vec::new();
    of.each_difference(differences.from, differences.to, &mut |schema, change| {
        // The node ids of a path depend on the schema of the version.
        if !cached
            .as_ref()
            .is_some_and(|(cached, _)| Arc::ptr_eq(cached, schema))
        {
            let path = path_in_schema(schema, of.schema(), path, &named);
            cached = path.map(|path| (Arc::clone(schema), path));
        }
        let Some((_, path)) = &cached else {
            return Ok(());
        };
        if !change.is_below(path) {
            return Ok(());
        }
        buffer.clear();
        match differences.style {
            LineStyle::Text => write_change_text(&mut buffer, schema, change),
            LineStyle::Json => write_change_json(&mut buffer, schema, change),
        }
        line(&buffer)
    })
}

/// Translates a path to the schema of a version; `None` if that schema does not have the node.
pub fn path_in_schema(
    schema: &Arc<Schema>,
    newest: &Arc<Schema>,
    path: &InstancePath,
    named: &str,
) -> Option<InstancePath> {
    match Arc::ptr_eq(schema, newest) || path.is_root() {
        true => Some(path.clone()),
        false => InstancePath::parse_cli_path(schema, named).ok(),
    }
}

/// Performs a read on a view and prints the result.
pub fn print_view(view: &View, read: &Read<'_>, out: &mut dyn Write) -> Result<Found> {
    let schema = read.schema;
    let fields = read
        .fields
        .map(|text| Fields::parse(schema, read.path.target(), text))
        .transpose()?;
    let selection = espalier_store::Selection {
        depth: read.depth,
        content: read.content,
        fields,
        with_defaults: read.with_defaults,
        with_origin: read.with_origin,
        sublist_limit: read.pages.sublist_limit(),
        ..espalier_store::Selection::default()
    };
    view.check_selection(&selection)?;
    let mut options = document::print_options(read.format, read.path);
    let Some(page) = read.pages.request(schema, read.path, &PageNames::Modules)? else {
        return document::print(read.format, schema, options, out, |sink| {
            Ok(Found::from_store(
                view.read_resource(read.path, &selection, sink)?,
            ))
        });
    };
    // As many entries of XML as there are need one element around them.
    options.envelope = (read.format == Format::Xml).then_some(Envelope::XML_LIST);
    document::print(read.format, schema, options, out, |sink| {
        let info = view.read_page(read.path, &page, &selection, sink)?;
        Ok(Found::from_store(info.is_some()))
    })
}
