//! What the receiver of a subscription to a datastore gets.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use espalier_store::{Error, Result, Timestamp};
use espalier_yang::ErrorTag;

use super::super::context::EventContext;
use super::super::delivery::{Delivery, Polled};
use super::super::established::{End, Established, StateChange, Suspension, Target};
use super::super::position::Position;
use super::super::termination::Termination;
use super::datastore_target::{PushTarget, Trigger};
use super::hub::PushHub;
use super::on_change::Changes;
use super::outbox::{Outbox, is_too_big};
use super::schedule::Ticks;
use super::update::PushUpdate;
use crate::session::Session;

/// How often a subscription looks whether its session was killed, and whether its filter and the access rules changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A subscription to a datastore. Dropping it ends it.
pub(in crate::notifications) struct PushSubscription {
    context: Arc<dyn EventContext>,
    hub: Arc<PushHub>,
    established: Arc<Established>,
    target: PushTarget,
    stop: Option<Timestamp>,
    state: State,
    outbox: Outbox,
    /// The changes of the established subscription that were adopted.
    revision: u64,
    modifications: usize,
    syncs: u64,
    /// When the established subscription is checked.
    check_due: Instant,
}

/// What is read.
enum State {
    Periodic(Ticks),
    OnChange(Box<Changes>),
    Ended,
}

