//! `ietf-netconf-acm` (RFC 8341): the counters, and the rules in force where the models of the served anchor do not have
//! them.

use std::sync::Arc;

use espalier_store::{ProviderError, ProviderRequest, Selection, View};
use espalier_yang::data::{
    Content, DataNode, DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json,
};
use espalier_yang::{InstancePath, Keys, Schema};

use super::anchor_state::AnchorState;
use super::state_nodes::StateNodes;
use crate::access::NACM_MODULE;

/// The counters.
pub(super) fn counters(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    Ok(StateNodes::tree(
        &request.schema,
        (NACM_MODULE, "nacm"),
        |nacm| {
            add_counters(state, request, nacm);
        },
    ))
}

/// The rules in force and the counters.
pub(super) fn in_force(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let rules = match state.sources.trees.with_module(NACM_MODULE)? {
        Some(tree) => rules_of(&tree.view()?, &request.schema)?,
        None => Vec::new(),
    };
    Ok(StateNodes::tree(
        &request.schema,
        (NACM_MODULE, "nacm"),
        |nacm| {
            nacm.extend(rules);
            if !state.sources.enforces_rules {
                nacm.remove("enable-nacm");
                nacm.leaf("enable-nacm", "false");
            }
            add_counters(state, request, nacm);
        },
    ))
}

/// Adds the counters that are requested.
fn add_counters(state: &AnchorState, request: &ProviderRequest, nacm: &mut StateNodes<'_>) {
    let denied = state.sources.denied.counters();
    let requested = request.path.steps.get(1).map(|step| step.node);
    for (name, count) in [
        ("denied-operations", denied.operations),
        ("denied-data-writes", denied.data_writes),
        ("denied-notifications", denied.notifications),
    ] {
        // The type is a 32-bit counter from zero.
        if requested.is_none_or(|node| *request.schema.node(node).name == *name) {
            nacm.leaf(name, &(count % (1 << 32)).to_string());
        }
    }
}

/// The configured rules, as data of another schema with the same modules.
fn rules_of(view: &View, schema: &Arc<Schema>) -> Result<Vec<DataNode>, ProviderError> {
    let from = view.schema();
    let module = from.module_by_name(NACM_MODULE);
    let Some(top) = module.and_then(|module| from.child(None, module, "nacm")) else {
        return Ok(Vec::new());
    };
    let path = InstancePath::root().child(top, Keys::None);
    let mut printer = json::Printer::new(from, Vec::new(), PrintOptions::default());
    view.read(&path, &Selection::default(), &mut printer)?;
    let text = printer.finish()?;
    let (mut builder, options) = (TreeBuilder::new(), ParseOptions::default());
    json::parse(schema, Root::Datastore, &*text, &mut builder, &options)?;
    let nodes = builder.finish()?.nodes;
    let children = nodes.into_iter().flat_map(|node| match node.content {
        Content::Inner(children) => children,
        _ => Vec::new(),
    });
    Ok(children.collect())
}
