//! The memory that a command needs: its private memory. Pages mapped by the engine are not counted: they are a cache
//! that the system can reclaim.
//!
//! The command runs in a separate process: in the process of the bench, memory left over from other rows would count.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use espalier_terminal::{Failure, Result};

/// The interval between samples.
const INTERVAL: Duration = Duration::from_millis(2);

/// The peak of the private memory (`RssAnon`) of this program run with other arguments, in bytes.
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

/// Resets the kernel's peak of this process's memory. If that fails, later peaks are those of the whole run.
pub fn reset_resident_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak resident memory of this process since the last reset, in bytes; 0 if the kernel does not report it.
pub fn resident_peak() -> u64 {
    status_bytes(std::process::id(), "VmHWM:")
}

/// The private memory of this process, in bytes.
pub fn own_private_bytes() -> u64 {
    private_bytes(std::process::id())
}

/// The private memory of a process, in bytes.
pub fn private_bytes(process: u32) -> u64 {
    status_bytes(process, "RssAnon:")
}

/// The value of a line of `/proc/ID/status` in bytes; 0 if there is no such line.
fn status_bytes(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Runs an operation. Also returns the largest growth of this process's private memory meanwhile, in bytes.
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
        // The thread only reads a file, and does not panic.
        let peak = watch.join().unwrap_or_default();
        let peak = peak.max(private_bytes(process));
        (result, peak.saturating_sub(before))
    })
}
