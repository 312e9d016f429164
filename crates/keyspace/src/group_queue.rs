//! Group commit: one thread is the leader and does the work of all that wait.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// A queue of requests. The first caller leads and works on its request alone; those that come meanwhile
/// wait, and the next leader works on all of them together.
pub struct GroupQueue<T, R> {
    state: Mutex<QueueState<T, R>>,
    changed: Condvar,
    weight_of: fn(&T) -> usize,
    weight_max: usize,
}

struct QueueState<T, R> {
    has_leader: bool,
    waiting: VecDeque<Ticket<T, R>>,
}

struct Ticket<T, R> {
    request: T,
    slot: Arc<Slot<R>>,
}

/// The place of a result. It is decided without a result if the leader panicked or returned too few.
struct Slot<R>(Mutex<SlotState<R>>);

enum SlotState<R> {
    Waiting,
    Decided(Option<R>),
}

/// Works on requests together; returns one result for each, in order.
pub type GroupWork<'a, T, R> = &'a dyn Fn(Vec<T>) -> Vec<R>;

/// Leadership. Dropping it, also in a panic, passes it on; then no request of its group waits any more.
struct Leadership<'a, T, R> {
    queue: &'a GroupQueue<T, R>,
    group: Vec<Arc<Slot<R>>>,
}

impl<T, R> Drop for Leadership<'_, T, R> {
    fn drop(&mut self) {
        for slot in &self.group {
            slot.decide(None);
        }
        self.queue.state.lock().has_leader = false;
        self.queue.changed.notify_all();
    }
}

impl<R> Slot<R> {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(SlotState::Waiting)))
    }

    fn decide(&self, result: Option<R>) {
        let mut state = self.0.lock();
        if matches!(*state, SlotState::Waiting) {
            *state = SlotState::Decided(result);
        }
    }

    fn is_waiting(&self) -> bool {
        matches!(*self.0.lock(), SlotState::Waiting)
    }

    fn take(&self) -> Option<R> {
        match &mut *self.0.lock() {
            SlotState::Waiting => None,
            SlotState::Decided(result) => result.take(),
        }
    }
}

impl<T, R> GroupQueue<T, R> {
    /// A queue whose groups weigh at most `weight_max` together, except that the first request is always
    /// taken.
    pub fn new(weight_max: usize, weight_of: fn(&T) -> usize) -> Self {
        let state = QueueState {
            has_leader: false,
            waiting: VecDeque::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            weight_of,
            weight_max,
        }
    }

    /// Has `work` done on a request, by this thread or by another one. Returns nothing if the thread that
    /// led panicked, or if `work` returned no result for this request.
    pub fn submit(&self, request: T, work: GroupWork<'_, T, R>) -> Option<R> {
        let mut state = self.state.lock();
        if !state.has_leader && state.waiting.is_empty() {
            state.has_leader = true;
            drop(state);
            let _leadership = self.leadership(Vec::new());
            return work(vec![request]).pop();
        }
        let slot = Slot::new();
        state.waiting.push_back(Ticket {
            request,
            slot: Arc::clone(&slot),
        });
        while slot.is_waiting() {
            if state.has_leader {
                self.changed.wait(&mut state);
                continue;
            }
            state.has_leader = true;
            let group = self.take_group(&mut state);
            drop(state);
            self.work_on(group, work);
            state = self.state.lock();
        }
        drop(state);
        slot.take()
    }

    /// Runs `act` as the leader, while no group is worked on.
    pub fn lead<V>(&self, act: impl FnOnce() -> V) -> V {
        let mut state = self.state.lock();
        while state.has_leader {
            self.changed.wait(&mut state);
        }
        state.has_leader = true;
        drop(state);
        let _leadership = self.leadership(Vec::new());
        act()
    }

    fn leadership(&self, group: Vec<Arc<Slot<R>>>) -> Leadership<'_, T, R> {
        Leadership { queue: self, group }
    }

    fn take_group(&self, state: &mut QueueState<T, R>) -> Vec<Ticket<T, R>> {
        let mut weight = 0;
        let mut group = Vec::new();
        while let Some(ticket) = state.waiting.pop_front() {
            weight += (self.weight_of)(&ticket.request);
            if weight > self.weight_max && !group.is_empty() {
                state.waiting.push_front(ticket);
                break;
            }
            group.push(ticket);
        }
        group
    }

    fn work_on(&self, group: Vec<Ticket<T, R>>, work: GroupWork<'_, T, R>) {
        let tickets = group
            .into_iter()
            .map(|ticket| (ticket.request, ticket.slot));
        let (requests, slots): (Vec<T>, Vec<_>) = tickets.unzip();
        let leadership = self.leadership(slots);
        let results = work(requests);
        for (slot, result) in leadership.group.iter().zip(results) {
            slot.decide(Some(result));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Submits 1 to `count` while another thread leads; returns the result of each, and the sizes of the
    /// groups.
    fn submit_together(
        count: usize,
        weight_max: usize,
        result_of: fn(usize) -> usize,
    ) -> (Vec<Option<usize>>, Vec<usize>) {
        let queue = GroupQueue::new(weight_max, |_: &usize| 1);
        let sizes = Mutex::new(Vec::new());
        let is_leading = Barrier::new(2);
        let submit = |request| {
            let work = |group: Vec<usize>| {
                sizes.lock().push(group.len());
                group.into_iter().map(result_of).collect()
            };
            catch_unwind(AssertUnwindSafe(|| queue.submit(request, &work))).unwrap_or(None)
        };
        let results = thread::scope(|scope| {
            scope.spawn(|| {
                queue.lead(|| {
                    is_leading.wait();
                    while queue.state.lock().waiting.len() < count {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
            });
            is_leading.wait();
            let threads: Vec<_> = (1..=count)
                .map(|request| scope.spawn(move || submit(request)))
                .collect();
            let results = threads.into_iter().map(|thread| thread.join());
            results.map(|result| result.expect("no panic")).collect()
        });
        (results, sizes.into_inner())
    }

    #[test]
    fn requests_that_wait_are_worked_on_together() {
        let (results, sizes) = submit_together(10, 4, |request| request * 2);
        let expected: Vec<_> = (1..=10).map(|request| Some(request * 2)).collect();
        assert_eq!((results, sizes), (expected, vec![4, 4, 2]));
    }

    /// The requests of a leader that panicked waited for ever.
    #[test]
    fn a_leader_that_panics_leaves_its_group_without_results() {
        let panic_at_5 = |request| match request {
            5 => panic!("5"),
            _ => request,
        };
        let (results, sizes) = submit_together(8, 2, panic_at_5);
        assert_eq!(sizes, [2, 2, 2, 2]);
        let missing: Vec<_> = results.iter().filter(|result| result.is_none()).collect();
        // The two of the group, and that of the thread that led if it is not one of them.
        assert!(matches!(missing.len(), 2 | 3), "{results:?}");
        assert!(results[4].is_none());
    }
}
