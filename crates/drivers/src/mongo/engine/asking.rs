//! A request on its way: made again until there is an answer or the time is out.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use mongodb::bson::Document;

use super::connection::{Inserted, Server};
use super::error::Trouble;

/// The wait before a request is made again.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// How much longer a request may take for each document that it is about.
const DOCUMENT_PATIENCE: Duration = Duration::from_millis(20);

/// What the server said in the end.
pub(super) struct Answer<T> {
    pub(super) said: T,
    /// Whether an earlier attempt may have been carried out, or still be.
    pub(super) is_repeated: bool,
}

/// An attempt, which runs on the runtime of the server.
pub(super) type Work<T> = Pin<Box<dyn Future<Output = mongodb::error::Result<T>> + Send>>;

/// What came of an attempt; nothing when the time was out.
type Attempt<T> = Option<mongodb::error::Result<T>>;

/// A request that was sent.
pub(super) struct Asking<'s, T> {
    server: &'s Server,
    work: Box<dyn Fn() -> Work<T> + 's>,
    start: Instant,
    deadline: Instant,
    /// Where the first attempt puts what comes of it.
    sent: Option<Receiver<Attempt<T>>>,
}

impl<'s, T: Send + 'static> Asking<'s, T> {
    /// Sends a request about `count` documents or so.
    pub(super) fn begin(server: &'s Server, count: usize, work: impl Fn() -> Work<T> + 's) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let start = Instant::now();
        let patience = server.timeout + DOCUMENT_PATIENCE * count;
        Self {
            server,
            sent: send(server, work(), patience),
            work: Box::new(work),
            start,
            deadline: start + patience,
        }
    }

    /// Waits for the answer.
    pub(super) fn answer(mut self) -> Result<Answer<T>, Trouble> {
        let server = self.server;
        // Where the first attempt has failed meanwhile, there is time for others.
        let limit = self.deadline.max(Instant::now() + server.timeout);
        // A server may have much to do, but one that cannot be reached has nothing.
        let mut repeated_until = None;
        let mut wait = BACKOFF_MIN;
        let mut may_be_done = false;
        loop {
            let attempt = self.sent.take().and_then(|sent| sent.recv().ok().flatten());
            let mut trouble = match attempt {
                Some(Ok(said)) => {
                    server.tls_probe.set_confirmed();
                    let is_repeated = may_be_done;
                    return Ok(Answer { said, is_repeated });
                }
                Some(Err(error)) => Trouble::of(&server.place, &error),
                None => Trouble::no_answer(&server.place),
            };
            if trouble.is_passing
                && let Some(problem) = server.watched.distrust.of_all(self.start)
            {
                trouble = trouble.for_distrust(&server.place, &problem);
            }
            if trouble.is_passing
                && let Some(mismatch) = server.tls_probe.mismatch()
            {
                may_be_done |= trouble.may_be_done;
                return Err(Trouble {
                    may_be_done,
                    ..Trouble::refusal(mismatch)
                });
            }
            // What a later attempt says is not what became of an earlier one.
            may_be_done |= trouble.may_be_done;
            trouble.may_be_done = may_be_done;
            server.interrupted();
            let now = Instant::now();
            let until = *repeated_until.get_or_insert(limit.min(now + server.timeout));
            if !trouble.is_passing || now + wait >= until {
                return Err(trouble);
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(BACKOFF_MAX);
            let left = limit.saturating_duration_since(Instant::now());
            self.sent = send(server, (self.work)(), left);
        }
    }
}

impl<T> Drop for Asking<'_, T> {
    /// What follows may count on it that nothing is sent after that.
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            let _ = sent.recv();
        }
    }
}

/// Has an attempt run on the runtime: callers may be threads of a runtime of their own, which must not run
/// another.
fn send<T: Send + 'static>(
    server: &Server,
    work: Work<T>,
    patience: Duration,
) -> Option<Receiver<Attempt<T>>> {
    let (sender, receiver) = sync_channel(1);
    server.runtime()?.spawn(async move {
        let outcome = tokio::time::timeout(patience, work).await;
        // Whoever asked has gone when nobody takes the answer.
        let _ = sender.send(outcome.ok());
    });
    Some(receiver)
}

/// Documents on their way to the server.
pub(in crate::mongo) struct Inserting<'s>(pub(super) Asking<'s, Document>);

impl Inserting<'_> {
    /// Waits until they are there.
    pub(in crate::mongo) fn done(self) -> Result<Inserted, Trouble> {
        let server = self.0.server;
        let said = server.written(self.0.answer()?)?;
        Ok(match said.contains_key("writeErrors") {
            true => Inserted::SomeWereThere,
            false => Inserted::All,
        })
    }
}
