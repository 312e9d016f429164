//! The bounded queue of one receiver.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::event::Event;
use super::position::Position;
use super::termination::Termination;

/// The maximum number of events in the queue of a receiver.
pub const RECEIVER_EVENTS_MAX: usize = 1024;

/// The maximum bytes of the events in the queue of a receiver; a single event may have more.
pub const RECEIVER_BYTES_MAX: usize = 4 << 20;

/// The queue of a receiver. A hub fills it and never waits: if it is full, the oldest events are dropped and counted.
#[derive(Default)]
pub(crate) struct Receiver {
    queue: Mutex<Queue>,
    arrived: Condvar,
    excluded: AtomicU64,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// The number of dropped events, before all others.
    lost: u64,
    /// Why no more events arrive.
    closed: Option<Termination>,
    waker: Option<Waker>,
    has_waiter: bool,
    /// Whether the receiver has to look for changes of its subscription.
    is_interrupted: bool,
    /// Events before it are not for this receiver.
    from: Position,
}

/// What a queue has next.
pub(crate) enum Received {
    Event(Arc<Event>),
    /// The number of events that were dropped before the next one.
    Lost(u64),
    /// The subscription was changed.
    Interrupted,
    /// No more events arrive, for this reason.
    Closed(Termination),
}

impl Receiver {
    /// Adds an event.
    pub fn push(&self, event: Arc<Event>) {
        let mut queue = self.queue.lock();
        if !queue.from.is_before(&event) {
            return;
        }
        queue.bytes += event.bytes();
        queue.events.push_back(event);
        while queue.events.len() > 1
            && (queue.events.len() > RECEIVER_EVENTS_MAX || queue.bytes > RECEIVER_BYTES_MAX)
        {
            let Some(oldest) = queue.events.pop_front() else {
                break;
            };
            queue.bytes -= oldest.bytes();
            queue.lost += 1;
        }
        self.wake(queue);
    }

    /// The receiver has read all events before a position. If events were dropped from the queue, it is emptied, and the
    /// number of the events that the receiver did not get is returned: it may read them too.
    pub fn begin_at(&self, position: Position) -> u64 {
        let mut queue = self.queue.lock();
        let queue = &mut *queue;
        queue.from = position;
        queue.events.retain(|event| position.is_before(event));
        let mut lost = std::mem::take(&mut queue.lost);
        if lost > 0 {
            lost += queue.events.len() as u64;
            queue.events.clear();
        }
        queue.bytes = queue.events.iter().map(|event| event.bytes()).sum();
        lost
    }

    /// Counts events that are not delivered.
    pub fn lose(&self, count: u64) {
        let mut queue = self.queue.lock();
        queue.lost += count;
        self.wake(queue);
    }

    /// Ends the queue after the events that it has.
    pub fn close(&self, reason: Termination) {
        let mut queue = self.queue.lock();
        queue.closed.get_or_insert(reason);
        self.wake(queue);
    }

    /// Wakes the receiver, which then looks for changes of its subscription.
    pub fn interrupt(&self) {
        let mut queue = self.queue.lock();
        queue.is_interrupted = true;
        self.wake(queue);
    }

    /// Counts an event that the filter or the access rules exclude.
    pub fn exclude(&self) {
        self.excluded.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of events that the filter or the access rules excluded.
    pub fn excluded(&self) -> u64 {
        self.excluded.load(Ordering::Relaxed)
    }

    /// Whether events were dropped that the receiver does not know of yet.
    pub fn has_lost(&self) -> bool {
        self.queue.lock().lost > 0
    }

    fn wake(&self, mut queue: parking_lot::MutexGuard<'_, Queue>) {
        let waker = queue.waker.take();
        let has_waiter = queue.has_waiter;
        drop(queue);
        if has_waiter {
            self.arrived.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next event, if there is one.
    pub fn take(&self) -> Option<Received> {
        self.queue.lock().take()
    }

    /// The next event, waiting for it until a deadline.
    pub fn wait(&self, deadline: Instant) -> Option<Received> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(received) = queue.take() {
                return Some(received);
            }
            queue.has_waiter = true;
            let waited = self.arrived.wait_until(&mut queue, deadline);
            queue.has_waiter = false;
            if waited.timed_out() {
                return queue.take();
            }
        }
    }

    /// The next event; if there is none, the task is woken when one arrives.
    pub fn poll(&self, context: &Context<'_>) -> Poll<Received> {
        let mut queue = self.queue.lock();
        match queue.take() {
            Some(received) => Poll::Ready(received),
            None => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Queue {
    fn take(&mut self) -> Option<Received> {
        if std::mem::take(&mut self.is_interrupted) {
            return Some(Received::Interrupted);
        }
        if self.lost > 0 {
            return Some(Received::Lost(std::mem::take(&mut self.lost)));
        }
        match self.events.pop_front() {
            Some(event) => {
                self.bytes -= event.bytes();
                Some(Received::Event(event))
            }
            None => self.closed.map(Received::Closed),
        }
    }
}