impl PushSubscription {
    /// Begins to receive from an established subscription.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new(
        context: Arc<dyn EventContext>,
        hub: Arc<PushHub>,
        established: Arc<Established>,
        target: PushTarget,
    ) -> Result<Self> {
        let store = hub.tree(&*context)?.store().clone();
        let mut subscription = Self {
            context,
            hub,
            stop: established.terms().stop,
            state: State::Ended,
            outbox: Outbox::new(store, Arc::clone(&established)),
            revision: established.revision(),
            modifications: established.modifications(),
            syncs: established.syncs(),
            check_due: Instant::now() + CHECK_INTERVAL,
            established,
            target,
        };
        let since = match &subscription.target.trigger {
            Trigger::OnChange(trigger) if !trigger.syncs_on_start => {
                Some(subscription.target.established_at)
            }
            _ => None,
        };
        if subscription.established.is_configured() {
            subscription.outbox.announce(StateChange::Started);
        }
        subscription.begin(since);
        Ok(subscription)
    }

    /// Begins with the trigger: with changes since a version, or with all selected data.
    fn begin(&mut self, since: Option<u64>) {
        self.leave();
        self.state = match &self.target.trigger {
            Trigger::Periodic { period, anchor } => {
                State::Periodic(Ticks::new(*period, *anchor, self.outbox.now()))
            }
            Trigger::OnChange(_) => {
                let hub = Arc::clone(&self.hub);
                State::OnChange(Box::new(Changes::new(hub, &self.established, since)))
            }
        };
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.established.new.session
    }

    /// Records that everything that was delivered was sent.
    pub fn record_sent(&self) {
        if self.established.is_configured() {
            self.established.set_delivered(Position::default());
        }
    }

    /// Whether it has ended, and everything was delivered.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended) && self.outbox.ready.is_empty()
    }

    /// Returns the next delivery, and waits for it up to a timeout.
    ///
    /// # Errors
    /// Those of the engine. A later call tries again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Delivery>> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.step() {
                Step::Delivery(delivery) => return Ok(Some(delivery)),
                Step::Ended => return Ok(None),
                Step::MustRead => self.read()?,
                Step::Wait => {
                    let now = Instant::now();
                    if now >= deadline {
                        return Ok(None);
                    }
                    let until = deadline.min(now + self.wait_max());
                    // The next step finds why it was woken.
                    let _ = self.established.receiver.wait(until);
                }
            }
        }
    }

    /// The next delivery, for a task.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Polled> {
        loop {
            match self.step() {
                Step::Delivery(delivery) => return Poll::Ready(Polled::Delivery(delivery)),
                Step::MustRead => return Poll::Ready(Polled::MustRead),
                Step::Ended => return Poll::Ready(Polled::Ended),
                Step::Wait => {}
            }
            if self.established.receiver.poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// The time after which a waiting subscription looks what is due.
    pub fn wait_max(&self) -> Duration {
        let now = self.outbox.now();
        let due = match (&self.state, &self.target.trigger) {
            (State::Periodic(ticks), _) => ticks.left(now),
            (State::OnChange(changes), Trigger::OnChange(trigger)) if changes.has_any() => {
                self.outbox.dampening_left(trigger)
            }
            _ => CHECK_INTERVAL,
        };
        let stop = self.stop.map(|stop| stop.since(now));
        let stop = stop.map_or(CHECK_INTERVAL, |left| left + Duration::from_millis(1));
        due.min(stop).min(CHECK_INTERVAL)
    }

    fn step(&mut self) -> Step {
        self.adopt_changes();
        if let Some(delivery) = self.outbox.ready.pop_front() {
            if let Delivery::Event(event) = &delivery
                && event.is_push_update()
            {
                self.established.count_sent();
            }
            return Step::Delivery(delivery);
        }
        let now = self.outbox.now();
        if self.stop.is_some_and(|stop| now > stop) && !matches!(self.state, State::Ended) {
            self.leave();
            if self.established.is_configured() {
                self.outbox.announce(StateChange::Completed);
                return self.step();
            }
        }
        let is_due = match (&self.state, &self.target.trigger) {
            (State::Ended, _) => return Step::Ended,
            (State::Periodic(ticks), _) => ticks.is_due(now),
            (State::OnChange(changes), Trigger::OnChange(trigger)) => {
                let is_dampened = || !self.outbox.dampening_left(trigger).is_zero();
                changes.is_due() || (changes.has_any() && !is_dampened())
            }
            (State::OnChange(_), Trigger::Periodic { .. }) => false,
        };
        match is_due || Instant::now() >= self.check_due {
            true => Step::MustRead,
            false => Step::Wait,
        }
    }

    fn adopt_changes(&mut self) {
        if matches!(self.state, State::Ended) {
            return;
        }
        if self.session().is_killed() {
            return self.terminate(Termination::SessionEnded);
        }
        if let State::OnChange(changes) = &self.state
            && let Some(reason) = changes.ended()
        {
            return self.terminate(reason);
        }
        let revision = self.established.revision();
        if revision == self.revision {
            return;
        }
        self.revision = revision;
        match self.established.end() {
            Some(End::Deleted) => {
                self.outbox.ready.clear();
                self.leave();
            }
            Some(End::Terminated(reason)) => self.terminate(reason),
            None => self.adopt_terms(),
        }
    }

    fn adopt_terms(&mut self) {
        let syncs = self.established.syncs();
        if syncs != std::mem::replace(&mut self.syncs, syncs)
            && let State::OnChange(changes) = &mut self.state
        {
            changes.request_sync();
        }
        let modifications = self.established.modifications();
        let count = modifications - std::mem::replace(&mut self.modifications, modifications);
        for _ in 0..count {
            self.outbox.announce(StateChange::Modified);
        }
        let terms = self.established.terms();
        self.stop = terms.stop;
        let Target::Datastore(target) = terms.target else {
            return;
        };
        let before = std::mem::replace(&mut self.target, target);
        let is_same_filter = Arc::ptr_eq(&before.source, &self.target.source);
        match (&mut self.state, &self.target.trigger) {
            (State::OnChange(changes), Trigger::OnChange(_)) if !is_same_filter => {
                changes.replace_filter();
            }
            (State::OnChange(_), Trigger::OnChange(_)) => {}
            (_, trigger) if is_same_filter && before.trigger == *trigger => {}
            _ => self.begin(None),
        }
    }

    /// Reads what is due. Blocks.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read(&mut self) -> Result<()> {
        if Instant::now() >= self.check_due {
            self.check()?;
        }
        let now = self.outbox.now();
        let read = match (&mut self.state, &self.target.trigger) {
            (State::Periodic(ticks), _) if ticks.is_due(now) => {
                // The ticks that pass during the read are skipped.
                let read = self.target.source.read();
                ticks.done(self.outbox.now());
                read.map(|contents| self.outbox.update(PushUpdate::Contents(contents)))
            }
            (State::OnChange(changes), Trigger::OnChange(trigger)) => {
                let terms = (&self.target, trigger);
                changes.read(&self.context, terms, &mut self.outbox)
            }
            _ => Ok(()),
        };
        match read {
            Err(error) if is_too_big(&error) && matches!(self.state, State::Periodic(_)) => {
                self.outbox.suspend(Suspension::UpdateTooBig);
                Ok(())
            }
            // The modules were replaced meanwhile: it is tried again.
            Err(Error::Data(errors)) if errors.iter().any(|error| error.tag == ErrorTag::InUse) => {
                Ok(())
            }
            Err(Error::Data(errors)) => {
                tracing::debug!(%errors, "the data of a subscription cannot be read");
                self.terminate(Termination::FilterUnavailable);
                Ok(())
            }
            Err(Error::Unknown { .. }) => {
                self.terminate(Termination::AnchorDeleted);
                Ok(())
            }
            read => read,
        }
    }

    /// Adopts a configured filter and access rules that were changed.
    fn check(&mut self) -> Result<()> {
        self.check_due = Instant::now() + CHECK_INTERVAL;
        if let Some(terms) = self.established.renewed_push()? {
            let modified = self.established.modify(terms, Position::default());
            // The next check tries again.
            let _ =
                modified.inspect_err(|error| tracing::debug!(%error, "a filter is not adopted"));
        }
        if let State::OnChange(changes) = &mut self.state {
            changes.check_access();
        }
        self.adopt_changes();
        Ok(())
    }

    fn terminate(&mut self, reason: Termination) {
        self.outbox.ready.clear();
        self.outbox.announce(StateChange::Terminated(reason));
        self.established.finish(End::Terminated(reason));
        self.leave();
    }

    fn leave(&mut self) {
        if let State::OnChange(changes) = &self.state {
            changes.leave();
        }
        self.state = State::Ended;
    }
}

impl Drop for PushSubscription {
    fn drop(&mut self) {
        self.leave();
        self.established.close();
    }
}

/// What a subscription does next.
enum Step {
    Delivery(Delivery),
    MustRead,
    Wait,
    Ended,
}
