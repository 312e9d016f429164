//! `create-subscription` (RFC 5277 §2.1.1), and the begin of those of RFC 8639.

use std::sync::Arc;

use espalier_service::SessionDatastore;
use espalier_service::notifications::{
    EventFilter, NETCONF_STREAM, SubscriptionId, SubscriptionOptions, parse_time,
};
use espalier_store::Timestamp;
use espalier_yang::data::DataTree;
use espalier_yang::{ErrorTag, NodeId, Schema};

use super::filter::FilterText;
use super::output::{Output, Result};
use super::parameters::{Parameters, invalid, protocol_error};
use crate::netconf::message::Element;

/// The namespace of `create-subscription`.
pub(super) const NOTIFICATION_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// The namespace of `establish-subscription` (RFC 8639).
pub(super) const SUBSCRIBED_NAMESPACE: &str =
    "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";

/// `create-subscription`.
pub(super) fn create(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    running.require("notifications", "create-subscription")?;
    let names = ["stream", "filter", "startTime", "stopTime"];
    let parameters = Parameters::of(operation, &names)?;
    let name = parameters.text("stream")?;
    let name = name.as_deref().unwrap_or(NETCONF_STREAM);
    let stream = running.stream(name).map_err(|_| {
        let message = format!("there is no event stream “{name}”");
        invalid(message, "stream")
    })?;
    let (start, stop) = (
        time(&parameters, "startTime")?,
        time(&parameters, "stopTime")?,
    );
    if let Some(stop) = stop {
        let Some(start) = start else {
            let message = "“stopTime” requires “startTime”";
            let error = protocol_error(ErrorTag::MissingElement, message);
            return Err(error.on_element("startTime").into());
        };
        if stop < start {
            return Err(bad("“stopTime” is before “startTime”", "stopTime").into());
        }
    }
    let filter = match parameters.get("filter") {
        Some(filter) => Some(Arc::new(event_filter(running, filter)?)),
        None => None,
    };
    let options = SubscriptionOptions {
        stream,
        filter,
        start,
        stop,
        from: None,
    };
    let now = espalier_store::Clock::now(&espalier_store::SystemClock);
    if start.is_some_and(|start| start > now) {
        return Err(bad("“startTime” is in the future", "startTime").into());
    }
    Ok(Output::Subscribed(Box::new(running.subscribe(options)?)))
}

fn bad(message: &str, element: &str) -> espalier_yang::DataError {
    protocol_error(ErrorTag::BadElement, message).on_element(element)
}

fn time(parameters: &Parameters<'_>, name: &str) -> Result<Option<Timestamp>> {
    let Some(text) = parameters.text(name)? else {
        return Ok(None);
    };
    let time = parse_time(&text);
    let wrong = || invalid(format!("“{text}” is not a time from 1970 to 9999"), name);
    Ok(Some(time.ok_or_else(wrong)?))
}

/// The filter in a `filter` element.
fn event_filter(running: &SessionDatastore, filter: &Element<'_>) -> Result<EventFilter> {
    match FilterText::of(filter)? {
        FilterText::Subtree(document) => {
            check_names(running, filter)?;
            Ok(EventFilter::parse_subtree_element(&document)?)
        }
        FilterText::XPath(text) => {
            let of_server = running.server_state()?;
            let mut schemas = vec![running.schema()];
            schemas.extend(of_server.iter().map(SessionDatastore::schema));
            let module = |prefix: Option<&str>| module_of(&schemas, filter, prefix);
            Ok(EventFilter::parse_xpath_with(text, &module)?)
        }
    }
}

/// Rejects a subtree filter with an element that is in no model: its client would wait for ever. Reads have no such check,
/// as RFC 6241 §6 requires.
fn check_names(running: &SessionDatastore, filter: &Element<'_>) -> Result<()> {
    let mut all: Vec<_> = vec![running.clone()];
    all.extend(running.server_state()?);
    for element in filter.children()? {
        let is_known = all.iter().any(|of| {
            let module = of.schema().module_by_namespace(&element.namespace);
            module.is_some_and(|module| of.schema().child(None, module, &element.name).is_some())
        });
        // Without a namespace, an element is one of any module (RFC 6241 §6.2.1).
        if !is_known && !element.namespace.is_empty() {
            let message = format!(
                "there is no notification “{}” in “{}”",
                element.name, element.namespace
            );
            return Err(invalid(message, "filter").into());
        }
    }
    Ok(())
}

/// The module of a prefix in an expression: that of the namespace that it is declared for, or the one with this name; `None`
/// if no schema has it, so that the expression is rejected. A name without a prefix is that of any module.
pub(super) fn module_of(
    schemas: &[&Arc<Schema>],
    scope: &Element<'_>,
    prefix: Option<&str>,
) -> Option<Box<str>> {
    let prefix = prefix?;
    let namespace = scope.namespace_of(prefix);
    schemas.iter().find_map(|schema| {
        let module = match namespace {
            Some(namespace) => schema.module_by_namespace(namespace),
            None => schema.module_by_name(prefix),
        };
        module.map(|module| schema.module(module).name.clone())
    })
}

/// Begins to receive from the subscription that an operation has established, if it did. `output` has the content of its
/// output.
pub(super) fn established(
    running: &SessionDatastore,
    schema: &Arc<Schema>,
    output: DataTree,
) -> Result<Output> {
    let name = |node: NodeId| &*schema.node(node).name;
    let id = output.nodes.iter().find(|leaf| name(leaf.node) == "id");
    let id = id.and_then(|id| id.value()?.to_string().parse().ok());
    let id = SubscriptionId(id.unwrap_or_default());
    let subscription = running.open_subscription(id)?;
    Ok(Output::Established(
        Arc::clone(schema),
        output,
        Box::new(subscription),
    ))
}
