//! Subscribing to the commits of a tree.

use std::sync::Arc;

use espalier_yang::{ErrorTag, InstancePath};

use super::queue::{Events, Queue};
use super::registry::{Delivery, SubscriptionGuard};
use super::subscriber::{Subscriber, Subscription};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::tree::Tree;

impl Tree {
    /// Adds a subscriber to commits, until the result is dropped. A commit in progress may or may not be
    /// reported.
    ///
    /// # Errors
    /// `operation-not-supported` for candidates: subscribe to running instead.
    pub fn subscribe(
        &self,
        subscription: Subscription,
        subscriber: Arc<dyn Subscriber>,
    ) -> Result<SubscriptionGuard> {
        self.listen(subscription, Delivery::InCommit(subscriber))
    }

    /// A queue of future commits that change one of these paths (or anything, if there are none). The paths
    /// are as in a [`Subscription`].
    ///
    /// # Errors
    /// As [`Self::subscribe`].
    pub fn events(&self, paths: Vec<InstancePath>) -> Result<Events> {
        let queue = Arc::new(Queue::default());
        let subscription = Subscription { paths, priority: 0 };
        let subscribed = self.listen(subscription, Delivery::Queue(Arc::clone(&queue)))?;
        Ok(Events::new(queue, subscribed))
    }

    fn listen(&self, subscription: Subscription, delivery: Delivery) -> Result<SubscriptionGuard> {
        if self.datastore().is_candidate() {
            let message = "a candidate has no commits: subscribe to running";
            return Err(Error::data(ErrorTag::OperationNotSupported, message));
        }
        let (store, tree) = (self.store().clone(), self.id());
        let schema = Arc::clone(self.schema());
        let id = store
            .subscriptions()
            .register(tree, subscription, schema, delivery);
        Ok(SubscriptionGuard::new(store, tree, id))
    }

    /// Rejects a commit from inside a call of a subscriber that would deadlock.
    pub(in crate::tree) fn check_not_in_subscriber_call(&self) -> Result<()> {
        let lock = Store::lock_of(self.id());
        if self.store().subscriptions().is_in_call(lock) {
            let message = "a subscriber cannot commit while it is called for a commit";
            return Err(Error::data(ErrorTag::InUse, message));
        }
        Ok(())
    }
}
