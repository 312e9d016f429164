//! The queue of small edits of an anchor. Few threads decide them in the order in which they came, and write many
//! together: an edit does not occupy a thread while it waits for its turn, or for its write.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use espalier_service::BegunChange;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::change::Change;
use super::write_request::{Job, WriteResult};
use crate::intake::Held;
use crate::restconf::error::{Failure, Result};
use crate::restconf::limits::EDITS_BEGUN_MAX;
use crate::restconf::media::Format;

/// The maximum number of threads: one decides while the other waits for a write.
const THREADS_MAX: usize = 2;

/// An edit with its body.
pub(super) struct Write {
    pub(super) job: Job,
    pub(super) format: Format,
    pub(super) body: Held,
}

impl Write {
    /// Makes the edit on this thread.
    pub(super) fn run(&self) -> Result<WriteResult> {
        let change = self.job.change(self.format, self.body.bytes())?;
        self.job.commit(&change)
    }
}

/// What became of an edit in the queue.
pub(super) enum Finished {
    Done(Result<WriteResult>),
    /// It has to be made alone.
    Alone(Write),
}

/// An edit that waits, and the place of its result.
struct Queued {
    write: Write,
    result: oneshot::Sender<Finished>,
}

/// An edit that is decided.
struct Begun {
    queued: Queued,
    change: Change,
    commit: BegunChange,
}

/// The queue.
#[derive(Clone, Default)]
pub(in crate::restconf) struct WriteQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    threads: usize,
    /// Whether a thread takes edits from the queue.
    has_decider: bool,
}

impl State {
    /// Whether another thread has to take edits from the queue. If so, the caller must start it.
    fn needs_decider(&mut self) -> bool {
        let is_needed = !self.has_decider && self.threads < THREADS_MAX && !self.waiting.is_empty();
        if is_needed {
            self.has_decider = true;
            self.threads += 1;
        }
        is_needed
    }
}

impl WriteQueue {
    /// Makes an edit, unless it has to be made alone.
    pub(super) async fn make(&self, write: Write) -> Result<Finished> {
        let (result, finished) = oneshot::channel();
        self.push(Queued { write, result });
        // Only a panic, or a shutdown, drops the other side.
        finished.await.map_err(|error| Failure::internal(&error))
    }

    fn push(&self, queued: Queued) {
        let mut state = self.0.lock();
        state.waiting.push_back(queued);
        let needs_decider = state.needs_decider();
        drop(state);
        if needs_decider {
            self.start_thread();
        }
    }

    fn start_thread(&self) {
        let thread = NewThread(Some(self.clone()));
        spawn_blocking(move || thread.run());
    }
}

/// A thread that is to be started. If it is dropped instead, the runtime shuts down: then nobody makes the edits any more.
struct NewThread(Option<WriteQueue>);

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
        // Their callers get an error.
        drop(waiting);
    }
}

/// A thread of a queue. Dropping it, also in a panic, lets another one take its place.
struct Thread {
    queue: WriteQueue,
    decides: bool,
}

impl Thread {
    fn run(mut self) {
        loop {
            let mut begun = Vec::new();
            while begun.len() < EDITS_BEGUN_MAX
                && let Some(queued) = self.next()
            {
                begun.extend(queued.begin());
            }
            self.stop_deciding();
            // In order: the first of a group writes it.
            begun.into_iter().for_each(Begun::finish);
            if !self.decides_again() {
                return;
            }
        }
    }

    fn next(&self) -> Option<Queued> {
        self.queue.0.lock().waiting.pop_front()
    }

    /// Lets another thread decide while this one waits for a write.
    fn stop_deciding(&mut self) {
        let mut state = self.queue.0.lock();
        state.has_decider = false;
        self.decides = false;
        let needs_decider = state.needs_decider();
        drop(state);
        if needs_decider {
            self.queue.start_thread();
        }
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
        let needs_decider = state.needs_decider();
        drop(state);
        if needs_decider {
            self.queue.start_thread();
        }
    }
}

impl Queued {
    /// Decides the edit, if it can be decided at once.
    fn begin(self) -> Option<Begun> {
        let write = &self.write;
        let change = match write.job.change(write.format, write.body.bytes()) {
            Ok(change) => change,
            Err(failure) => {
                self.result.send(Finished::Done(Err(failure))).ok();
                return None;
            }
        };
        match write.job.begin(&change) {
            Some(commit) => Some(Begun {
                queued: self,
                change,
                commit,
            }),
            None => {
                self.result.send(Finished::Alone(self.write)).ok();
                None
            }
        }
    }
}

impl Begun {
    /// Waits for the write, and gives the result to the caller, who may have stopped waiting.
    fn finish(self) {
        let Queued { write, result } = self.queued;
        let finished = match write.job.finish(&self.change, self.commit) {
            Some(done) => Finished::Done(done),
            None => Finished::Alone(write),
        };
        result.send(finished).ok();
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
        let queue = WriteQueue::default();
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
