//! Configured subscriptions (RFC 8639 §2.5): reads the configuration, and opens the subscriptions of receivers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use espalier_store::{Error, Result, Stamp, Tree};
use espalier_yang::ErrorTag;
use espalier_yang::path::{InstancePath, Keys};

use super::{NewPushTarget, SessionDatastore};
use crate::access::Caller;
use crate::anchor::Anchor;
use crate::notifications::{
    ConfiguredFilter, ConfiguredTarget, DatastoreTarget, End, Established, EventFilter, Known,
    Opened, Opening, Problem, RECEIVERS, Request, SUBSCRIBED, Stream, StreamFilter, StreamTarget,
    Subscription, SubscriptionConfig, Target, Termination, Terms, problem_of, read_configured,
};
use crate::service::Service;
use crate::session::{NewSession, Session, SessionKind, Transport};

/// The top-level nodes with configured subscriptions.
const NODES: [&str; 2] = ["subscriptions", "filters"];

/// The configured subscriptions that the session of a call-home client receives. Dropping it leaves them to another session
/// of the client.
pub struct ConfiguredFeed {
    service: Service,
    session: Arc<Session>,
    client: String,
    task: u64,
    /// The revision of the subscriptions that were opened.
    seen: u64,
}

impl ConfiguredFeed {
    /// Opens the subscriptions that the client has to receive, and that no session of it receives. Blocks.
    pub fn open(&self, anchor: &Anchor) -> Vec<Subscription> {
        let running = self.service.running(&self.session, anchor);
        let configured = self.service.notifications().configured();
        let mut all = Vec::new();
        for opening in configured.to_open(&self.client) {
            let opened = running.open_configured(&opening);
            let (id, client) = (opening.id.0, &self.client);
            match opened {
                Ok((established, subscription)) => {
                    if configured.opened(&opening, Opened::Yes(established)) {
                        all.push(subscription);
                    }
                }
                Err(error @ Error::Data(_)) => {
                    tracing::warn!(id, client, %error, "a configured subscription was not opened");
                    configured.opened(&opening, Opened::Rejected);
                }
                Err(error) => {
                    tracing::warn!(id, client, %error, "a configured subscription is tried again");
                    configured.opened(&opening, Opened::Failed);
                }
            }
        }
        all
    }

    /// Completes when there may be others to open. The end of a subscription that was opened is one more reason.
    pub fn poll_changed(&mut self, context: &Context<'_>) -> Poll<()> {
        let configured = self.service.notifications().configured();
        configured.poll(self.task, &mut self.seen, context)
    }
}

impl Drop for ConfiguredFeed {
    fn drop(&mut self) {
        let configured = self.service.notifications().configured();
        configured.disconnect(self.task);
    }
}

impl Service {
    /// The configured subscriptions for a session of the call-home client with a name.
    pub fn configured_feed(&self, session: &Arc<Session>, client: &str) -> ConfiguredFeed {
        ConfiguredFeed {
            service: self.clone(),
            session: Arc::clone(session),
            client: client.to_owned(),
            task: self.notifications().configured().connect(client),
            seen: 0,
        }
    }

    /// Prepares the configuration for subscriptions of call-home clients: without an anchor that has it, creates the server
    /// anchor, or gives it the modules of this version.
    ///
    /// # Errors
    /// Those of the store.
    pub fn prepare_subscriptions(&self) -> Result<()> {
        self.configuration().for_writing(RECEIVERS)?;
        self.refresh_subscriptions()
    }

    /// Reads the configured subscriptions again if they changed, or the streams that there are.
    ///
    /// # Errors
    /// Those of the store; the subscriptions remain those that were read last.
    pub fn refresh_subscriptions(&self) -> Result<()> {
        let configured = self.notifications().configured();
        let mut known = configured.known();
        let trees = self.configuration();
        let (configuration, served) = (trees.with_module(RECEIVERS)?, trees.served());
        let (Some(configuration), Some(mut served)) = (configuration, served) else {
            if known.take().is_some() {
                configured.apply(BTreeMap::new());
            }
            return Ok(());
        };
        if !served.is_current()? {
            served = self.event_context().reopened(&served)?;
        }
        let found = Known {
            anchor: configuration.anchor_id(),
            stamps: stamps(&configuration)?,
            served: served.anchor_id(),
            schema: Arc::clone(served.schema()),
            settings: served.event_settings()?,
        };
        if known.as_ref() == Some(&found) {
            return Ok(());
        }
        let session = self.sessions().unlisted(NewSession {
            caller: Caller::exempt(),
            transport: Transport::Library,
            peer: String::new(),
            kind: SessionKind::Connection,
            name: String::new(),
        });
        let running = self.datastore(&session, served.clone());
        let mut configs = BTreeMap::new();
        for (id, config) in read_configured(&configuration)? {
            let problem = running.problem_of(&config)?;
            configs.insert(id, (config, problem));
        }
        for (established, config) in configured.apply(configs) {
            self.modify_configured(&established, &served, &config)?;
        }
        *known = Some(found);
        Ok(())
    }

