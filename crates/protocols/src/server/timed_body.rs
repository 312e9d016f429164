//! Request bodies that fail if the client stops sending or sends too slowly.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming as HyperBody, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Limits;
use super::activity::Activity;

/// The body arrives too slowly. The response is 408.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyTimeout {
    /// No byte arrived for too long.
    #[error("no byte of the body arrived for {0:?}")]
    Pause(Duration),
    /// The body arrives below the minimum rate.
    #[error("the body arrives at less than {0} bytes per second")]
    Rate(u64),
}

/// The minimum pace of a body.
#[derive(Clone, Copy, Debug)]
struct Pace {
    pause_max: Duration,
    grace: Duration,
    rate_min: u64,
}

impl Pace {
    /// The total time that the server waits for a body of which this many bytes have arrived.
    fn allowance(&self, bytes: u64) -> Duration {
        let earned_ms = bytes.saturating_mul(1000) / self.rate_min.max(1);
        self.grace.saturating_add(Duration::from_millis(earned_ms))
    }
}

/// The body of a request.
pub(super) struct TimedBody {
    body: HyperBody,
    /// Whether the body was read completely.
    is_read: Arc<AtomicBool>,
    activity: Arc<Activity>,
    pace: Pace,
    bytes: u64,
    /// The total of the finished waits.
    waited: Duration,
    wait: Option<Wait>,
}

/// A wait for the next chunk. The timer runs only while the server reads, so the time that a request waits
/// for something else does not count against the client.
struct Wait {
    since: Instant,
    timer: Pin<Box<Sleep>>,
    failure: BodyTimeout,
}

impl TimedBody {
    /// Wraps the body. `is_read` is set when it was read completely.
    pub(super) fn new(
        body: HyperBody,
        is_read: Arc<AtomicBool>,
        activity: Arc<Activity>,
        limits: &Limits,
    ) -> Self {
        Self {
            body,
            is_read,
            activity,
            pace: Pace {
                pause_max: limits.body_pause_max,
                grace: limits.body_grace,
                rate_min: limits.body_rate_min,
            },
            bytes: 0,
            waited: Duration::ZERO,
            wait: None,
        }
    }

    fn begin_wait(&self) -> Wait {
        self.activity.begin_body_wait();
        let Pace {
            pause_max,
            rate_min,
            ..
        } = self.pace;
        let left = self.pace.allowance(self.bytes).saturating_sub(self.waited);
        let (wait_max, failure) = match left < pause_max {
            true => (left, BodyTimeout::Rate(rate_min)),
            false => (pause_max, BodyTimeout::Pause(pause_max)),
        };
        let since = Instant::now();
        Wait {
            since,
            timer: Box::pin(sleep_until(since + wait_max)),
            failure,
        }
    }

    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            self.waited += wait.since.elapsed();
            self.activity.end_body_wait();
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.end_wait();
            if let Some(Ok(frame)) = &frame {
                this.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            if frame.is_none() || this.body.is_end_stream() {
                this.is_read.store(true, Ordering::Release);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if this.wait.is_none() {
            this.wait = Some(this.begin_wait());
        }
        let Some(wait) = &mut this.wait else {
            return Poll::Pending;
        };
        ready!(wait.timer.as_mut().poll(cx));
        let failure = wait.failure;
        this.end_wait();
        Poll::Ready(Some(Err(failure.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.end_wait();
    }
}
