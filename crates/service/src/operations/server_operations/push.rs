//! Subscriptions to datastores (RFC 8641) in the operations on subscriptions.

use espalier_store::{Datastore, Result};
use espalier_yang::ErrorTag;
use espalier_yang::data::DataTree;

use super::parameters::parameter_error;
use super::subscriptions::id;
use crate::datastore::{NewPushTarget, SessionDatastore};
use crate::notifications::{Request, SubscriptionError, Target, Terms};
use crate::operations::OperationCall;

/// The target of `establish-subscription`, if it is a datastore.
pub(super) fn target(of: &SessionDatastore, call: &OperationCall) -> Result<Option<Target>> {
    let Some(datastore) = datastore(call, Request::EstablishPush)? else {
        return Ok(None);
    };
    let Some(trigger) = call.policy().trigger(None)? else {
        let message = "a subscription to a datastore is “periodic” or “on-change”";
        let error = parameter_error(ErrorTag::MissingElement, message);
        return Err(error.on_element("periodic").into());
    };
    let filter = call.policy().selection_filter();
    let new = NewPushTarget {
        datastore,
        content: filter.clone(),
        filter,
        trigger,
    };
    let target = new.resolve(of, Request::EstablishPush)?;
    Ok(Some(Target::Datastore(target)))
}

/// `modify-subscription` of a subscription to a datastore.
pub(super) fn modify(of: &SessionDatastore, call: &OperationCall, terms: Terms) -> Result<()> {
    let request = Request::ModifyPush;
    let Target::Datastore(before) = terms.target else {
        return Ok(());
    };
    let filter = match datastore(call, request)? {
        None => before.filter.clone(),
        Some(datastore) if datastore == before.datastore => call.policy().selection_filter(),
        Some(_) => {
            let message = "the datastore of a subscription cannot be modified";
            let error = parameter_error(ErrorTag::InvalidValue, message);
            return Err(error.on_element("datastore").into());
        }
    };
    let trigger = call.policy().trigger(Some(&before.trigger))?;
    let trigger = trigger.unwrap_or_else(|| before.trigger.clone());
    let is_same_filter = filter == before.filter;
    let new = NewPushTarget {
        datastore: before.datastore,
        content: filter.clone(),
        filter,
        trigger,
    };
    let mut target = new.resolve(of, request)?;
    if is_same_filter {
        // So the receiver is not synchronized.
        target.source = before.source;
    }
    of.replace_terms(
        id(call),
        Terms {
            target: Target::Datastore(target),
            stop: call.policy().time("stop-time")?.or(terms.stop),
            configured: None,
        },
    )
}

/// `resync-subscription`.
pub(super) fn resync(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.resync_subscription(id(call))?;
    Ok(DataTree::default())
}

/// The datastore that is named.
fn datastore(call: &OperationCall, request: Request) -> Result<Option<Datastore>> {
    let datastore = call.policy().datastore();
    datastore.map_err(|identity| SubscriptionError::Datastore(identity).of(request))
}
