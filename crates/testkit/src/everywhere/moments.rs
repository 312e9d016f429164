//! The times of the steps of a case.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::case::Case;
use super::operation::{Moment, Operation, Receive, Request};

/// Event times have milliseconds. After this pause, an event is later than those of the step before.
const PAUSE: Duration = Duration::from_millis(2);

/// The times at which the steps of a case begin.
pub(super) struct Moments {
    /// Milliseconds since 1970.
    begins: Vec<u64>,
    pause: Duration,
}

impl Moments {
    /// Without steps. There are pauses between them if the case receives events.
    pub fn of(case: &Case) -> Self {
        let mut steps = case.steps.iter();
        let receives = steps.any(|step| matches!(step.request.operation, Operation::Receive(_)));
        let pause = if receives { PAUSE } else { Duration::ZERO };
        Self {
            begins: Vec::new(),
            pause,
        }
    }

    /// Begins the next step. Returns a time after all events of the steps before, and before those of the next one.
    pub fn begin_step(&mut self) -> u64 {
        thread::sleep(self.pause);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_millis());
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.begins.push(now);
        thread::sleep(self.pause);
        now
    }

    /// The request with the times of the steps that it names, which must have begun.
    pub fn resolve(&self, request: &Request) -> Request {
        let mut request = request.clone();
        if let Operation::Receive(Receive { start, stop, .. }) = &mut request.operation {
            for moment in [start, stop].into_iter().flatten() {
                if let Moment::Step(number) = *moment {
                    *moment = Moment::At(self.begins[number - 1]);
                }
            }
        }
        request
    }
}