    /// Called after a change of a datastore: if it can have the subscriptions, they are read again. A process that never read
    /// them serves nobody.
    pub(crate) fn refresh_subscriptions_after_change_of(&self, changed: &Tree) {
        let module = changed.schema().module_by_name(RECEIVERS);
        // The lock is not held while they are read.
        let was_read = module.is_some() && self.notifications().configured().known().is_some();
        if was_read && let Err(error) = self.refresh_subscriptions() {
            tracing::warn!(%error, "the subscriptions could not be read after a change");
        }
    }

    fn modify_configured(
        &self,
        established: &Established,
        running: &Tree,
        config: &SubscriptionConfig,
    ) -> Result<()> {
        let of = self.datastore(&established.new.session, running.clone());
        let before = established.terms();
        let terms = of.configured_terms(config).map(|mut terms| {
            keep_unchanged(&mut terms.target, before.target);
            terms
        });
        match terms.and_then(|terms| self.modify_established(established, running, terms)) {
            Ok(()) => Ok(()),
            Err(error @ Error::Data(_)) => {
                tracing::warn!(id = established.id.0, %error, "a subscription begins again");
                established.finish(End::Deleted);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Keeps the time of the replay, and the source of a filter that is the same, so that its receiver is not synchronized.
fn keep_unchanged(target: &mut Target, before: Target) {
    match (target, before) {
        (Target::Stream(target), Target::Stream(before)) => target.start = before.start,
        (Target::Datastore(target), Target::Datastore(before))
            if target.source.content() == before.source.content() =>
        {
            target.source = before.source;
        }
        _ => {}
    }
}

/// The last changes of the configuration of subscriptions.
fn stamps(configuration: &Tree) -> Result<Vec<Stamp>> {
    let view = configuration.view()?;
    let schema = view.schema();
    let module = schema.module_by_name(SUBSCRIBED);
    let nodes = NODES.iter();
    let nodes = nodes.filter_map(|name| schema.child(None, module?, name));
    nodes
        .map(|node| view.stamp(&InstancePath::root().child(node, Keys::None)))
        .collect()
}

impl SessionDatastore {
    /// Why a subscription cannot be fulfilled for anybody.
    fn problem_of(&self, config: &SubscriptionConfig) -> Result<Option<Problem>> {
        let checked = match &config.target {
            Err(problem) => return Ok(Some(problem.clone())),
            Ok(ConfiguredTarget::Stream { name, filter, .. }) => match self.stream(name) {
                Ok(stream) => self.stream_target(stream, filter.as_ref()).map(drop),
                Err(Error::Data(errors)) => {
                    let reason = Termination::StreamUnavailable;
                    return Ok(Some(Problem::new(reason, errors.to_string())));
                }
                Err(error) => return Err(error),
            },
            Ok(ConfiguredTarget::Datastore(target)) => {
                let new = push_target(target);
                new.source(self, Request::EstablishPush).map(drop)
            }
        };
        checked.err().map(problem_of).transpose()
    }

    /// A stream with its filter, without a replay.
    fn stream_target(
        &self,
        stream: Stream,
        filter: Option<&ConfiguredFilter>,
    ) -> Result<StreamTarget> {
        let server = self.server_schema()?;
        let parsed = |filter: &ConfiguredFilter| {
            let parsed = EventFilter::of(&filter.content, &[self.schema(), &server])?;
            Ok::<_, Error>(StreamFilter {
                given: filter.given.clone(),
                parsed: Arc::new(parsed),
            })
        };
        Ok(StreamTarget {
            stream,
            filter: filter.map(parsed).transpose()?,
            start: None,
        })
    }

    /// The terms for this session.
    fn configured_terms(&self, config: &SubscriptionConfig) -> Result<Terms> {
        let target = match &config.target {
            Err(problem) => {
                let message = problem.message.clone();
                return Err(Error::data(ErrorTag::InvalidValue, message));
            }
            Ok(ConfiguredTarget::Stream { name, filter, .. }) => {
                Target::Stream(self.stream_target(self.stream(name)?, filter.as_ref())?)
            }
            Ok(ConfiguredTarget::Datastore(target)) => {
                let new = push_target(target);
                Target::Datastore(new.resolve(self, Request::EstablishPush)?)
            }
        };
        Ok(Terms {
            target,
            stop: config.stop,
            configured: Some(config.terms(None)),
        })
    }

    /// Opens a subscription for this session.
    fn open_configured(&self, opening: &Opening) -> Result<(Arc<Established>, Subscription)> {
        let terms = self.configured_terms(&opening.config)?;
        let running = self.running_tree()?;
        self.service
            .open_configured(&self.session, running, opening, terms)
    }
}

/// A datastore as a target.
fn push_target(target: &DatastoreTarget) -> NewPushTarget {
    let filter = target.filter.clone();
    NewPushTarget {
        datastore: target.datastore,
        filter: filter.as_ref().map(|filter| filter.given.clone()),
        content: filter.map(|filter| filter.content),
        trigger: target.trigger.clone(),
    }
}
