//! Announces a commit to subscribers before it is made, and notifies them of its outcome.

use std::sync::Arc;

use espalier_yang::ErrorTag;

use super::interest::may_touch;
use super::queue::{Committed, Event, Lagged};
use super::registry::{Listener, Way};
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::tree::changes::{Comparison, Diff};
use crate::tree::commit::{CommitOptions, Tree};
use crate::tree::stamp::Stamp;

/// A commit that was announced to subscribers and is not yet made. Dropping it notifies them of the abort.
#[must_use = "dropping this notifies subscribers that the commit is aborted"]
pub(in crate::tree) struct Announced {
    tree: Tree,
    /// The recipients, in order.
    listeners: Vec<Arc<Listener>>,
    /// The number of recipients that accepted, or need not be asked.
    asked: usize,
    /// The diff for the recipients; none if it is too large and no subscriber must accept it.
    diff: Option<Arc<Diff>>,
}

impl Tree {
    /// Whether a listener's paths may be among the differences.
    pub(super) fn is_interested(
        &self,
        listener: &Listener,
        comparison: Comparison<'_>,
    ) -> Result<bool> {
        if listener.wants_all() {
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
    pub(super) fn is_told(&self, listener: &Listener, diff: &Diff) -> bool {
        match listener.wants_all() {
            true => !diff.is_empty(),
            false => diff.touches(&listener.paths(self.schema())),
        }
    }

    /// Calls the subscribers to accept or refuse a proposed state.
    ///
    /// # Errors
    ///
    /// The error of the first subscriber that refuses.
    pub(in crate::tree) fn announce(&self, overlay: &Overlay) -> Result<Announced> {
        let mut announced = self.audience(self.proposed(overlay))?;
        announced.ask()?;
        Ok(announced)
    }

    /// The recipients of a difference, and the diff for them.
    pub(super) fn audience(&self, comparison: Comparison<'_>) -> Result<Announced> {
        let mut announced = Announced {
            tree: self.clone(),
            listeners: Vec::new(),
            asked: 0,
            diff: None,
        };
        let Some(all) = self.store().subscriptions().listeners(self.id()) else {
            return Ok(announced);
        };
        for listener in all.iter() {
            if self.is_interested(listener, comparison)? {
                announced.listeners.push(Arc::clone(listener));
            }
        }
        if announced.listeners.is_empty() {
            return Ok(announced);
        }
        match Diff::of(self.compiled(), comparison) {
            Ok(diff) => {
                let is_told = |one: &Arc<Listener>| self.is_told(one, &diff);
                announced.listeners.retain(is_told);
                announced.diff = Some(Arc::new(diff));
            }
            Err(error) if is_too_big(&error) && !announced.has_to_ask() => {}
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

impl Announced {
    fn has_to_ask(&self) -> bool {
        let mut listeners = self.listeners.iter();
        listeners.any(|one| one.subscriber().is_some())
    }

    fn ask(&mut self) -> Result<()> {
        let Some(diff) = self.diff.clone() else {
            return Ok(());
        };
        for listener in self.listeners.clone() {
            if let Some(subscriber) = listener.subscriber() {
                let told = self.tree.call(subscriber, |one| one.change(&diff));
                told.and_then(std::convert::identity)?;
            }
            self.asked += 1;
        }
        Ok(())
    }

    /// Notifies the recipients that the commit is made.
    pub fn notify(mut self, stamp: Stamp, options: CommitOptions<'_>) {
        let listeners = std::mem::take(&mut self.listeners);
        if listeners.is_empty() {
            return;
        }
        let event = match &self.diff {
            Some(diff) => Event::Committed(Arc::new(Committed {
                version: stamp.version,
                time: stamp.time,
                author: options.author.to_owned(),
                comment: options.comment.to_owned(),
                diff: Arc::clone(diff),
            })),
            None => Event::Lagged(Lagged::one(stamp.version)),
        };
        for listener in listeners {
            match (&listener.way, &self.diff) {
                (Way::Queue(queue), _) => queue.push(event.clone()),
                (Way::InCommit(subscriber), Some(diff)) => {
                    let told = self.tree.call(&**subscriber, |one| one.done(diff));
                    if let Err(error) = told {
                        tracing::error!(%error, "a subscriber failed after a commit");
                    }
                }
                (Way::InCommit(_), None) => {}
            }
        }
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let Some(diff) = self.diff.take() else { return };
        let listeners = std::mem::take(&mut self.listeners);
        for listener in listeners.iter().take(self.asked).rev() {
            let Some(subscriber) = listener.subscriber() else {
                continue;
            };
            if let Err(error) = self.tree.call(subscriber, |one| one.abort(&diff)) {
                tracing::error!(%error, "a subscriber failed after an aborted commit");
            }
        }
    }
}
