//! How much memory a command takes: private memory, so that pages mapped by the engine, which are
//! a cache that the system may take back, do not count.
//!
//! The command runs in a process of its own: in the bench's process, what other rows have left
//! behind would count.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use espalier_terminal::{Failure, Result};

/// How often memory is looked at.
const INTERVAL: Duration = Duration::from_millis(2);

/// The peak of the private memory (`RssAnon`) of this program with other arguments, in bytes.
pub fn peak_of(arguments: &[&str]) -> Result<u64> {
    let program = std::env::current_exe()?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak = 0;
    let status = loop {
        peak = peak.max(private_bytes(child.id()));
        match child.try_wait()? {
            Some(status) => break status,
            None => thread::sleep(INTERVAL),
        }
    };
    if status.success() {
        return Ok(peak);
    }
    Err(Failure::data(format!(
        "espalier {} failed",
        arguments.join(" ")
    )))
}

/// Has the kernel forget the peak of this process's memory. Where it cannot, a peak is that of the
/// whole run.
pub fn reset_resident_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of this process's resident memory since it was forgotten, in bytes; 0 where the kernel
/// does not tell.
pub fn resident_peak() -> u64 {
    status_bytes(std::process::id(), "VmHWM:")
}

fn private_bytes(process: u32) -> u64 {
    status_bytes(process, "RssAnon:")
}

/// A line of `/proc/ID/status`; 0 where there is none.
fn status_bytes(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// By how many bytes the private memory of this process grows at most while something is done.
pub fn growth_during<T>(operation: impl FnOnce() -> T) -> (T, u64) {
    let process = std::process::id();
    let before = private_bytes(process);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while !is_done.load(Ordering::Relaxed) {
                peak = peak.max(private_bytes(process));
                thread::sleep(INTERVAL);
            }
            peak
        });
        let result = operation();
        is_done.store(true, Ordering::Relaxed);
        // Who only reads a file does not panic.
        let peak = watch.join().unwrap_or_default();
        let peak = peak.max(private_bytes(process));
        (result, peak.saturating_sub(before))
    })
}
