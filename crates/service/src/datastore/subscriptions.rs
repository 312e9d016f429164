//! Dynamic subscriptions (RFC 8639 §2.4), which the operations of `ietf-subscribed-notifications` establish.

use std::sync::Arc;

use espalier_store::{Error, Result, Timestamp};
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{ErrorTag, NodeId, Schema};

use super::SessionDatastore;
use super::call::Call;
use crate::audit::AuditOperation;
use crate::notifications::{
    Encoding, End, Established, NewEstablished, Place, RECEIVERS, Request, SUBSCRIBED,
    StreamFilter, StreamTarget, Subscription, SubscriptionError, SubscriptionId, Target,
    Termination, Terms,
};
use crate::server_state::StateNodes;

impl SessionDatastore {
    /// Begins to receive the notifications of a subscription that this session established with the operation
    /// `establish-subscription`; over HTTP, that the user established. Dropping the result ends the subscription.
    ///
    /// # Errors
    /// `invalid-value` if there is no such subscription; `in-use` if its notifications are received already; those of
    /// the engine.
    pub fn open_subscription(&self, id: SubscriptionId) -> Result<Subscription> {
        self.counted(Call::new(AuditOperation::Subscribe), |_| {
            let tree = self.running_tree()?;
            self.service.open_established(&self.session, tree, id)
        })
    }

    /// The encoding of the notifications of a subscription of this session.
    ///
    /// # Errors
    /// `invalid-value` if there is no such subscription.
    pub fn subscription_encoding(&self, id: SubscriptionId) -> Result<Encoding> {
        let all = self.service.notifications().established();
        let anchor = self.governed().anchor_id();
        let one = all.get(id, anchor, Some(&self.session), Request::Delete)?;
        Ok(one.encoding())
    }

    /// Completes the output of an operation for a front end that sends notifications at URLs below `base`: if the
    /// operation established a subscription, the output gets its `uri` (RFC 8650 §3.1), and the subscription gets this
    /// encoding, if the subscriber did not choose another one.
    ///
    /// # Errors
    /// `invalid-value` if the subscription has ended.
    pub fn with_subscription_uri(
        &self,
        operation: Option<NodeId>,
        mut output: DataTree,
        base: &str,
        encoding: Encoding,
    ) -> Result<DataTree> {
        let schema = self.schema();
        let is_establish = operation.is_some_and(|operation| {
            let node = schema.node(operation);
            let module = &*schema.module(node.module).name;
            (module, &*node.name) == (SUBSCRIBED, "establish-subscription")
        });
        let Some(top) = output.nodes.first_mut().filter(|_| is_establish) else {
            return Ok(output);
        };
        let mut leaves = top.children().iter();
        let id = leaves.find(|leaf| &*schema.node(leaf.node).name == "id");
        let id = id.and_then(|id| id.value()?.to_string().parse().ok());
        let id = SubscriptionId(id.unwrap_or_default());
        let uri = format!("{base}/{}", id.0);
        let with_uri = StateNodes::nodes_in(schema, operation, "output", |output| {
            output.leaf("ietf-restconf-subscribed-notifications:uri", &uri);
        });
        let all = self.service.notifications().established();
        let anchor = self.governed().anchor_id();
        let one = all.get(id, anchor, Some(&self.session), Request::Establish)?;
        one.set_place(Place { uri, encoding });
        if let Content::Inner(children) = &mut top.content {
            children.extend(with_uri.iter().flat_map(DataNode::children).cloned());
        }
        Ok(output)
    }

    /// The schema of the state, operations and notifications of the server.
    pub(crate) fn server_schema(&self) -> Result<Arc<Schema>> {
        self.service.server_schema()
    }

    /// Establishes a subscription. Returns its number, and the time from which past events are available, if they are
    /// requested and that is later. `schema` is that of the operation.
    pub(crate) fn establish(
        &self,
        schema: &Arc<Schema>,
        terms: Terms,
        encoding: Option<Encoding>,
    ) -> Result<(SubscriptionId, Option<Timestamp>)> {
        let tree = self.running_tree()?;
        let revised = match terms.stream() {
            Some(target) => self.revised_start(target)?,
            None => None,
        };
        let id = self.service.establish(&tree, |position| NewEstablished {
            session: Arc::clone(&self.session),
            schema: Arc::clone(schema),
            anchor: tree.anchor_id(),
            terms,
            encoding,
            position,
        })?;
        Ok((id, revised))
    }

