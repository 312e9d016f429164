//! The queue of small edits of an anchor. Few threads decide them in the order in which they came, and write many
//! together: an edit does not occupy a thread while it waits for its turn, or for its write.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use espalier_store::{CommitRun, Prefetch, PrefetchList};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;

use super::limits::EDITS_BEGUN_MAX;

/// The maximum number of threads: one decides while the other waits for a write.
const THREADS_MAX: usize = 2;

/// An edit that waits. It has the place of its result.
pub(super) trait QueuedEdit: Send {
    /// Lists what the edit will read.
    fn expect_reads(&self, expected: &mut PrefetchList);

    /// Begins a run of a number of edits of the same datastore, if that saves round trips.
    fn begin_run(&self, edits: usize, expect: Prefetch<'_>) -> Option<CommitRun>;

    /// Decides the edit. `None` if it has its result already.
    fn begin(self: Box<Self>, run: Option<&CommitRun>) -> Option<Box<dyn BegunEdit>>;
}

/// An edit that is decided.
pub(super) trait BegunEdit {
    /// Waits for the write, and gives the result.
    fn finish(self: Box<Self>);
}

/// The queue.
#[derive(Clone, Default)]
pub(super) struct EditQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn QueuedEdit>>,
    threads: usize,
    /// Whether a thread takes edits from the queue.
    has_decider: bool,
}

impl State {
    /// Whether another thread has to take edits from the queue.
    fn needs_decider(&self) -> bool {
        !self.has_decider && self.threads < THREADS_MAX && !self.waiting.is_empty()
    }
}

impl EditQueue {
    /// Adds an edit. If the runtime shuts down, it is dropped.
    pub(super) fn push(&self, edit: Box<dyn QueuedEdit>) {
        let mut state = self.0.lock();
        state.waiting.push_back(edit);
        self.start_decider(state);
    }

    /// Starts a thread that takes edits from the queue, if one is needed.
    fn start_decider(&self, mut state: MutexGuard<'_, State>) {
        if !state.needs_decider() {
            return;
        }
        state.has_decider = true;
        state.threads += 1;
        // A runtime that shuts down drops the thread at once, which takes the lock.
        drop(state);
        self.start_thread();
    }

    fn start_thread(&self) {
        let thread = NewThread(Some(self.clone()));
        spawn_blocking(move || thread.run());
    }
}

/// A thread that is to be started. If it is dropped instead, the runtime shuts down: then nobody makes the edits any more.
struct NewThread(Option<EditQueue>);

impl NewThread {
    fn run(mut self) {
        if let Some(queue) = self.0.take() {
            let thread = Thread {
                queue,
                decides: true,
            };
            thread.run();
        }
    }
}

impl Drop for NewThread {
    fn drop(&mut self) {
        let Some(queue) = self.0.take() else { return };
        let mut state = queue.0.lock();
        state.threads -= 1;
        state.has_decider = false;
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        // Those that wait for results get an error.
        drop(waiting);
    }
}

/// A thread of a queue. Dropping it, also in a panic, lets another one take its place.
struct Thread {
    queue: EditQueue,
    decides: bool,
}

impl Thread {
    fn run(mut self) {
        loop {
            let mut begun = Vec::new();
            while let edits = self.next(EDITS_BEGUN_MAX - begun.len())
                && let Some((first, others)) = edits.split_first()
            {
                let expect = |expected: &mut PrefetchList| {
                    edits.iter().for_each(|edit| edit.expect_reads(expected));
                };
                let run = match others {
                    [] => None,
                    _ => first.begin_run(edits.len(), &expect),
                };
                let decided = edits
                    .into_iter()
                    .filter_map(|edit| edit.begin(run.as_ref()));
                begun.extend(decided);
            }
            self.stop_deciding();
            // In order: the first of a group writes it.
            begun.into_iter().for_each(BegunEdit::finish);
            if !self.decides_again() {
                return;
            }
        }
    }

    /// Takes the edits that wait, at most `edits_max`.
    fn next(&self, edits_max: usize) -> Vec<Box<dyn QueuedEdit>> {
        let waiting = &mut self.queue.0.lock().waiting;
        let count = waiting.len().min(edits_max);
        waiting.drain(..count).collect()
    }

    /// Lets another thread decide while this one waits for a write.
    fn stop_deciding(&mut self) {
        let mut state = self.queue.0.lock();
        state.has_decider = false;
        self.decides = false;
        self.queue.start_decider(state);
    }

    /// Decides again if there is something to decide, and nobody does.
    fn decides_again(&mut self) -> bool {
        let mut state = self.queue.0.lock();
        self.decides = !state.has_decider && !state.waiting.is_empty();
        state.has_decider |= self.decides;
        self.decides
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let mut state = self.queue.0.lock();
        state.threads -= 1;
        if self.decides {
            state.has_decider = false;
        }
        self.queue.start_decider(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread that was not started started another one, without end.
    #[test]
    fn no_thread_is_started_while_the_runtime_shuts_down() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build();
        let runtime = runtime.expect("a runtime");
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let queue = EditQueue::default();
        {
            let mut state = queue.0.lock();
            (state.threads, state.has_decider) = (1, true);
        }
        let _context = handle.enter();
        queue.start_thread();
        let state = queue.0.lock();
        assert_eq!((state.threads, state.has_decider), (0, false));
    }
}
