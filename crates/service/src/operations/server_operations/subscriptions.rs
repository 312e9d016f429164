//! The operations of `ietf-subscribed-notifications` (RFC 8639 §2.4).

use std::sync::Arc;

use espalier_store::{Datastore, Result, Timestamp};
use espalier_yang::ErrorTag;
use espalier_yang::data::{Content, DataTree};

use super::parameters::parameter_error;
use super::push;
use crate::datastore::SessionDatastore;
use crate::notifications::{
    Encoding, EventFilter, GivenFilter, Request, StreamFilter, StreamTarget, SubscriptionError,
    SubscriptionId, Target, Terms, named_filter, parse_time,
};
use crate::operations::OperationCall;
use crate::server_state::StateNodes;
use crate::time_text::time_text;

pub(super) fn establish(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let target = match push::target(of, call)? {
        Some(target) => target,
        None => Target::Stream(StreamTarget {
            stream: of.stream(&call.argument("stream").unwrap_or_default())?,
            filter: filter(of, call, Request::Establish)?,
            start: time(call, "replay-start-time")?,
        }),
    };
    let terms = Terms {
        target,
        stop: time(call, "stop-time")?,
    };
    let (id, revised) = of.establish(&call.schema, terms, encoding(call)?)?;
    let operation = Some(call.operation());
    let nodes = StateNodes::nodes_in(&call.schema, operation, "output", |output| {
        output.leaf("id", &id.0.to_string());
        if let Some(time) = revised {
            output.leaf("replay-start-time-revision", &time_text(time));
        }
    });
    Ok(DataTree { nodes })
}

pub(super) fn modify(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let terms = of.subscription_terms(id(call), Request::Modify)?;
    if terms.stream().is_none() {
        push::modify(of, call, terms)?;
        return Ok(DataTree::default());
    }
    let filter = filter(of, call, Request::Modify)?;
    of.modify_subscription(id(call), filter, time(call, "stop-time")?)?;
    Ok(DataTree::default())
}

pub(super) fn delete(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.delete_subscription(id(call))?;
    Ok(DataTree::default())
}

pub(super) fn kill(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.kill_subscription(id(call))?;
    Ok(DataTree::default())
}

pub(super) fn id(call: &OperationCall) -> SubscriptionId {
    let id = call.argument("id").and_then(|text| text.parse().ok());
    SubscriptionId(id.unwrap_or_default())
}

/// A time of the input. Those before 1970 cannot be represented.
pub(super) fn time(call: &OperationCall, name: &'static str) -> Result<Option<Timestamp>> {
    let Some(text) = call.argument(name) else {
        return Ok(None);
    };
    match parse_time(&text) {
        Some(time) => Ok(Some(time)),
        None => {
            let message = format!("“{text}” is not a time from 1970 to 9999");
            let error = parameter_error(ErrorTag::InvalidValue, message);
            Err(error.on_element(name).into())
        }
    }
}

/// The encoding that is requested.
fn encoding(call: &OperationCall) -> Result<Option<Encoding>> {
    let Some(name) = call.argument("encoding") else {
        return Ok(None);
    };
    let local = name.rsplit(':').next().unwrap_or_default();
    let encoding = local.strip_prefix("encode-").and_then(Encoding::parse);
    match encoding {
        Some(encoding) => Ok(Some(encoding)),
        None => Err(SubscriptionError::Encoding(name).of(Request::Establish)),
    }
}

/// The filter in the input: a configured one by its name, or one of its own.
fn filter(
    of: &SessionDatastore,
    call: &OperationCall,
    request: Request,
) -> Result<Option<StreamFilter>> {
    let wrong = |hint: String| SubscriptionError::Filter(hint).of(request);
    for node in call.arguments() {
        let (given, parsed) = match (&*call.schema.node(node.node).name, &node.content) {
            ("stream-filter-name", Content::Value(name)) => {
                let name = name.to_string();
                let running = of.sibling(Datastore::Running)?;
                let server = of.server_schema()?;
                let found = named_filter(running.tree(), &server, &name)?;
                let missing = || wrong(format!("there is no usable filter “{name}”"));
                let parsed = found.ok_or_else(missing)?;
                (GivenFilter::Name(name), Ok(parsed))
            }
            ("stream-xpath-filter", Content::Value(text)) => {
                let text = text.to_string();
                let parsed = EventFilter::parse_xpath(&text);
                (GivenFilter::XPath(text), parsed)
            }
            ("stream-subtree-filter", Content::Any(content)) => {
                let server = of.server_schema()?;
                let parsed = EventFilter::parse_subtree(&[of.schema(), &server], content);
                (GivenFilter::Subtree(content.to_string()), parsed)
            }
            _ => continue,
        };
        let parsed = Arc::new(parsed.map_err(|error| wrong(error.message))?);
        return Ok(Some(StreamFilter { given, parsed }));
    }
    Ok(None)
}
