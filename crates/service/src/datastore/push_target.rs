//! New targets of subscriptions to datastores (RFC 8641).

use std::sync::Arc;

use espalier_store::{Datastore, Error, Result, Selection, TrackedFilter};

use super::SessionDatastore;
use crate::notifications::{
    GivenFilter, PUSH_PERIOD_MIN, PUSH_UPDATE_NODES_MAX, PushSource, PushTarget, Request,
    SubscriptionError, Trigger, is_too_big,
};

/// The datastores whose changes are notified: those with a history. Of operational, pushed state is.
const ON_CHANGE_DATASTORES: [Datastore; 3] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::Operational,
];

/// A target that is requested, or configured.
pub(crate) struct NewPushTarget {
    pub datastore: Datastore,
    /// The filter as the subscriber gave it.
    pub filter: Option<GivenFilter>,
    /// The filter that is read: the same, or the content of the one with that name.
    pub content: Option<GivenFilter>,
    pub trigger: Trigger,
}

/// An error of the data is one of the filter.
fn filtered(error: Error, request: Request) -> Error {
    match error {
        Error::Data(errors) => SubscriptionError::Filter(errors.to_string()).of(request),
        error => error,
    }
}

impl NewPushTarget {
    /// Checks all but how much is selected.
    ///
    /// # Errors
    /// Those of subscriptions to datastores (RFC 8641 §3.3); those of the engine.
    pub fn source(&self, of: &SessionDatastore, request: Request) -> Result<Arc<dyn PushSource>> {
        if self.trigger.is_too_frequent() {
            return Err(SubscriptionError::Period(PUSH_PERIOD_MIN).of(request));
        }
        let is_on_change = matches!(self.trigger, Trigger::OnChange(_));
        if is_on_change && !ON_CHANGE_DATASTORES.contains(&self.datastore) {
            let what = format!("the datastore {}", self.datastore.name());
            return Err(SubscriptionError::OnChange(what).of(request));
        }
        let source = of.push_source(self.datastore, self.content.clone())?;
        let missing = || {
            let hint = "there is no usable filter".to_owned();
            SubscriptionError::Filter(hint).of(request)
        };
        let source = source.ok_or_else(missing)?;
        if is_on_change {
            let datastore = of.sibling(self.datastore)?;
            let schema = datastore.schema();
            let filter = source.filter(schema);
            let filter =
                filter.and_then(|one| TrackedFilter::new(schema, one, Selection::default()));
            let filter = filter.map_err(|error| filtered(error, request))?;
            if filter.is_empty() {
                return Err(SubscriptionError::Unchanging.of(request));
            }
            let is_operational = self.datastore == Datastore::Operational;
            if is_operational && !filter.reads_pushed_state_only(datastore.tree()) {
                let what = "configuration and of data of providers in operational".to_owned();
                return Err(SubscriptionError::OnChange(what).of(request));
            }
        }
        Ok(source)
    }

    /// Checks the filter, and how much it selects now.
    ///
    /// # Errors
    /// As [`Self::source`], and if too much is selected.
    pub fn resolve(self, of: &SessionDatastore, request: Request) -> Result<PushTarget> {
        let source = self.source(of, request)?;
        let is_on_change = matches!(self.trigger, Trigger::OnChange(_));
        let established_at = match is_on_change {
            true => of.sibling(self.datastore)?.tree().view()?.version()?,
            false => 0,
        };
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
            Err(error) => return Err(filtered(error, request)),
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
