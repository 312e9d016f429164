//! How much memory a piece of work takes: private memory, so that pages mapped by the engine,
//! which are a cache that the system may take back, do not count.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often memory is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// Watches this process's private memory (`RssAnon`) until it is asked for the peak.
pub struct PeakMemory {
    peak: Arc<AtomicU64>,
    is_done: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl PeakMemory {
    /// Starts watching.
    pub fn watch() -> Self {
        let peak = Arc::new(AtomicU64::new(0));
        let is_done = Arc::new(AtomicBool::new(false));
        let (thread_peak, thread_done) = (Arc::clone(&peak), Arc::clone(&is_done));
        let thread = thread::spawn(move || {
            while !thread_done.load(Ordering::Relaxed) {
                thread_peak.fetch_max(private_bytes(), Ordering::Relaxed);
                thread::sleep(INTERVAL);
            }
        });
        Self {
            peak,
            is_done,
            thread,
        }
    }

    /// The peak in bytes.
    pub fn finish(self) -> u64 {
        self.is_done.store(true, Ordering::Relaxed);
        let last = private_bytes();
        // The thread does nothing that can panic.
        let _ = self.thread.join();
        self.peak.load(Ordering::Relaxed).max(last)
    }
}

/// `RssAnon` of `/proc/self/status`; 0 where there is none.
fn private_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
