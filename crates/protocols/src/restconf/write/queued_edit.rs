//! Small edits that wait in the queue of their anchor.

use espalier_service::BegunChange;
use tokio::sync::oneshot;

use super::change::Change;
use super::write_request::{Job, WriteResult};
use crate::intake::Held;
use crate::restconf::edit_queue::{BegunEdit, EditQueue, QueuedEdit};
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;

/// An edit with its body.
pub(super) struct Write {
    pub(super) job: Job,
    pub(super) format: Format,
    pub(super) body: Held,
}

/// What became of an edit in the queue.
pub(super) enum Finished {
    Done(Result<WriteResult>),
    /// It has to be made alone.
    Alone(Box<Write>),
}

impl Write {
    /// Makes the edit on this thread.
    pub(super) fn run(&self) -> Result<WriteResult> {
        let change = self.job.change(self.format, self.body.bytes())?;
        self.job.commit(&change)
    }

    /// Makes the edit through a queue, unless it has to be made alone.
    pub(super) async fn queued(self: Box<Self>, queue: &EditQueue) -> Result<Finished> {
        let (result, finished) = oneshot::channel();
        let write = self;
        queue.push(Box::new(Queued { write, result }));
        // Only a panic, or a shutdown, drops the other side.
        finished.await.map_err(|error| Failure::internal(&error))
    }
}

/// An edit that waits, and the place of its result.
struct Queued {
    write: Box<Write>,
    result: oneshot::Sender<Finished>,
}

impl QueuedEdit for Queued {
    fn begin(self: Box<Self>) -> Option<Box<dyn BegunEdit>> {
        let write = &self.write;
        let change = match write.job.change(write.format, write.body.bytes()) {
            Ok(change) => change,
            Err(failure) => {
                self.send(Finished::Done(Err(failure)));
                return None;
            }
        };
        match write.job.begin(&change) {
            Some(commit) => Some(Box::new(Begun {
                queued: self,
                change,
                commit,
            })),
            None => {
                let Self { write, result } = *self;
                result.send(Finished::Alone(write)).ok();
                None
            }
        }
    }
}

impl Queued {
    /// Gives the result to the caller, who may have stopped waiting.
    fn send(self, finished: Finished) {
        self.result.send(finished).ok();
    }
}

/// An edit that is decided.
struct Begun {
    queued: Box<Queued>,
    change: Change,
    commit: BegunChange,
}

impl BegunEdit for Begun {
    fn finish(self: Box<Self>) {
        let Self {
            queued,
            change,
            commit,
        } = *self;
        let Queued { write, result } = *queued;
        let finished = match write.job.finish(&change, commit) {
            Some(done) => Finished::Done(done),
            None => Finished::Alone(write),
        };
        result.send(finished).ok();
    }
}
