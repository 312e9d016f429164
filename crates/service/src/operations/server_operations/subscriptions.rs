//! The operations of `ietf-subscribed-notifications` (RFC 8639 §2.4).

use std::sync::Arc;

use espalier_store::{Datastore, Result};
use espalier_yang::Keys;
use espalier_yang::data::DataTree;

use super::push;
use crate::datastore::SessionDatastore;
use crate::notifications::{
    Encoding, EventFilter, GivenFilter, Request, StreamFilter, StreamTarget, SubscriptionError,
    SubscriptionId, Target, Terms, named_filter,
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
            start: call.policy().time("replay-start-time")?,
        }),
    };
    let terms = Terms {
        target,
        stop: call.policy().time("stop-time")?,
        configured: None,
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
    of.modify_subscription(id(call), filter, call.policy().time("stop-time")?)?;
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

/// The action of a receiver of a configured subscription (RFC 8639 §2.5.5).
pub(super) fn reset(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let keys = call.path.steps.iter().filter_map(|step| match &step.keys {
        Keys::Values(values) => values.first().map(ToString::to_string),
        _ => None,
    });
    let keys: Vec<String> = keys.collect();
    let (id, receiver) = match &keys[..] {
        [id, receiver] => (id.parse().unwrap_or_default(), &**receiver),
        _ => (0, ""),
    };
    of.reset_receiver(SubscriptionId(id), receiver)?;
    let now = time_text(of.tree().store().now());
    let nodes = StateNodes::nodes_in(&call.schema, Some(call.operation()), "output", |output| {
        output.leaf("time", &now);
    });
    Ok(DataTree { nodes })
}

pub(super) fn id(call: &OperationCall) -> SubscriptionId {
    let id = call.argument("id").and_then(|text| text.parse().ok());
    SubscriptionId(id.unwrap_or_default())
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
    let Some(given) = call.policy().stream_filter() else {
        return Ok(None);
    };
    let content = match &given {
        GivenFilter::Name(name) => {
            let running = of.sibling(Datastore::Running)?;
            let missing = || wrong(format!("there is no usable filter “{name}”"));
            named_filter(running.tree(), name)?.ok_or_else(missing)?
        }
        content => content.clone(),
    };
    let server = of.server_schema()?;
    let parsed = EventFilter::of(&content, &[of.schema(), &server]);
    let parsed = Arc::new(parsed.map_err(|error| wrong(error.message))?);
    Ok(Some(StreamFilter { given, parsed }))
}
