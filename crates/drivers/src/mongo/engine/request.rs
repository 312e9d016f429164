//! A pending request: retried until there is a response or the time is up.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use mongodb::bson::Document;

use super::connection::{Inserted, Server};
use super::error::RequestFailure;

/// The delay before a retry, at first and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// How much longer a request may take for each of its documents.
const DOCUMENT_TIMEOUT: Duration = Duration::from_millis(20);

/// The response to a request.
pub(super) struct Reply<T> {
    pub(super) value: T,
    /// Whether an earlier attempt may have been applied too, now or later.
    pub(super) has_earlier_attempt: bool,
}

/// One attempt, which runs on the runtime of the server.
pub(super) type Attempt<T> = Pin<Box<dyn Future<Output = mongodb::error::Result<T>> + Send>>;

/// The result of an attempt; `None` after a timeout.
type AttemptResult<T> = Option<mongodb::error::Result<T>>;

/// A request whose first attempt has been sent.
pub(super) struct PendingRequest<'s, T> {
    server: &'s Server,
    attempt: Box<dyn Fn() -> Attempt<T> + 's>,
    start: Instant,
    deadline: Instant,
    /// Receives the result of the attempt that was sent last.
    sent: Option<Receiver<AttemptResult<T>>>,
}

impl<'s, T: Send + 'static> PendingRequest<'s, T> {
    /// Sends a request for about `count` documents.
    pub(super) fn send(
        server: &'s Server,
        count: usize,
        attempt: impl Fn() -> Attempt<T> + 's,
    ) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let start = Instant::now();
        let timeout = server.timeout + DOCUMENT_TIMEOUT * count;
        Self {
            server,
            sent: send(server, attempt(), timeout),
            attempt: Box::new(attempt),
            start,
            deadline: start + timeout,
        }
    }

    /// Waits for the response, with retries.
    pub(super) fn wait(mut self) -> Result<Reply<T>, RequestFailure> {
        let server = self.server;
        // If the caller waits late, and the first attempt has failed, there is still time for retries.
        let limit = self.deadline.max(Instant::now() + server.timeout);
        // The longer time for many documents is for a busy server, not for one that cannot be reached.
        let mut retry_until = None;
        let mut backoff = BACKOFF_MIN;
        let mut may_be_applied = false;
        loop {
            let result = self.sent.take().and_then(|sent| sent.recv().ok().flatten());
            let mut failure = match result {
                Some(Ok(value)) => {
                    server.tls_probe.set_confirmed();
                    return Ok(Reply {
                        value,
                        has_earlier_attempt: may_be_applied,
                    });
                }
                Some(Err(error)) => RequestFailure::of(&server.address, &error),
                None => RequestFailure::timeout(&server.address),
            };
            if failure.is_transient
                && let Some(problem) = server.health.tls_failures.since(self.start)
            {
                failure = failure.with_tls_error(&server.address, &problem);
            }
            if failure.is_transient
                && let Some(mistake) = server.tls_probe.mismatch()
            {
                may_be_applied |= failure.may_be_applied;
                return Err(RequestFailure {
                    may_be_applied,
                    ..RequestFailure::permanent(mistake)
                });
            }
            // An earlier attempt may have been applied even if a later one certainly was not.
            may_be_applied |= failure.may_be_applied;
            failure.may_be_applied = may_be_applied;
            server.record_interruption();
            let now = Instant::now();
            let until = *retry_until.get_or_insert(limit.min(now + server.timeout));
            if !failure.is_transient || now + backoff >= until {
                return Err(failure);
            }
            std::thread::sleep(backoff);
            backoff = (backoff * 2).min(BACKOFF_MAX);
            let left = limit.saturating_duration_since(Instant::now());
            self.sent = send(server, (self.attempt)(), left);
        }
    }
}

impl<T> Drop for PendingRequest<'_, T> {
    /// Waits for the attempt, so that nothing is sent after the request is dropped.
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            let _ = sent.recv();
        }
    }
}

/// Starts an attempt on the runtime: callers may be threads of another runtime, which must not run a second
/// one.
fn send<T: Send + 'static>(
    server: &Server,
    attempt: Attempt<T>,
    timeout: Duration,
) -> Option<Receiver<AttemptResult<T>>> {
    let (sender, receiver) = sync_channel(1);
    server.runtime()?.spawn(async move {
        let outcome = tokio::time::timeout(timeout, attempt).await;
        // An error means that the caller is gone.
        let _ = sender.send(outcome.ok());
    });
    Some(receiver)
}

/// A pending insert of documents.
pub(in crate::mongo) struct PendingInsert<'s>(pub(super) PendingRequest<'s, Document>);

impl PendingInsert<'_> {
    /// Waits until the documents are inserted.
    pub(in crate::mongo) fn wait(self) -> Result<Inserted, RequestFailure> {
        let server = self.0.server;
        let reply = server.check_write(self.0.wait()?)?;
        Ok(match reply.contains_key("writeErrors") {
            true => Inserted::SomeExisted,
            false => Inserted::All,
        })
    }
}
