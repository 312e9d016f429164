//! A client and a server on one core: on another core, the measurement would be that of waking it up.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Pins the calling thread to its current core until this is dropped.
pub struct CorePin {
    set: CpuSet,
    before: CpuSet,
}

impl CorePin {
    /// Pins the thread.
    pub fn new() -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        set.set(sched_getcpu());
        sched_setaffinity(None, &set)?;
        Ok(Self { set, before })
    }

    /// Pins the thread that calls the result, and those that it starts, to the same core.
    pub fn joiner(&self) -> impl FnOnce() -> io::Result<()> + Send + 'static {
        let set = self.set;
        move || Ok(sched_setaffinity(None, &set)?)
    }
}

impl Drop for CorePin {
    fn drop(&mut self) {
        // Staying on one core is slower, not wrong.
        let _ = sched_setaffinity(None, &self.before);
    }
}
