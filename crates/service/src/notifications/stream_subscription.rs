//! A subscription to an event stream: past events, then those that follow, each once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use espalier_store::{Result, Timestamp, Tree};

use super::context::EventContext;
use super::delivery::{Delivery, Polled};
use super::established::{End, Established, StateChange, Suspension};
use super::event::{Event, EventSource};
use super::filter::EventFilter;
use super::filter_in_force::FilterInForce;
use super::group::{Selected, Selector};
use super::hub::Hub;
use super::position::Position;
use super::receiver::{Received, Receiver};
use super::replay::{Replay, ReplayPage, Times};
use super::stream::Stream;
use super::termination::Termination;
use crate::session::Session;

/// How often a waiting subscription looks whether its session was killed or its time is over.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How often a subscription reads what its queue could not take, before it becomes a slow receiver.
const CATCH_UPS_MAX: u32 = 8;

/// What a subscription delivers.
#[derive(Clone, Debug, Default)]
pub struct SubscriptionOptions {
    /// The stream.
    pub stream: Stream,
    /// The filter.
    pub filter: Option<Arc<EventFilter>>,
    /// Also past events, from this time on.
    pub start: Option<Timestamp>,
    /// No events after this time; the subscription then ends.
    pub stop: Option<Timestamp>,
    /// Also past events, from a position on that an earlier subscription reached ([`Subscription::position`](super::Subscription::position)).
    pub from: Option<Position>,
}

enum Phase {
    /// Past events are read, before the receiver joined.
    Replay(Replay),
    /// The events between the last one that was read and the joining are read. This is repeated, a number of times, if the
    /// queue was full meanwhile.
    CatchUp(Replay, u32),
    /// The receiver has joined. Events before this position were delivered without it.
    Live(Position),
    /// The events between the leaving of the receiver and the stop time are read.
    Rest(Replay),
    Ended,
}

/// A subscription to an event stream. Dropping it ends it.
pub(super) struct StreamSubscription {
    context: Arc<dyn EventContext>,
    tree: Tree,
    selector: Selector,
    times: Times,
    hub: Arc<Hub>,
    queue: Arc<Receiver>,
    /// The queue, while the hub fills it.
    receiver: Option<Arc<Receiver>>,
    /// The position from which the hub fills the queue.
    joined: Position,
    /// The position after what was delivered.
    position: Position,
    phase: Phase,
    ready: VecDeque<Delivery>,
    established: Option<Arc<Established>>,
    /// The changes of the established subscription that were adopted.
    revision: u64,
    /// The number of its modifications that were adopted.
    modifications: usize,
    /// The positions of the modifications that the receiver was not notified of yet.
    modified_at: VecDeque<Position>,
    /// When the established subscription is checked.
    check_due: Instant,
}

impl StreamSubscription {
    pub(super) fn new(
        context: Arc<dyn EventContext>,
        session: Arc<Session>,
        tree: Tree,
        hub: Arc<Hub>,
        options: SubscriptionOptions,
    ) -> Result<Self> {
        let times = Times {
            start: options.start,
            stop: options.stop,
        };
        times.check(tree.store().now())?;
        let selector = Selector {
            stream: options.stream,
            filter: FilterInForce::new(options.filter),
            session,
        };
        let mut subscription = Self::idle(context, tree, hub, selector, times);
        let newest = Position::newest(&subscription.tree)?;
        match (options.from, times.start) {
            // A store that was restored can have fewer events.
            (Some(from), _) => subscription.begin_at(from.at_most(newest))?,
            (None, Some(_)) => subscription.begin_replay()?,
            (None, None) => subscription.begin_at(newest)?,
        }
        Ok(subscription)
    }

    /// Begins to receive from an established subscription.
    pub(super) fn of_established(
        context: Arc<dyn EventContext>,
        tree: Tree,
        hub: Arc<Hub>,
        established: Arc<Established>,
    ) -> Result<Self> {
        let revision = established.revision();
        let times = established.terms().times();
        let (selector, modifications) = established.selector();
        let mut subscription = Self::idle(context, tree, hub, selector, times);
        subscription.queue = Arc::clone(&established.receiver);
        subscription.revision = revision;
        subscription.modifications = modifications;
        subscription.established = Some(Arc::clone(&established));
        if established.is_configured() {
            subscription.announce_change(StateChange::Started);
        }
        match times.start {
            Some(_) => subscription.begin_replay()?,
            None => subscription.begin_at(established.new.position)?,
        }
        Ok(subscription)
    }

