//! `compare` (RFC 9144): the edits that lead from one datastore to another.

use espalier_store::{
    ChangeKind, Content, DIFF_CHANGES_MAX, Datastore, Error, Point, Result, Selection, TreeChange,
    WithOrigin, each_tree_change,
};
use espalier_yang::data::subtree_filter::{NamespaceBinding, SubtreeFilter};
use espalier_yang::data::{
    Content as NodeContent, DataNode, DataTree, PrintOptions, TreeBuilder, json, xml,
};
use espalier_yang::{ErrorTag, InstancePath, Schema};

use super::parameters::parameter_error;
use crate::datastore::{RequestFilter, SessionDatastore, XPathFilter};
use crate::notifications::Encoding;
use crate::operations::OperationCall;
use crate::server_state::StateNodes;

/// The name of the patch.
const PATCH_ID: &str = "differences";

/// Both datastores are read into memory: what differs is found there.
pub(super) fn run(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let (source, target) = (side(of, call, "source")?, side(of, call, "target")?);
    let is_operational = |side: &SessionDatastore| side.datastore() == Datastore::Operational;
    let can_have_state = is_operational(&source) && is_operational(&target);
    let content = match can_have_state || call.argument("all").is_some() {
        true => Content::All,
        // State is in operational only, so it is no difference.
        false => Content::Config,
    };
    let filter = filter(of, call)?;
    let read = |side: &SessionDatastore| {
        let with_origin = match is_operational(side) && call.argument("report-origin").is_some() {
            true => WithOrigin::Shown,
            false => WithOrigin::Hidden,
        };
        let selection = Selection {
            content,
            with_origin,
            ..Selection::default()
        };
        tree(side, &filter, &selection)
    };
    let (old, new) = (read(&source)?, read(&target)?);
    let mut changes = Vec::new();
    each_tree_change(of.schema(), &old.nodes, &new.nodes, &mut |found| {
        // The parent has it.
        if !found.change.is_nested && changes.len() <= DIFF_CHANGES_MAX {
            changes.push(found);
        }
    });
    if changes.len() > DIFF_CHANGES_MAX {
        let message = format!("there are more than {DIFF_CHANGES_MAX} differences; use a filter");
        return Err(parameter_error(ErrorTag::TooBig, message).into());
    }
    let operation = Some(call.operation());
    let nodes = StateNodes::nodes_in(&call.schema, operation, "output", |output| {
        if changes.is_empty() {
            output.leaf("no-matches", "");
            return;
        }
        output.inner("differences", |differences| {
            differences.inner("yang-patch", |patch| {
                patch.leaf("patch-id", PATCH_ID);
                for (number, change) in (1..).zip(&changes) {
                    patch.inner("edit", |edit| {
                        edit.leaf("edit-id", &number.to_string());
                        add_edit(edit, of.schema(), change, call.encoding);
                    });
                }
            });
        });
    });
    Ok(DataTree { nodes })
}

/// The datastore that an argument names.
fn side(of: &SessionDatastore, call: &OperationCall, name: &str) -> Result<SessionDatastore> {
    let identity = call.argument(name).unwrap_or_default();
    let local = identity.rsplit(':').next().unwrap_or_default();
    let unknown = || {
        let message = format!("there is no datastore “{identity}”");
        parameter_error(ErrorTag::InvalidValue, message).on_element(name)
    };
    of.sibling(Datastore::named(local).ok_or_else(unknown)?)
}

fn filter(of: &SessionDatastore, call: &OperationCall) -> Result<RequestFilter> {
    for node in call.arguments() {
        let name = &*call.schema.node(node.node).name;
        match (name, &node.content) {
            ("subtree-filter", NodeContent::Any(content)) => {
                let filter = match xml::raw_xml(content) {
                    Some(text) => SubtreeFilter::parse_xml(&text),
                    None => SubtreeFilter::parse_json(&[of.schema()], content),
                };
                return Ok(RequestFilter::Subtree(filter?));
            }
            ("xpath-filter", NodeContent::Value(text)) => {
                return Ok(RequestFilter::XPath(XPathFilter {
                    text: text.to_string(),
                    namespaces: namespaces(of.schema()),
                }));
            }
            _ => {}
        }
    }
    Ok(RequestFilter::All)
}

/// Both the names of modules and their prefixes are prefixes in the expression: the value of a leaf has no declarations.
fn namespaces(schema: &Schema) -> Vec<NamespaceBinding> {
    let modules = schema.own_modules().iter();
    let bindings = modules.flat_map(|module| {
        [&module.name, &module.prefix].map(|prefix| NamespaceBinding {
            prefix: Some(prefix.clone()),
            namespace: module.namespace.clone(),
        })
    });
    bindings.collect()
}

/// What the filter selects of the models of the anchor.
fn tree(of: &SessionDatastore, filter: &RequestFilter, selection: &Selection) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    let mut sent = Ok(());
    // The other parts have state of the server, which no other datastore has.
    for part in of.filtered(filter, selection)?.into_iter().take(1) {
        sent = part.send(&mut builder);
    }
    // A builder stops its source at its limit, and has the error of that.
    if !matches!(sent, Err(Error::Stopped)) {
        sent?;
    }
    let mut tree = builder.finish()?;
    tree.normalise(of.schema());
    Ok(tree)
}

fn add_edit(
    edit: &mut StateNodes<'_>,
    schema: &Schema,
    found: &TreeChange<'_>,
    encoding: Encoding,
) {
    let change = &found.change;
    let (operation, has_value, has_source) = match (change.kind, &change.after) {
        (ChangeKind::Created, None) => ("create", true, false),
        (ChangeKind::Created, Some(_)) => ("insert", true, false),
        (ChangeKind::Deleted, _) => ("delete", false, true),
        (ChangeKind::Modified, _) => ("replace", true, true),
        (ChangeKind::Moved, _) => ("move", false, false),
    };
    edit.leaf("operation", operation);
    edit.leaf("target", &target(schema, &change.path));
    match &change.after {
        Some(Point::First) => {
            edit.leaf("where", "first");
        }
        Some(Point::After(keys)) => {
            let mut path = change.path.clone();
            if let Some(last) = path.steps.last_mut() {
                last.keys = keys.clone();
            }
            edit.leaf("point", &target(schema, &path));
            edit.leaf("where", "after");
        }
        None => {}
    }
    if let Some(node) = found.new.filter(|_| has_value) {
        edit.any("value", &content(schema, node, encoding));
    }
    if let Some(node) = found.old.filter(|_| has_source) {
        edit.any("source-value", &content(schema, node, encoding));
    }
}

/// A path in the form of RFC 8040 §3.5.3; an entry without keys has no such form.
fn target(schema: &Schema, path: &InstancePath) -> String {
    match path.to_api_path(schema) {
        Some(text) => format!("/{text}"),
        None => path.to_instance_identifier(schema),
    }
}

/// A node as the content of an `anydata`: the schema of the operation does not define it, so it is in the encoding of the
/// reply already.
fn content(schema: &Schema, node: &DataNode, encoding: Encoding) -> String {
    let tree = DataTree {
        nodes: vec![node.clone()],
    };
    // Writing to memory does not fail.
    let text = match encoding {
        Encoding::Json => {
            let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
            let _ = tree.emit(&mut printer);
            printer.finish()
        }
        Encoding::Xml => {
            let mut printer = xml::Printer::new(schema, Vec::new(), PrintOptions::default());
            let _ = tree.emit(&mut printer);
            printer.finish()
        }
    };
    let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
    match encoding {
        Encoding::Json => text,
        Encoding::Xml => xml::raw_content(&text),
    }
}
