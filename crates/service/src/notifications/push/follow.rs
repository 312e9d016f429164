//! The thread that follows the commits of a datastore.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use espalier_keyspace::Watch;
use espalier_store::{Error, Result, Tree};

use super::super::context::EventContext;
use super::super::termination::Termination;
use super::hub::PushHub;

/// How often a thread looks whether it is still needed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The wait after an error of the engine, before the next try.
const RETRY_WAIT: Duration = Duration::from_millis(500);

/// Starts to follow a datastore.
pub(super) fn start(
    hub: &Arc<PushHub>,
    context: &Arc<dyn EventContext>,
    tree: &Tree,
    mut watch: Box<dyn Watch>,
) -> Result<()> {
    let (hub, context) = (Arc::downgrade(hub), Arc::downgrade(context));
    let tree = tree.clone();
    let thread = thread::Builder::new().name("espalier-push".to_owned());
    thread.spawn(move || {
        while let Err(error) = follow(&hub, &context, &mut *watch) {
            tracing::warn!(%error, "commits cannot be read, and are retried");
            thread::sleep(RETRY_WAIT);
            match tree.watch_commits() {
                Ok(new) => watch = new,
                Err(error) => tracing::debug!(%error, "commits still cannot be watched"),
            }
        }
    })?;
    Ok(())
}

/// Follows until there are no subscriptions, or an error.
fn follow(
    hub: &Weak<PushHub>,
    context: &Weak<dyn EventContext>,
    watch: &mut dyn Watch,
) -> Result<()> {
    loop {
        let waited = watch.next(CHECK_INTERVAL);
        let (Some(hub), Some(context)) = (hub.upgrade(), context.upgrade()) else {
            return Ok(());
        };
        if hub.stop_if_unused() {
            return Ok(());
        }
        waited?;
        match hub.advance(&*context) {
            Err(Error::Unknown { .. }) => {
                hub.fail(Termination::AnchorDeleted);
                return Ok(());
            }
            result => result?,
        }
    }
}