    /// The time from which past events of a stream are available, if that is later than the requested one.
    fn revised_start(&self, target: &StreamTarget) -> Result<Option<Timestamp>> {
        let stream = target.stream.name();
        let mut streams = self.streams()?.into_iter();
        let info = streams.find(|info| info.name == stream);
        let available = info.map(|info| info.aged.unwrap_or(info.created));
        Ok(available.filter(|&time| target.start.is_some_and(|start| time > start)))
    }

    /// Replaces the filter and the stop time of a subscription of this session to a stream; without a stop time, that
    /// remains.
    pub(crate) fn modify_subscription(
        &self,
        id: SubscriptionId,
        filter: Option<StreamFilter>,
        stop: Option<Timestamp>,
    ) -> Result<()> {
        let mut terms = self.subscription_terms(id, Request::Modify)?;
        if let Target::Stream(target) = &mut terms.target {
            target.filter = filter;
        }
        terms.stop = stop.or(terms.stop);
        self.replace_terms(id, terms)
    }

    /// The terms of a subscription of this session.
    pub(crate) fn subscription_terms(&self, id: SubscriptionId, request: Request) -> Result<Terms> {
        Ok(self.own_subscription(id, request)?.terms())
    }

    /// Replaces the terms of a subscription of this session.
    pub(crate) fn replace_terms(&self, id: SubscriptionId, terms: Terms) -> Result<()> {
        let running = self.running_tree()?;
        let one = self.own_subscription(id, Request::Modify)?;
        terms.check(running.store().now())?;
        self.service.modify_established(&one, &running, terms)
    }

    /// Sends all selected data to the receiver of an on-change subscription of this session (RFC 8641 §4.4.4).
    pub(crate) fn resync_subscription(&self, id: SubscriptionId) -> Result<()> {
        let one = self.own_subscription(id, Request::Resync)?;
        match one.terms().is_on_change() {
            true => one.request_sync(),
            false => return Err(SubscriptionError::NoSuch(id).of(Request::Resync)),
        }
        Ok(())
    }

    fn own_subscription(&self, id: SubscriptionId, request: Request) -> Result<Arc<Established>> {
        let all = self.service.notifications().established();
        let anchor = self.governed().anchor_id();
        all.get(id, anchor, Some(&self.session), request)
    }

    /// Ends a subscription of this session.
    pub(crate) fn delete_subscription(&self, id: SubscriptionId) -> Result<()> {
        let anchor = self.governed().anchor_id();
        let all = self.service.notifications().established();
        let one = all.get(id, anchor, Some(&self.session), Request::Delete)?;
        all.end(&one, End::Deleted);
        Ok(())
    }

    /// Begins a configured subscription again for a receiver.
    pub(crate) fn reset_receiver(&self, id: SubscriptionId, receiver: &str) -> Result<()> {
        let trees = self.service.configuration();
        let configuration = trees.with_module(RECEIVERS)?;
        let mut anchors = trees.served().into_iter().chain(configuration);
        let is_here = anchors.any(|tree| tree.has_same_anchor(self.governed()));
        let configured = self.service.notifications().configured();
        match is_here && configured.reset(id, receiver) {
            true => Ok(()),
            false => {
                let message = format!(
                    "there is no receiver “{receiver}” of a subscription {}",
                    id.0
                );
                Err(Error::data(ErrorTag::DataMissing, message))
            }
        }
    }

    /// Ends any subscription of the anchor.
    pub(crate) fn kill_subscription(&self, id: SubscriptionId) -> Result<()> {
        let anchor = self.governed().anchor_id();
        let all = self.service.notifications().established();
        let one = all.get(id, anchor, None, Request::Delete)?;
        all.end(&one, End::Terminated(Termination::Killed));
        Ok(())
    }
}