    fn idle(
        context: Arc<dyn EventContext>,
        tree: Tree,
        hub: Arc<Hub>,
        selector: Selector,
        times: Times,
    ) -> Self {
        Self {
            context,
            tree,
            selector,
            times,
            hub,
            queue: Arc::default(),
            receiver: None,
            joined: Position::default(),
            position: Position::default(),
            phase: Phase::Ended,
            ready: VecDeque::new(),
            established: None,
            revision: 0,
            modifications: 0,
            modified_at: VecDeque::new(),
            check_due: Instant::now(),
        }
    }

    /// Begins with past events.
    fn begin_replay(&mut self) -> Result<()> {
        let sources = self.selector.stream.sources();
        let replay = Replay::from_time(&self.tree, &sources, self.times)?;
        self.position = replay.position;
        self.phase = Phase::Replay(replay);
        Ok(())
    }

    /// Begins with the events from a position on.
    fn begin_at(&mut self, position: Position) -> Result<()> {
        self.position = position;
        self.join()?;
        let sources = self.selector.stream.sources();
        self.phase = Phase::CatchUp(Replay::new(&sources, position, self.times), 0);
        // Usually there is nothing to read, and the receiver is ready.
        self.read()
    }

    fn join(&mut self) -> Result<()> {
        let (established, selector) = (self.established.as_ref(), &self.selector);
        self.joined = self.hub.join(&self.context, &self.tree, &self.queue, || {
            established.map_or_else(|| selector.clone(), |one| one.selector().0)
        })?;
        self.receiver = Some(Arc::clone(&self.queue));
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            self.hub.leave(&receiver);
        }
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.selector.session
    }

    /// The position after the recorded events that were delivered.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Records that everything that was delivered was sent.
    pub fn record_sent(&self) {
        if let Some(established) = &self.established
            && established.is_configured()
        {
            established.set_delivered(self.position);
        }
    }

    /// Whether the subscription has ended, and everything was delivered.
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended) && self.ready.is_empty()
    }

    /// Returns the next delivery, and waits for it up to a timeout; `None` if there is none in that time, or if the
    /// subscription has ended.
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
                    let receiver = self.receiver.clone();
                    let until = deadline.min(now + self.wait_max());
                    if let Some(received) = receiver.and_then(|receiver| receiver.wait(until)) {
                        self.receive(received);
                    }
                }
            }
        }
    }

    /// The next delivery, for a task. If it is pending, the task is woken by an event; it also has to poll again after
    /// [`Self::wait_max`].
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Polled> {
        loop {
            match self.step() {
                Step::Delivery(delivery) => return Poll::Ready(Polled::Delivery(delivery)),
                Step::MustRead => return Poll::Ready(Polled::MustRead),
                Step::Ended => return Poll::Ready(Polled::Ended),
                Step::Wait => {}
            }
            let Some(receiver) = self.receiver.clone() else {
                return Poll::Ready(Polled::Ended);
            };
            match receiver.poll(context) {
                Poll::Ready(received) => self.receive(received),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// The time after which a waiting subscription looks whether it ends.
    pub fn wait_max(&self) -> Duration {
        let now = self.tree.store().now();
        let left = self.times.stop.map(|stop| stop.since(now));
        // The event of the last millisecond is included.
        let left = left.map(|left| left + Duration::from_millis(1));
        left.map_or(CHECK_INTERVAL, |left| left.min(CHECK_INTERVAL))
    }

    fn step(&mut self) -> Step {
        if self.selector.session.is_killed() && !matches!(self.phase, Phase::Ended) {
            self.ready.clear();
            self.end(Delivery::Terminated(Termination::SessionEnded));
        }
        self.adopt_changes();
        if let Some(delivery) = self.next_ready() {
            return Step::Delivery(delivery);
        }
        match &self.phase {
            Phase::Ended => Step::Ended,
            Phase::Live(_) if self.is_check_due() => Step::MustRead,
            Phase::Replay(_) | Phase::CatchUp(..) | Phase::Rest(_) => Step::MustRead,
            Phase::Live(_) => self.live_step(),
        }
    }

    fn live_step(&mut self) -> Step {
        while let Some(received) = self.receiver.as_ref().and_then(|receiver| receiver.take()) {
            self.receive(received);
            if let Some(delivery) = self.next_ready() {
                return Step::Delivery(delivery);
            }
        }
        self.announce_modifications(None);
        if self.is_over() {
            self.begin_rest();
        }
        match (self.next_ready(), &self.phase) {
            (Some(delivery), _) => Step::Delivery(delivery),
            (None, Phase::Live(_)) => Step::Wait,
            (None, Phase::Ended) => Step::Ended,
            (None, _) => Step::MustRead,
        }
    }

    /// Whether the stop time has passed.
    fn is_over(&self) -> bool {
        let now = self.tree.store().now();
        self.times.stop.is_some_and(|stop| now > stop)
    }

    /// Leaves the receivers, and reads what they did not get yet.
    fn begin_rest(&mut self) {
        let (&Phase::Live(mut position), Some(receiver)) = (&self.phase, self.receiver.take())
        else {
            return;
        };
        let reached = self.hub.leave(&receiver);
        while let Some(received) = receiver.take() {
            self.receive(received);
            if matches!(self.phase, Phase::Ended) {
                return;
            }
        }
        position.sequence = position.sequence.max(reached.sequence);
        position.version = position.version.max(reached.version);
        let sources = self.selector.stream.sources();
        self.phase = Phase::Rest(Replay::new(&sources, position, self.times));
    }

    /// Takes an event of the queue.
    fn receive(&mut self, received: Received) {
        if !matches!(self.phase, Phase::Live(_)) {
            return;
        }
        match received {
            Received::Interrupted => {}
            Received::Lost(count) => self.announce(Delivery::Lost(count)),
            Received::Closed(reason) => self.end(Delivery::Terminated(reason)),
            Received::Event(event) => {
                self.announce_modifications(Some(&event));
                if self.times.include(event.time()) {
                    self.ready.push_back(Delivery::Event(event));
                }
            }
        }
    }

    /// The next delivery, which is counted.
    fn next_ready(&mut self) -> Option<Delivery> {
        let delivery = self.ready.pop_front()?;
        if let Delivery::Event(event) = &delivery {
            self.position.advance(event);
            if let Some(established) = &self.established
                && event.source() != EventSource::Subscription
            {
                established.count_sent();
            }
        }
        Some(delivery)
    }

    /// Adds a delivery that is no event of the stream, in the form that the subscription has for it.
    fn announce(&mut self, delivery: Delivery) {
        if self.established.is_none() {
            return self.ready.push_back(delivery);
        }
        match delivery {
            Delivery::Event(_) => self.ready.push_back(delivery),
            Delivery::ReplayComplete => self.announce_change(StateChange::ReplayCompleted),
            Delivery::Lost(_) => {
                self.announce_change(StateChange::Suspended(Suspension::Volume));
                self.ready.push_back(delivery);
                self.announce_change(StateChange::Resumed);
            }
            Delivery::Completed => {
                if self
                    .established
                    .as_ref()
                    .is_some_and(|one| one.is_configured())
                {
                    self.announce_change(StateChange::Completed);
                }
            }
            Delivery::Terminated(reason) => {
                self.announce_change(StateChange::Terminated(reason));
                if let Some(established) = &self.established {
                    established.finish(End::Terminated(reason));
                }
            }
        }
    }

    fn announce_change(&mut self, change: StateChange) {
        let now = self.tree.store().now();
        let established = self.established.as_ref();
        let event = established.and_then(|one| one.state_change(now, change));
        self.ready.extend(event.map(Delivery::Event));
    }

    /// Adopts the changes of an established subscription.
    fn adopt_changes(&mut self) {
        let Some(established) = self.established.clone() else {
            return;
        };
        let revision = established.revision();
        if revision == self.revision || matches!(self.phase, Phase::Ended) {
            return;
        }
        self.revision = revision;
        match established.end() {
            Some(End::Deleted) => {
                self.ready.clear();
                self.leave();
                self.phase = Phase::Ended;
            }
            Some(End::Terminated(reason)) => {
                self.ready.clear();
                self.end(Delivery::Terminated(reason));
            }
            None => self.adopt_terms(&established),
        }
    }

    /// Adopts new terms.
    fn adopt_terms(&mut self, established: &Established) {
        self.times.stop = established.terms().stop;
        if let Phase::Replay(replay) | Phase::CatchUp(replay, _) = &mut self.phase {
            replay.set_stop(self.times.stop);
        }
        self.adopt_modifications();
        let is_live = matches!(self.phase, Phase::Live(_));
        self.hub.change(&self.queue, |reached| {
            // What is in the queue was selected already.
            if is_live {
                established.forget_filters_before(reached);
            }
            established.selector().0
        });
    }

    /// Adopts the modifications of an established subscription, for the events that are read.
    fn adopt_modifications(&mut self) {
        let Some(established) = &self.established else {
            return;
        };
        let (selector, modifications) = established.selector();
        self.selector = selector;
        for number in (1..=modifications - self.modifications).rev() {
            let position = self.selector.filter.replacement(number);
            self.modified_at.push_back(position.unwrap_or_default());
        }
        self.modifications = modifications;
    }

    /// Notifies of the modifications before an event; of all, if no event is waiting.
    fn announce_modifications(&mut self, next: Option<&Event>) {
        while let Some(from) = self.modified_at.front() {
            if next.is_some_and(|event| !from.is_before(event)) {
                return;
            }
            self.modified_at.pop_front();
            self.announce_change(StateChange::Modified);
        }
    }

    fn is_check_due(&self) -> bool {
        self.established.is_some() && Instant::now() >= self.check_due
    }

    fn end(&mut self, last: Delivery) {
        self.announce(last);
        self.leave();
        self.phase = Phase::Ended;
    }

    /// Reads past events. Blocks.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read(&mut self) -> Result<()> {
        if let Some(established) = self.established.clone()
            && self.is_check_due()
        {
            self.reopen()?;
            if let Some(terms) = established.check(&*self.context, &self.tree)? {
                let modified = established.modify(terms, Position::newest(&self.tree)?);
                // The next check tries again.
                let _ = modified
                    .inspect_err(|error| tracing::debug!(%error, "a filter is not adopted"));
            }
            self.check_due = Instant::now() + CHECK_INTERVAL;
            self.adopt_changes();
        }
        let (Phase::Replay(replay) | Phase::CatchUp(replay, _) | Phase::Rest(replay)) =
            &mut self.phase
        else {
            return Ok(());
        };
        if !replay.is_finished() {
            if !self.tree.is_current()? {
                self.tree = self.context.reopened(&self.tree)?;
            }
            let page = replay.read(&*self.context, &self.tree)?;
            let is_finished = replay.is_finished();
            // A modification before an event of the page was made before the page was read.
            self.adopt_modifications();
            self.deliver(page)?;
            if !is_finished {
                return Ok(());
            }
        }
        self.advance()
    }

    /// Opens the anchor again if its modules were replaced.
    fn reopen(&mut self) -> Result<()> {
        if !self.tree.is_current()? {
            self.tree = self.context.reopened(&self.tree)?;
        }
        Ok(())
    }

    /// Begins the next phase, after all past events of this one were read.
    fn advance(&mut self) -> Result<()> {
        let sources = self.selector.stream.sources();
        let is_over = self.is_over();
        if matches!(self.phase, Phase::Replay(_)) && !is_over {
            self.join()?;
        }
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Replay(_) if is_over => {
                self.announce(Delivery::ReplayComplete);
                self.end(Delivery::Completed);
            }
            Phase::Replay(mut replay) => {
                replay.read_on(&sources);
                self.phase = Phase::CatchUp(replay, 0);
            }
            Phase::CatchUp(mut replay, tries) => {
                let receiver = self.receiver.as_ref();
                let lost = receiver.map_or(0, |receiver| receiver.begin_at(replay.position));
                if lost > 0 && tries < CATCH_UPS_MAX {
                    replay.read_on(&sources);
                    self.phase = Phase::CatchUp(replay, tries + 1);
                    return Ok(());
                }
                if self.times.start.is_some() {
                    self.announce(Delivery::ReplayComplete);
                }
                if lost > 0 {
                    self.announce(Delivery::Lost(lost));
                }
                if let Some(established) = &self.established {
                    established.forget_filters_before(replay.position);
                }
                self.phase = Phase::Live(replay.position);
            }
            Phase::Rest(_) => self.end(Delivery::Completed),
            phase @ (Phase::Live(_) | Phase::Ended) => self.phase = phase,
        }
        Ok(())
    }

    fn deliver(&mut self, page: ReplayPage) -> Result<()> {
        if page.deleted > 0 {
            self.announce(Delivery::Lost(page.deleted));
        }
        for (number, event) in page.events.iter().enumerate() {
            if !self.position.is_before(event) {
                continue;
            }
            match self.selector.select(&*self.context, &self.tree, event, 1) {
                Ok(Selected::Event(event)) => {
                    self.announce_modifications(Some(&event));
                    self.ready.push_back(Delivery::Event(event));
                }
                Ok(Selected::OtherStream) => {}
                // The hub counts those that it selects.
                Ok(Selected::Excluded) => {
                    if self.receiver.is_none() || !self.joined.is_before(event) {
                        self.queue.exclude();
                    }
                }
                // Without the rules, nothing of the page may be delivered.
                Err(error) => {
                    let rest = page.events.len() - number;
                    self.announce(Delivery::Lost(rest as u64));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Drop for StreamSubscription {
    fn drop(&mut self) {
        self.leave();
        if let Some(established) = &self.established {
            established.close();
        }
    }
}

/// What a subscription does next.
enum Step {
    Delivery(Delivery),
    MustRead,
    Wait,
    Ended,
}
