//! Small edits that wait in the queue of their anchor.

use espalier_service::BegunChange;
use espalier_store::{CommitRun, Prefetch, PrefetchList};
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
        let change = match self.job.change(self.format, self.body.bytes()) {
            Ok(change) => change,
            Err(failure) => return Ok(Finished::Done(Err(failure))),
        };
        let write = self;
        queue.push(Box::new(Queued {
            write,
            change,
            result,
        }));
        // Only a panic, or a shutdown, drops the other side.
        finished.await.map_err(|error| Failure::internal(&error))
    }
}

/// An edit that waits, and the place of its result.
struct Queued {
    write: Box<Write>,
    change: Change,
    result: oneshot::Sender<Finished>,
}

impl QueuedEdit for Queued {
    fn expect_reads(&self, expected: &mut PrefetchList) {
        let of = &self.write.job.target.of;
        of.expect_reads(&self.change.edits, expected);
    }

    fn begin_run(&self, edits: usize, expect: Prefetch<'_>) -> Option<CommitRun> {
        self.write.job.target.of.begin_run(edits, expect)
    }

    fn begin(self: Box<Self>, run: Option<&CommitRun>) -> Option<Box<dyn BegunEdit>> {
        match self.write.job.begin(&self.change, run) {
            Some(commit) => Some(Box::new(Begun {
                queued: *self,
                commit,
            })),
            None => {
                self.send(Finished::Alone);
                None
            }
        }
    }
}

impl Queued {
    /// Gives the result to the caller, who may have stopped waiting.
    fn send(self, finished: impl FnOnce(Box<Write>) -> Finished) {
        self.result.send(finished(self.write)).ok();
    }
}

/// An edit that is decided.
struct Begun {
    queued: Queued,
    commit: BegunChange,
}

impl BegunEdit for Begun {
    fn finish(self: Box<Self>) {
        let Self { queued, commit } = *self;
        match queued.write.job.finish(&queued.change, commit) {
            Some(done) => queued.send(|_| Finished::Done(done)),
            None => queued.send(Finished::Alone),
        }
    }
}
