//! All other operations, and actions, by their models.

use std::sync::Arc;

use espalier_service::SessionDatastore;
use espalier_service::notifications::Encoding;
use espalier_service::operations::input_of;
use espalier_yang::data::{Content, DataTree, ParseOptions, Root};
use espalier_yang::schema::XmlPrefixes;
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, NodeKind, Schema, Step};

use super::output::{Output, Result};
use super::parameters::{document_tree, protocol_error};
use super::subscribe::{SUBSCRIBED_NAMESPACE, established};
use crate::netconf::message::{BASE_NAMESPACE, Element};

/// The namespace of `action` (RFC 7950 §7.15.2).
pub(super) const YANG_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:1";

/// Invokes an RPC.
pub(super) fn rpc(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    let (of, node) = find(running, operation)?;
    let path = InstancePath {
        steps: vec![Step {
            node,
            keys: Keys::None,
        }],
    };
    invoke((running, &of), &path, operation)
}

/// The RPC of an element, in the models of the anchor, or of the server.
fn find(running: &SessionDatastore, operation: &Element<'_>) -> Result<(SessionDatastore, NodeId)> {
    let mut is_module_known = false;
    for of in std::iter::once(running.clone()).chain(running.server_state()?) {
        let schema = of.schema();
        let Some(module) = schema.module_by_namespace(&operation.namespace) else {
            continue;
        };
        is_module_known = true;
        let found = schema.child(None, module, &operation.name);
        let found = found.filter(|found| matches!(schema.node(*found).kind, NodeKind::Rpc));
        if let Some(node) = found {
            return Ok((of, node));
        }
    }
    let name = &operation.name;
    let error = match is_module_known {
        true => {
            let message = format!(
                "there is no operation “{name}” in “{}”",
                operation.namespace
            );
            protocol_error(ErrorTag::UnknownElement, message).on_element(name)
        }
        false => {
            let message = format!(
                "the operation “{name}” is not supported: there is no module with the namespace “{}”",
                operation.namespace
            );
            protocol_error(ErrorTag::OperationNotSupported, message)
        }
    };
    Err(error.into())
}

/// Invokes an action of the models of the anchor, or of the server: the elements in `action` lead to it.
pub(super) fn action(running: &SessionDatastore, action: &Element<'_>) -> Result<Output> {
    let mut element = only(action.children()?, action)?;
    let module = running.schema().module_by_namespace(&element.namespace);
    let is_own = module.is_some_and(|module| {
        let top = running.schema().child(None, module, &element.name);
        top.is_some()
    });
    let server = if is_own {
        None
    } else {
        running.server_state()?
    };
    let of = server.as_ref().unwrap_or(running);
    let schema = Arc::clone(of.schema());
    let mut path = InstancePath::root();
    loop {
        let module = schema.module_by_namespace(&element.namespace);
        let node = module.and_then(|module| schema.child(path.target(), module, &element.name));
        let Some(node) = node else {
            let message = format!("there is no node “{}”", element.name);
            let error = protocol_error(ErrorTag::UnknownElement, message);
            return Err(error.on_element(&element.name).into());
        };
        let mut children = match schema.node(node).kind {
            NodeKind::Action => {
                path.steps.push(Step {
                    node,
                    keys: Keys::None,
                });
                return invoke((running, of), &path, &element);
            }
            NodeKind::Container { .. } | NodeKind::List(_) => element.children()?,
            _ => {
                let message = format!("“{}” contains no action", element.name);
                let error = protocol_error(ErrorTag::BadElement, message);
                return Err(error.on_element(&element.name).into());
            }
        };
        let keys = keys(&schema, node, &mut children)?;
        path.steps.push(Step { node, keys });
        element = only(children, &element)?;
    }
}

/// The only element among the children of another one.
fn only<'m>(mut children: Vec<Element<'m>>, of: &Element<'_>) -> Result<Element<'m>> {
    match (children.pop(), children.pop()) {
        (Some(child), None) => Ok(child),
        (None, _) => {
            let message = format!("“{}” leads to no action", of.name);
            let error = protocol_error(ErrorTag::MissingElement, message);
            Err(error.on_element(&of.name).into())
        }
        (Some(child), Some(_)) => {
            let message = format!("“{}” leads to more than one node", of.name);
            let error = protocol_error(ErrorTag::BadElement, message);
            Err(error.on_element(&child.name).into())
        }
    }
}

/// Takes the keys of an entry from among its children.
fn keys(schema: &Schema, list: NodeId, children: &mut Vec<Element<'_>>) -> Result<Keys> {
    let keys = schema.node(list).keys();
    if keys.is_empty() {
        return Ok(Keys::None);
    }
    let mut values = Vec::with_capacity(keys.len());
    for &key in keys {
        let leaf = schema.node(key);
        let namespace = &*schema.module(leaf.module).namespace;
        let place = children
            .iter()
            .position(|child| child.is(namespace, &leaf.name));
        let Some(place) = place else {
            let message = format!("the key “{}” is missing", leaf.name);
            let error = protocol_error(ErrorTag::MissingElement, message);
            return Err(error.on_element(&*leaf.name).into());
        };
        let child = children.remove(place);
        let text = child.text()?;
        let prefixes =
            XmlPrefixes(|prefix: Option<&str>| child.namespace_of(prefix.unwrap_or_default()));
        if let Some(leaf) = leaf.as_value() {
            values.push(
                leaf.value_type
                    .parse(schema, &text, &prefixes)
                    .map_err(DataError::from)?,
            );
        }
    }
    Ok(Keys::Values(values))
}

/// Invokes an operation of the models of the anchor, or of the server, with the input in its element.
fn invoke(
    (running, of): (&SessionDatastore, &SessionDatastore),
    path: &InstancePath,
    element: &Element<'_>,
) -> Result<Output> {
    let input = input((running, of), path, element)?;
    let output = of.invoke_encoded(path, &input, Encoding::Xml)?;
    let nodes = output.nodes.into_iter();
    let nodes = nodes.flat_map(|output| match output.content {
        Content::Inner(children) => children,
        _ => Vec::new(),
    });
    let nodes = DataTree {
        nodes: nodes.collect(),
    };
    let schema = of.schema();
    let is_establish = element.is(SUBSCRIBED_NAMESPACE, "establish-subscription");
    match is_establish && path.steps.len() == 1 {
        true => established(of, schema, nodes),
        false => Ok(Output::Nodes(Arc::clone(schema), nodes)),
    }
}

fn input(
    (running, of): (&SessionDatastore, &SessionDatastore),
    path: &InstancePath,
    element: &Element<'_>,
) -> Result<DataTree> {
    let schema = of.schema();
    let input = path.target().and_then(|node| input_of(schema, node));
    let Some(input) = input else {
        return match element.children()?.first() {
            None => Ok(DataTree::default()),
            Some(child) => {
                let message = format!("“{}” has no parameters", element.name);
                let error = protocol_error(ErrorTag::UnknownElement, message);
                Err(error.on_element(&child.name).into())
            }
        };
    };
    let namespace = &schema.module(schema.node(input).module).namespace;
    // Some clients give the parameters of base operations no namespace.
    let default = match &**namespace {
        BASE_NAMESPACE => BASE_NAMESPACE,
        _ => "",
    };
    let document = element.renamed(namespace, "input", default);
    let options = ParseOptions {
        place: path.clone(),
        other_modules: Some(Arc::clone(running.schema())),
        ..ParseOptions::default()
    };
    document_tree(schema, Root::Resource(input), &document, &options)
}
