//! Threads that follow the sources of events and deliver them.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use espalier_keyspace::Watch;
use espalier_store::{Error, Result, Tree};

use super::context::EventContext;
use super::hub::{Hub, HubState};
use super::position::Position;
use super::replay::{Replay, Times};
use super::stream::Source;
use super::termination::Termination;

/// How often a thread looks whether it is still needed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The wait after an error of the engine, before the next try.
const RETRY_WAIT: Duration = Duration::from_millis(500);

/// A thread that follows a source.
struct Follower {
    hub: Weak<Hub>,
    context: Weak<dyn EventContext>,
    tree: Tree,
    source: Source,
    watch: Box<dyn Watch>,
}

/// Starts to follow a source, from its newest event on.
pub(super) fn start(
    hub: &Arc<Hub>,
    state: &mut HubState,
    context: &Arc<dyn EventContext>,
    tree: &Tree,
    source: Source,
) -> Result<()> {
    // Before the position is read, so that no event is between them.
    let watch = watch(tree, source)?;
    let newest = Position::newest(tree)?;
    match source {
        Source::Log => state.position.sequence = newest.sequence,
        Source::Commits => state.position.version = newest.version,
    }
    let mut follower = Follower {
        hub: Arc::downgrade(hub),
        context: Arc::downgrade(context),
        tree: tree.clone(),
        source,
        watch,
    };
    let thread = thread::Builder::new().name("espalier-events".to_owned());
    thread.spawn(move || follower.run())?;
    Ok(())
}

fn watch(tree: &Tree, source: Source) -> Result<Box<dyn Watch>> {
    match source {
        Source::Log => tree.watch_events(),
        Source::Commits => tree.watch_commits(),
    }
}

impl Follower {
    fn run(&mut self) {
        loop {
            let waited = self.watch.next(CHECK_INTERVAL);
            let (Some(hub), Some(context)) = (self.hub.upgrade(), self.context.upgrade()) else {
                return;
            };
            if hub.state().stop_if_unused(self.source) {
                return;
            }
            let reopened = self.reopen(&*context);
            let delivered = reopened.and_then(|()| match waited {
                Ok(Some(_)) => self.deliver(&hub, &*context),
                Ok(None) => Ok(()),
                Err(error) => Err(error.into()),
            });
            if let Err(error) = delivered {
                if matches!(error, Error::Unknown { .. }) {
                    hub.state().fail(self.source, Termination::AnchorDeleted);
                    return;
                }
                tracing::warn!(%error, "events cannot be read, and are retried");
                self.retry(&hub, &*context);
            }
        }
    }

    /// Tries again, until it succeeds or nobody receives events.
    fn retry(&mut self, hub: &Arc<Hub>, context: &dyn EventContext) {
        loop {
            thread::sleep(RETRY_WAIT);
            let watched = self
                .reopen(context)
                .and_then(|()| watch(&self.tree, self.source));
            let read = watched.and_then(|watch| {
                self.watch = watch;
                self.deliver(hub, context)
            });
            match read {
                Err(error) if !matches!(error, Error::Unknown { .. }) && hub.has_receivers() => {
                    tracing::debug!(%error, "events still cannot be read");
                }
                // The loop of the thread finds that the anchor was deleted.
                _ => return,
            }
        }
    }

    /// Delivers all events since the position of the hub.
    fn deliver(&self, hub: &Arc<Hub>, context: &dyn EventContext) -> Result<()> {
        let position = hub.state().position;
        let mut replay = Replay::new(&[self.source], position, Times::default());
        while !replay.is_finished() {
            let page = replay.read(context, &self.tree)?;
            let mut state = hub.state();
            if page.deleted > 0 {
                state.groups.lose(page.deleted);
            }
            for event in &page.events {
                state.groups.deliver(context, &self.tree, event);
            }
            match self.source {
                Source::Log => state.position.sequence = replay.position.sequence,
                Source::Commits => state.position.version = replay.position.version,
            }
        }
        Ok(())
    }

    /// Opens the anchor again if its modules were replaced.
    fn reopen(&mut self, context: &dyn EventContext) -> Result<()> {
        if self.tree.is_current()? {
            return Ok(());
        }
        self.tree = context.reopened(&self.tree)?;
        self.watch = watch(&self.tree, self.source)?;
        Ok(())
    }
}
