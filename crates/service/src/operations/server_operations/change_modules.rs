//! `change-modules` of `espalier-modules`.

use espalier_store::{DatastoreUpgrade, LeafFill, Places, Result, UnknownData, UpgradeReport};
use espalier_yang::data::{DataNode, DataTree};
use espalier_yang::schema::{FeatureChange, ModuleChange, ModuleSource, NewModule};
use espalier_yang::{DataError, ErrorTag, Errors};
use serde_json::{Value as Json, json};

use super::parameters::parameter_error;
use crate::datastore::{ChangeNote, ModuleUpgrade, SessionDatastore};
use crate::modules;
use crate::operations::OperationCall;

pub(super) fn run(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let fills = entries(call, "fill");
    let fills: Vec<LeafFill> = fills
        .map(|fill| LeafFill {
            path: text(call, fill, "path").unwrap_or_default(),
            value: text(call, fill, "value").unwrap_or_default(),
        })
        .collect();
    let is_true = |name| call.argument(name).as_deref() == Some("true");
    let options = ModuleUpgrade {
        unknown: UnknownData::of(is_true("drop-unknown")),
        is_trial: is_true("dry-run"),
        fills: &fills,
        ..ModuleUpgrade::default()
    };
    let comment = call.argument("comment").unwrap_or_default();
    let author = call.argument("author").unwrap_or_default();
    let note = ChangeNote {
        author: &author,
        comment: &comment,
    };
    let report = of.change_modules(&change(call)?, options, note)?;
    let output = json!({"espalier-modules:output": upgrade_json(&report)});
    Ok(call.output(output.to_string().as_bytes())?)
}

/// The change that the input describes.
fn change(call: &OperationCall) -> Result<ModuleChange> {
    let mut errors = Errors::new();
    let mut change = ModuleChange::default();
    for entry in entries(call, "install") {
        match module(call, entry) {
            Ok(source) => change.install.push(NewModule {
                source,
                is_import_only: text(call, entry, "import-only").is_some(),
            }),
            Err(error) => errors.push(error),
        }
    }
    errors.into_result()?;
    change.remove = texts(call, call.arguments(), "remove");
    change.features = entries(call, "features")
        .map(|entry| FeatureChange {
            module: text(call, entry, "module").unwrap_or_default(),
            enable: texts(call, entry.children(), "enable"),
            disable: texts(call, entry.children(), "disable"),
        })
        .collect();
    Ok(change)
}

/// The module of an entry of `install`.
fn module(call: &OperationCall, entry: &DataNode) -> std::result::Result<ModuleSource, DataError> {
    let invalid = |message, element| {
        let error = parameter_error(ErrorTag::InvalidValue, message);
        Err(error.on_element(element))
    };
    if let Some(yang) = text(call, entry, "text") {
        let message = "the text does not begin with “module NAME {” or “submodule NAME {”";
        return match ModuleSource::from_text(yang) {
            Some(source) => Ok(source),
            None => invalid(message.to_owned(), "text"),
        };
    }
    let named = text(call, entry, "built-in").unwrap_or_default();
    match modules::named(&named) {
        Some(module) => Ok(module.source()),
        None => invalid(format!("the program has no module “{named}”"), "built-in"),
    }
}

fn is_named(call: &OperationCall, node: &DataNode, name: &str) -> bool {
    &*call.schema.node(node.node).name == name
}

/// The entries of a list at the top of the input.
fn entries<'c>(call: &'c OperationCall, name: &'c str) -> impl Iterator<Item = &'c DataNode> {
    let arguments = call.arguments().iter();
    arguments.filter(move |node| is_named(call, node, name))
}

/// The entries of a leaf-list.
fn texts(call: &OperationCall, nodes: &[DataNode], name: &str) -> Vec<String> {
    let named = nodes.iter().filter(|node| is_named(call, node, name));
    named
        .filter_map(DataNode::value)
        .map(ToString::to_string)
        .collect()
}

/// A leaf of an entry.
fn text(call: &OperationCall, entry: &DataNode, name: &str) -> Option<String> {
    texts(call, entry.children(), name).pop()
}

/// The report of an upgrade as JSON (RFC 7951), as `espalier-modules` has it in the output of `change-modules`.
pub fn upgrade_json(report: &UpgradeReport) -> Json {
    let datastores: Vec<Json> = report.datastores.iter().map(datastore_json).collect();
    json!({"datastore": datastores})
}

fn datastore_json(changed: &DatastoreUpgrade) -> Json {
    let mut members = json!({
        "anchor": changed.anchor,
        "datastore": changed.datastore.name(),
        "rewritten": changed.is_changed(),
        "converted": places_json(&changed.converted),
        "removed": places_json(&changed.dropped),
        "filled": places_json(&changed.filled),
    });
    if !changed.session.is_empty() {
        members["session"] = json!(changed.session);
    }
    if let Some(version) = changed.version {
        members["version"] = json!(version.to_string());
    }
    members
}

fn places_json(places: &Places) -> Json {
    let shown = places.shown.iter();
    let shown: Vec<Json> = shown
        .map(|place| json!({"path": place.path, "change": place.change}))
        .collect();
    let mut members = json!({"count": places.count.to_string()});
    if !shown.is_empty() {
        members["place"] = json!(shown);
    }
    members
}
