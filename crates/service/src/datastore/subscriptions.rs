//! Dynamic subscriptions (RFC 8639 §2.4), which the operations of `ietf-subscribed-notifications` establish.

use std::sync::Arc;

use espalier_store::{Result, Timestamp};
use espalier_yang::Schema;

use super::SessionDatastore;
use super::call::Call;
use crate::audit::AuditOperation;
use crate::notifications::{
    Encoding, End, NewEstablished, Place, Request, StreamFilter, Subscription, SubscriptionId,
    Target, Termination, Terms,
};

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

    /// Sets how a front end sends the notifications of a subscription of this session.
    ///
    /// # Errors
    /// `invalid-value` if there is no such subscription.
    pub fn set_subscription_place(&self, id: SubscriptionId, place: Place) -> Result<()> {
        let all = self.service.notifications().established();
        let anchor = self.governed().anchor_id();
        let one = all.get(id, anchor, Some(&self.session), Request::Delete)?;
        one.set_place(place);
        Ok(())
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
        let Target::Stream(target) = &terms.target;
        let stream = target.stream.name();
        let mut streams = self.streams()?.into_iter();
        let info = streams.find(|info| info.name == stream);
        let available = info.and_then(|info| info.aged.or(info.created));
        let revised = available.filter(|&time| target.start.is_some_and(|start| time > start));
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

    /// Replaces the filter and the stop time of a subscription of this session; without a stop time, that remains.
    pub(crate) fn modify_subscription(
        &self,
        id: SubscriptionId,
        filter: Option<StreamFilter>,
        stop: Option<Timestamp>,
    ) -> Result<()> {
        let anchor = self.governed().anchor_id();
        let all = self.service.notifications().established();
        let one = all.get(id, anchor, Some(&self.session), Request::Modify)?;
        let mut terms = one.terms();
        let Target::Stream(target) = &mut terms.target;
        target.filter = filter;
        terms.stop = stop.or(terms.stop);
        terms.check(self.governed().store().now())?;
        one.modify(terms);
        Ok(())
    }

    /// Ends a subscription of this session.
    pub(crate) fn delete_subscription(&self, id: SubscriptionId) -> Result<()> {
        let anchor = self.governed().anchor_id();
        let all = self.service.notifications().established();
        let one = all.get(id, anchor, Some(&self.session), Request::Delete)?;
        all.end(&one, End::Deleted);
        Ok(())
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
