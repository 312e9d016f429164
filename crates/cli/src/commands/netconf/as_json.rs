//! Replies and notifications as JSON (RFC 7951).

use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::Reply;
use espalier_terminal::{Failure, Result};
use espalier_yang::data::{
    DataTree, Layout, PrintOptions, Root, json as yang_json, xml as yang_xml,
};
use espalier_yang::schema::NodeKind;
use espalier_yang::{NodeId, Schema};

use super::context::Context;
use super::output::malformed;
use super::server_modules::{data_tree, json_tree, resource_tree};

/// The namespace of the element `action` (RFC 7950 §7.15.2).
const ACTION_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:1";

/// Data as JSON.
///
/// # Errors
/// The modules cannot be fetched; the data do not conform to them.
pub fn data(context: &Context, data: &Element<'_>) -> Result<Vec<u8>> {
    let schema = context.schema()?;
    print(schema, &data_tree(schema, data)?, Layout::Pretty)
}

/// The elements of a document as JSON.
///
/// # Errors
/// The modules cannot be fetched; the document does not conform to them.
pub fn elements(context: &Context, document: &str) -> Result<String> {
    let schema = context.schema()?;
    let tree = json_tree(schema, document)?;
    let mut printer = yang_xml::Printer::new(schema, Vec::new(), PrintOptions::default());
    let stopped = tree.emit(&mut printer);
    let text = printer.finish().map_err(|error| Failure::from(&error))?;
    stopped.map_err(|_| Failure::data("the data cannot be sent"))?;
    String::from_utf8(text).map_err(|error| Failure::data(error.to_string()))
}

/// The reply to an operation as JSON: the data of an element `data`, else `{"MODULE:output": {...}}` (RFC 8040 §3.6.2).
///
/// # Errors
/// As [`data`]; the modules have no such operation.
pub fn output(context: &Context, operation: &Element<'_>, reply: &Reply) -> Result<Vec<u8>> {
    let elements = reply.elements().map_err(malformed)?;
    if let [only] = &elements[..]
        && only.name == "data"
    {
        return match only.children() {
            Ok(_) => data(context, only),
            // That of get-schema is a text.
            Err(_) => text(only),
        };
    }
    let schema = context.schema()?;
    let node = output_of(schema, operation)?.ok_or_else(|| {
        let message = format!(
            "no module has the output of the operation “{}”",
            operation.name
        );
        Failure::data(message).hint("--output xml needs no modules")
    })?;
    let namespace = &schema.module(schema.node(node).module).namespace;
    let elements: String = elements.iter().map(Element::standalone).collect();
    let document = format!("<o:output xmlns:o=\"{namespace}\">{elements}</o:output>");
    let tree = resource_tree(schema, Root::Resource(node), &document)?;
    print(schema, &tree, Layout::Pretty)
}

fn text(element: &Element<'_>) -> Result<Vec<u8>> {
    let text = element.text().map_err(|error| malformed(error.into()))?;
    Ok(format!("{}\n", serde_json::json!({"data": text})).into_bytes())
}

/// The content of a notification, a JSON object of one member; `None` if no module has it at the top level.
///
/// # Errors
/// The modules cannot be fetched; the notification does not conform to them.
pub fn event(context: &Context, event: &Element<'_>) -> Result<Option<serde_json::Value>> {
    let schema = context.schema()?;
    let Some(node) = child(schema, None, event) else {
        return Ok(None);
    };
    if !matches!(schema.node(node).kind, NodeKind::Notification) {
        return Ok(None);
    }
    let tree = resource_tree(schema, Root::Resource(node), &event.standalone())?;
    let text = print(schema, &tree, Layout::Compact)?;
    let value = serde_json::from_slice(&text);
    value
        .map(Some)
        .map_err(|error| Failure::data(format!("the notification cannot be printed: {error}")))
}

fn print(schema: &Schema, tree: &DataTree, layout: Layout) -> Result<Vec<u8>> {
    let options = PrintOptions {
        layout,
        envelope: None,
    };
    let mut text = Vec::new();
    let mut printer = yang_json::Printer::new(schema, &mut text, options);
    // The printer keeps the reason.
    let stopped = tree.emit(&mut printer);
    printer.finish().map_err(|error| Failure::from(&error))?;
    stopped.map_err(|_| Failure::data("the data cannot be printed"))?;
    Ok(text)
}

fn child(schema: &Schema, parent: Option<NodeId>, element: &Element<'_>) -> Option<NodeId> {
    let module = schema.module_by_namespace(&element.namespace)?;
    schema.child(parent, module, &element.name)
}

/// The `output` of an RPC, or of the action that the elements of `action` lead to.
fn output_of(schema: &Schema, operation: &Element<'_>) -> Result<Option<NodeId>> {
    let node = match operation.is(ACTION_NAMESPACE, "action") {
        true => action(schema, operation)?,
        false => child(schema, None, operation),
    };
    let children = node.map_or(&[][..], |node| &schema.node(node).children);
    let is_output = |node: &&NodeId| matches!(schema.node(**node).kind, NodeKind::Output);
    Ok(children.iter().find(is_output).copied())
}

fn action(schema: &Schema, operation: &Element<'_>) -> Result<Option<NodeId>> {
    let (mut parent, mut element) = (None, operation.clone());
    loop {
        let children = element.children();
        let children = children.map_err(|error| malformed(error.into()))?;
        let mut inner = children.into_iter().filter_map(|one| {
            let node = child(schema, parent, &one)?;
            Some((node, one))
        });
        // The others are keys.
        let found = inner.find(|(node, _)| {
            let kind = &schema.node(*node).kind;
            !matches!(kind, NodeKind::Leaf(_) | NodeKind::LeafList(_))
        });
        match found {
            None => return Ok(None),
            Some((node, _)) if matches!(schema.node(node).kind, NodeKind::Action) => {
                return Ok(Some(node));
            }
            Some((node, next)) => (parent, element) = (Some(node), next),
        }
    }
}
