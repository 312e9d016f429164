//! Subscriptions to datastores (RFC 8641) in the operations on subscriptions.

use espalier_store::{Datastore, Error, Result, Selection, TrackedFilter};
use espalier_yang::ErrorTag;
use espalier_yang::data::{Content, DataNode, DataTree};

use super::parameters::parameter_error;
use super::subscriptions::{id, time};
use crate::datastore::SessionDatastore;
use crate::notifications::{
    ChangeType, GivenFilter, OnChange, PUSH_PERIOD_MIN, PUSH_UPDATE_NODES_MAX, PushTarget, Request,
    SubscriptionError, Target, Terms, Trigger, is_too_big, parse_time,
};
use crate::operations::OperationCall;

/// The datastores whose changes are notified: those with a history.
const ON_CHANGE_DATASTORES: [Datastore; 2] = [Datastore::Running, Datastore::Startup];

/// The target of `establish-subscription`, if it is a datastore.
pub(super) fn target(of: &SessionDatastore, call: &OperationCall) -> Result<Option<Target>> {
    let Some(datastore) = datastore(call, Request::EstablishPush)? else {
        return Ok(None);
    };
    let Some(trigger) = trigger(call, None, Request::EstablishPush)? else {
        let message = "a subscription to a datastore is “periodic” or “on-change”";
        let error = parameter_error(ErrorTag::MissingElement, message);
        return Err(error.on_element("periodic").into());
    };
    let new = NewTarget {
        datastore,
        filter: filter(call),
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
        Some(datastore) if datastore == before.datastore => filter(call),
        Some(_) => {
            let message = "the datastore of a subscription cannot be modified";
            let error = parameter_error(ErrorTag::InvalidValue, message);
            return Err(error.on_element("datastore").into());
        }
    };
    let trigger = trigger(call, Some(&before.trigger), request)?;
    let trigger = trigger.unwrap_or_else(|| before.trigger.clone());
    let is_same_filter = filter == before.filter;
    let new = NewTarget {
        datastore: before.datastore,
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
            stop: time(call, "stop-time")?.or(terms.stop),
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
    let Some(identity) = call.argument("datastore") else {
        return Ok(None);
    };
    let name = identity.rsplit(':').next().unwrap_or_default();
    match Datastore::named(name) {
        Some(datastore) => Ok(Some(datastore)),
        None => Err(SubscriptionError::Datastore(identity).of(request)),
    }
}

/// The filter in the input.
fn filter(call: &OperationCall) -> Option<GivenFilter> {
    let mut nodes = call.arguments().iter();
    nodes.find_map(|node| {
        let name = &*call.schema.node(node.node).name;
        match (name, &node.content) {
            ("selection-filter-ref", Content::Value(name)) => {
                Some(GivenFilter::Name(name.to_string()))
            }
            ("datastore-xpath-filter", Content::Value(text)) => {
                Some(GivenFilter::XPath(text.to_string()))
            }
            ("datastore-subtree-filter", Content::Any(content)) => {
                Some(GivenFilter::Subtree(content.to_string()))
            }
            _ => None,
        }
    })
}

/// The trigger in the input. A modification cannot change what is not in `update-policy-modifiable`.
fn trigger(
    call: &OperationCall,
    before: Option<&Trigger>,
    request: Request,
) -> Result<Option<Trigger>> {
    for node in call.arguments() {
        let leaves = Leaves { call, node };
        match &*call.schema.node(node.node).name {
            "periodic" => return leaves.periodic(request).map(Some),
            "on-change" => return leaves.on_change(before).map(Some),
            _ => {}
        }
    }
    Ok(None)
}

/// The leafs of a container in the input.
struct Leaves<'a> {
    call: &'a OperationCall,
    node: &'a DataNode,
}

impl Leaves<'_> {
    fn texts<'t>(&'t self, name: &'t str) -> impl Iterator<Item = String> + 't {
        let named = move |leaf: &&DataNode| &*self.call.schema.node(leaf.node).name == name;
        let leaves = self.node.children().iter().filter(named);
        leaves.filter_map(|leaf| Some(leaf.value()?.to_string()))
    }

    fn number(&self, name: &str) -> u32 {
        let mut texts = self.texts(name);
        texts
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }

    fn periodic(&self, request: Request) -> Result<Trigger> {
        let period = self.number("period");
        if period < PUSH_PERIOD_MIN {
            return Err(SubscriptionError::Period(PUSH_PERIOD_MIN).of(request));
        }
        let anchor = match self.texts("anchor-time").next() {
            None => None,
            Some(text) => Some(parse_time(&text).ok_or_else(|| {
                let message = format!("“{text}” is not a time from 1970 to 9999");
                parameter_error(ErrorTag::InvalidValue, message).on_element("anchor-time")
            })?),
        };
        Ok(Trigger::Periodic { period, anchor })
    }

    fn on_change(&self, before: Option<&Trigger>) -> Result<Trigger> {
        let dampening = self.number("dampening-period");
        Ok(Trigger::OnChange(match before {
            Some(Trigger::OnChange(before)) => OnChange {
                dampening,
                ..before.clone()
            },
            _ => OnChange {
                dampening,
                syncs_on_start: self.texts("sync-on-start").all(|text| text == "true"),
                excluded: self
                    .texts("excluded-change")
                    .filter_map(|name| ChangeType::named(&name))
                    .collect(),
            },
        }))
    }
}

/// A target that is requested.
struct NewTarget {
    datastore: Datastore,
    filter: Option<GivenFilter>,
    trigger: Trigger,
}

impl NewTarget {
    /// Checks the filter, and how much it selects now.
    fn resolve(self, of: &SessionDatastore, request: Request) -> Result<PushTarget> {
        let name = self.datastore.name();
        let is_on_change = matches!(self.trigger, Trigger::OnChange(_));
        if is_on_change && !ON_CHANGE_DATASTORES.contains(&self.datastore) {
            return Err(SubscriptionError::OnChange(name.to_owned()).of(request));
        }
        let wrong = |hint: String| SubscriptionError::Filter(hint).of(request);
        let filtered = |error: Error| match error {
            Error::Data(errors) => wrong(errors.to_string()),
            error => error,
        };
        let source = of.push_source(self.datastore, self.filter.clone())?;
        let source = source.ok_or_else(|| wrong("there is no usable filter".to_owned()))?;
        let datastore = of.sibling(self.datastore)?;
        let tree = datastore.tree();
        let mut established_at = 0;
        if is_on_change {
            let filter = source.filter(tree.schema()).map_err(filtered)?;
            let filter = TrackedFilter::new(tree.schema(), filter, Selection::default());
            if filter.map_err(filtered)?.is_empty() {
                return Err(SubscriptionError::Unchanging.of(request));
            }
            established_at = tree.view()?.version()?;
        }
        match source.read() {
            Ok(_) => {}
            Err(error) if is_too_big(&error) => {
                let limit = PUSH_UPDATE_NODES_MAX;
                let error = match is_on_change {
                    true => SubscriptionError::SyncTooBig(limit),
                    false => SubscriptionError::UpdateTooBig(limit),
                };
                return Err(error.of(request));
            }
            Err(error) => return Err(filtered(error)),
        }
        Ok(PushTarget {
            datastore: self.datastore,
            filter: self.filter,
            source,
            trigger: self.trigger,
            established_at,
        })
    }
}
