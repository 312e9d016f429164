//! Announces a commit to subscribers before it is made, and notifies them of its outcome.

use std::sync::Arc;

use espalier_yang::ErrorTag;

use super::path_filter::may_touch;
use super::queue::{Committed, Event, Lagged};
use super::registry::{Delivery, Listener, Listeners};
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::tree::changes::{Comparison, Diff};
use crate::tree::stamp::Stamp;
use crate::tree::tree::Tree;

/// Who made a commit, and why.
#[derive(Clone, Debug, Default)]
pub(in crate::tree) struct CommitNote {
    pub author: String,
    pub comment: String,
}

/// A commit that was announced to subscribers and is not yet made. Dropping it notifies them of the abort.
#[must_use = "dropping this notifies subscribers that the commit is aborted"]
pub(in crate::tree) struct AnnouncedCommit {
    tree: Tree,
    /// All subscriptions at the time of the announcement.
    considered: Option<Listeners>,
    /// The recipients, in order.
    listeners: Vec<Arc<Listener>>,
    /// The number of recipients that accepted, or need not be asked.
    accepted: usize,
    /// The diff for the recipients; none if it is too large and no subscriber must accept it.
    diff: Option<Arc<Diff>>,
}

impl Tree {
    /// Whether a listener's paths may be among the differences.
    pub(super) fn may_be_affected(
        &self,
        listener: &Listener,
        comparison: Comparison<'_>,
    ) -> Result<bool> {
        if listener.covers_everything() {
            return Ok(true);
        }
        for path in listener.paths(self.schema()) {
            if may_touch(comparison, &path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a listener's paths are in a diff.
    pub(super) fn is_affected(&self, listener: &Listener, diff: &Diff) -> bool {
        match listener.covers_everything() {
            true => !diff.is_empty(),
            false => diff.touches(&listener.paths(self.schema())),
        }
    }

    /// Calls the subscribers to accept or refuse a proposed state.
    ///
    /// # Errors
    /// The error of the first subscriber that refuses.
    pub(in crate::tree) fn announce(&self, overlay: &Overlay) -> Result<AnnouncedCommit> {
        let mut announced = self.recipients(self.proposed_changes(overlay))?;
        announced.request_acceptance()?;
        Ok(announced)
    }

    /// The recipients of a difference, and the diff for them.
    pub(super) fn recipients(&self, comparison: Comparison<'_>) -> Result<AnnouncedCommit> {
        let mut announced = AnnouncedCommit {
            tree: self.clone(),
            considered: self.store().subscriptions().listeners(self.id()),
            listeners: Vec::new(),
            accepted: 0,
            diff: None,
        };
        let Some(all) = announced.considered.clone() else {
            return Ok(announced);
        };
        for listener in all.iter() {
            if self.may_be_affected(listener, comparison)? {
                announced.listeners.push(Arc::clone(listener));
            }
        }
        if announced.listeners.is_empty() {
            return Ok(announced);
        }
        match Diff::of(self.compiled(), comparison) {
            Ok(diff) => {
                let is_affected = |one: &Arc<Listener>| self.is_affected(one, &diff);
                announced.listeners.retain(is_affected);
                announced.diff = Some(Arc::new(diff));
            }
            Err(error) if is_too_big(&error) && !announced.needs_acceptance() => {}
            Err(error) => return Err(error),
        }
        Ok(announced)
    }
}

pub(super) fn is_too_big(error: &Error) -> bool {
    match error {
        Error::Data(errors) => errors.iter().any(|error| error.tag == ErrorTag::TooBig),
        _ => false,
    }
}

impl AnnouncedCommit {
    fn needs_acceptance(&self) -> bool {
        let mut listeners = self.listeners.iter();
        listeners.any(|one| one.subscriber().is_some())
    }

    fn request_acceptance(&mut self) -> Result<()> {
        let Some(diff) = self.diff.clone() else {
            return Ok(());
        };
        for listener in self.listeners.clone() {
            if let Some(subscriber) = listener.subscriber() {
                let result = self.tree.call(subscriber, |one| one.change(&diff));
                result.and_then(std::convert::identity)?;
            }
            self.accepted += 1;
        }
        Ok(())
    }

    /// Whether somebody is to be notified.
    pub fn has_recipients(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Notifies the recipients that the commit is made.
    pub fn notify(mut self, stamp: Stamp, note: &CommitNote) {
        self.notify_late(stamp.version);
        let listeners = std::mem::take(&mut self.listeners);
        if listeners.is_empty() {
            return;
        }
        let event = match &self.diff {
            Some(diff) => Event::Committed(Arc::new(Committed {
                version: stamp.version,
                time: stamp.time,
                author: note.author.clone(),
                comment: note.comment.clone(),
                diff: Arc::clone(diff),
            })),
            None => Event::Lagged(Lagged::one(stamp.version)),
        };
        for listener in listeners {
            match (&listener.delivery, &self.diff) {
                (Delivery::Queue(queue), _) => queue.push(event.clone()),
                (Delivery::InCommit(subscriber), Some(diff)) => {
                    let result = self.tree.call(&**subscriber, |one| one.done(diff));
                    if let Err(error) = result {
                        tracing::error!(%error, "a subscriber failed after a commit");
                    }
                }
                (Delivery::InCommit(_), None) => {}
            }
        }
    }
}

impl AnnouncedCommit {
    /// Reports the version to the queues that began after the announcement: whoever reads the newest version then may have
    /// read the one before.
    fn notify_late(&self, version: u64) {
        let Some(now) = self.tree.store().subscriptions().listeners(self.tree.id()) else {
            return;
        };
        let considered = self.considered.as_deref().unwrap_or_default();
        if std::ptr::eq(considered, &*now) {
            return;
        }
        for listener in now.iter() {
            let is_late = !considered.iter().any(|one| Arc::ptr_eq(one, listener));
            if let (true, Delivery::Queue(queue)) = (is_late, &listener.delivery) {
                queue.push(Event::Lagged(Lagged::one(version)));
            }
        }
    }
}

impl Drop for AnnouncedCommit {
    fn drop(&mut self) {
        let Some(diff) = self.diff.take() else { return };
        let listeners = std::mem::take(&mut self.listeners);
        for listener in listeners.iter().take(self.accepted).rev() {
            let Some(subscriber) = listener.subscriber() else {
                continue;
            };
            if let Err(error) = self.tree.call(subscriber, |one| one.abort(&diff)) {
                tracing::error!(%error, "a subscriber failed after an aborted commit");
            }
        }
    }
}
